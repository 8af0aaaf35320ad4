import { describe, expect, it } from 'vitest';
import type { Catalogue } from '../../../src/fleet/catalogue/catalogue.js';
import { Models } from '../../../src/frontend/gateway/models.js';
import { makeGroup } from './gateway-harness.js';

const worker = (target: string): Catalogue['groups'][number]['workers'][number] => ({
  target,
  workerId: target,
  instanceId: `${target}-1`,
  baseUrl: `http://${target}`,
  isOffered: true,
  tokenizerFingerprint: undefined,
});

const catalogue: Catalogue = {
  models: [
    { name: 'alias', group: 'tiny', loraName: '', servedBy: ['a', 'c'] },
    { name: 'french', group: 'tiny', loraName: 'french', servedBy: ['b'] },
    { name: 'tiny', group: 'tiny', loraName: '' },
  ],
  groups: [makeGroup('tiny', { workers: ['a', 'b', 'c'].map(worker) })],
  reasons: [],
};

describe('a name', () => {
  const models = new Models(catalogue);
  const found = (name: string): readonly [string[], readonly string[]] => {
    const { group, excluded } = models.find(name);
    return [group.workers.map(({ target }) => target), excluded];
  };

  it('that all of its group have leaves nobody out', () => {
    expect(found('tiny')).toEqual([['a', 'b', 'c'], []]);
  });

  it('that some have is asked of those alone', () => {
    expect(found('alias')).toEqual([['a', 'c'], ['b']]);
    expect(models.find('alias')).toBe(models.find('alias'));
  });

  it('of an adapter leaves it to the router whom it excludes', () => {
    expect(found('french')).toEqual([['b'], []]);
  });

  it('leads to the address of every worker of its group all the same', () => {
    expect(['a', 'b', 'x'].map((target) => models.baseUrlOf('tiny', target))).toEqual([
      'http://a',
      'http://b',
      undefined,
    ]);
  });
});
