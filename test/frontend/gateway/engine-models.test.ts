import { describe, expect, it } from 'vitest';
import type { CatalogueGroup } from '../../../src/fleet/catalogue/catalogue.js';
import { EngineModels } from '../../../src/frontend/gateway/engine-models.js';
import { FakeClock } from '../../support/fake-clock.js';
import { makeGroup } from './gateway-harness.js';

const workerOf = (target: string) => ({
  target,
  workerId: target,
  instanceId: `${target}-1`,
  baseUrl: `http://${target}:8000`,
  isOffered: true,
  tokenizerFingerprint: undefined,
});

class Bench {
  readonly clock = new FakeClock();
  readonly asked: string[] = [];
  readonly lists = new Map<string, unknown>();
  groups: readonly CatalogueGroup[] = [makeGroup('tiny', { workers: ['a', 'b', 'c'].map(workerOf) })];
  readonly models = new EngineModels(
    async ({ target }) => {
      this.asked.push(target);
      const list = this.lists.get(target);
      if (list === undefined) return undefined;
      const body = Buffer.from(typeof list === 'string' ? list : JSON.stringify(list));
      return { status: 200, body };
    },
    { clock: this.clock },
  );

  async find(name: string): Promise<unknown> {
    const found = this.models.findAdapter(name, () => this.groups);
    await this.clock.advanceMs(500);
    return found;
  }
}

const LIST = {
  data: [
    { id: 'tiny', parent: null },
    { id: 'new-lora', parent: 'tiny', root: '/l' },
  ],
};

describe('an adapter that is in no report', () => {
  it('is found at the workers that list it', async () => {
    const bench = new Bench();
    bench.lists.set('b', LIST).set('c', LIST).set('a', { data: 'none' });
    expect(await bench.find('new-lora')).toEqual({ group: 'tiny', targets: ['b', 'c'] });
    expect(await bench.find('tiny')).toBeUndefined();
  });

  it('costs the workers two lists a second at most, however many ask for whatever', async () => {
    const bench = new Bench();
    const asking = Array.from({ length: 100 }, (_, n) =>
      bench.models.findAdapter(`n-${n}`, () => bench.groups),
    );
    await bench.clock.advanceMs(0);
    expect(bench.asked).toHaveLength(3);
    const more = Array.from({ length: 100 }, (_, n) =>
      bench.models.findAdapter(`m-${n}`, () => bench.groups),
    );
    await bench.clock.advanceMs(499);
    expect(bench.asked).toHaveLength(3);
    await bench.clock.advanceMs(1);
    expect(await Promise.all([...asking, ...more])).toEqual(Array(200).fill(undefined));
    expect(bench.asked).toHaveLength(6);
  });

  it('is nobody’s where workers of several models list it', async () => {
    const bench = new Bench();
    bench.groups = [
      makeGroup('x', { workers: [workerOf('a')] }),
      makeGroup('y', { workers: [workerOf('b')] }),
    ];
    bench.lists.set('a', LIST).set('b', LIST);
    expect(await bench.find('new-lora')).toBeUndefined();
  });
});

describe("the fields of an engine's cards", () => {
  it('are asked of one worker, and again after some seconds', async () => {
    const bench = new Bench();
    for (const target of ['a', 'b', 'c'])
      bench.lists.set(target, { data: [{ id: 'tiny', max_model_len: 2_048 }, { id: 7 }, null] });
    const group = bench.groups[0] as CatalogueGroup;
    expect((await bench.models.cardsOf(group)).get('tiny')).toMatchObject({ max_model_len: 2_048 });
    await bench.models.cardsOf(group);
    expect(bench.asked).toHaveLength(1);
    await bench.clock.advanceMs(5_001);
    await bench.models.cardsOf(group);
    expect(bench.asked).toHaveLength(2);
  });

  it.each([
    ['does not answer', undefined],
    ['answers with null', null],
    ['answers with another list', [{ id: 'tiny' }]],
    ['answers with no JSON', '<html>'],
    [
      'nests its cards deeper than the stack allows',
      `{"data":[{"id":"tiny","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}]}`,
    ],
  ])('are none where the engine %s', async (_, list) => {
    const bench = new Bench();
    for (const target of ['a', 'b', 'c']) bench.lists.set(target, list);
    expect((await bench.models.cardsOf(bench.groups[0] as CatalogueGroup)).size).toBe(0);
  });
});
