import { describe, expect, it } from 'vitest';
import { viewFleet } from '../../../src/core/agreement/view/snapshot.js';
import { buildCatalogue, type Catalogue, type GivenUrls } from '../../../src/fleet/catalogue/catalogue.js';
import { conflictLogger } from '../../../src/frontend/gateway/conflict-log.js';
import { Models } from '../../../src/frontend/gateway/models.js';
import { type ReportSketch, TestFleet } from '../../support/fleet.js';
import { RecordingLogger } from '../../support/recording-logger.js';

const NO_URLS: GivenUrls = new Map();

/** What is served by a fleet whose workers report like this, after the time in which it settles. */
function catalogueOf(reports: Readonly<Record<string, ReportSketch>>, given = NO_URLS): Catalogue {
  const fleet = new TestFleet({ isStaticDiscovery: true });
  fleet.list(...Object.keys(reports));
  for (const [target, sketch] of Object.entries(reports)) fleet.report(target, sketch);
  return buildCatalogue(viewFleet(fleet.state, fleet.nowMs), given);
}

describe('the catalogue', () => {
  it('is empty, with the reasons, before any worker serves', () => {
    const { models, groups, reasons } = catalogueOf({});
    expect({ models, groups }).toEqual({ models: [], groups: [] });
    expect(reasons.map(({ code }) => code)).toEqual(['no_workers']);
  });

  it('names the workers of a group with what the agreement says of it', () => {
    const { groups } = catalogueOf({
      '10.0.0.1:50061': { serving: { httpUrls: ['http://127.0.0.1:8000'], tokenizerFingerprint: 'f' } },
    });
    expect(groups).toEqual([
      {
        group: 'tiny',
        isReady: true,
        reasons: [],
        epoch: 1,
        tokensPerBlock: 32,
        workers: [
          {
            target: '10.0.0.1:50061',
            workerId: '10.0.0.1:50061',
            instanceId: '10.0.0.1:50061-1',
            baseUrl: 'http://10.0.0.1:8000',
            isOffered: true,
            tokenizerFingerprint: 'f',
          },
        ],
      },
    ]);
  });

  it('says of a group whose gate is shut that it is not ready, and why', () => {
    const { groups } = catalogueOf({ a: { size: 32 }, b: { size: 16 } });
    expect(groups[0]).toMatchObject({ isReady: false, tokensPerBlock: undefined });
    expect(groups[0]?.reasons).not.toEqual([]);
    expect(groups[0]?.workers.map(({ isOffered }) => isOffered)).toEqual([false, false]);
  });

  it('lists every name of every group once, by name', () => {
    const { models } = catalogueOf({
      a: { model: 'tiny', serving: { servedNames: ['tiny', 'alias'], loraAdapters: ['french'] } },
      b: { model: 'tiny', serving: { servedNames: ['tiny', 'alias'], loraAdapters: ['french', 'dutch'] } },
      c: { model: 'other' },
    });
    expect(models).toEqual([
      { name: 'alias', group: 'tiny', loraName: '' },
      // Only one of its workers has it.
      { name: 'dutch', group: 'tiny', loraName: 'dutch', servedBy: ['b'] },
      { name: 'french', group: 'tiny', loraName: 'french' },
      { name: 'other', group: 'other', loraName: '' },
      { name: 'tiny', group: 'tiny', loraName: '' },
    ]);
  });

  it.each([
    ['an adapter', { servedNames: ['tiny'], loraAdapters: ['other'] }, undefined],
    ['an adapter of the name of an alias', { servedNames: ['tiny'], loraAdapters: ['alias'] }, 'alias'],
  ])(
    'gives a name to the group that has it by right, not to one that serves it as %s',
    (_, serving, alias) => {
      const { models } = catalogueOf({
        a: { model: 'tiny', serving },
        b: { model: 'other', serving: { servedNames: ['other', 'alias'] } },
      });
      expect(models).toContainEqual({ name: alias ?? 'other', group: 'other', loraName: '' });
    },
  );
});

describe('a name that two groups claim', () => {
  const claimed = (aliases: number, owners: number): Catalogue => {
    const reports: Record<string, ReportSketch> = {};
    for (let i = 0; i < aliases; i += 1)
      reports[`a${i}`] = { model: 'tiny', serving: { servedNames: ['tiny', 'chat'] } };
    for (let i = 0; i < owners; i += 1) reports[`b${i}`] = { model: 'chat' };
    return catalogueOf(reports);
  };
  const ownerOf = ({ models }: Catalogue): string | undefined =>
    models.find(({ name }) => name === 'chat')?.group;

  it('as an alias and as a model is a conflict, and goes to nobody while as many serve it here as there', () => {
    const catalogue = claimed(1, 1);
    expect(ownerOf(catalogue)).toBeUndefined();
    expect(catalogue.conflicts?.map(({ text }) => text)).toEqual([
      'The model name "chat" is served by several models: "chat" (1 of 2 workers), "tiny" (1 of 2 workers); no request for it is routed. Give each model names of its own (--served-model-name).',
    ]);
    expect(() => new Models(catalogue).find('chat')).toThrow(/no request for it is routed/);
    expect(new Models(catalogue).find('tiny').model.group).toBe('tiny');
  });

  it('is still that of a model whose workers have all left, for its grace', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a');
    fleet.report('b', { model: 'chat' });
    fleet.list('a');
    expect(ownerOf(buildCatalogue(fleet.view(), NO_URLS))).toBe('chat');
  });

  it('cannot be taken from its workers by a single one, in either direction, and is still reported', () => {
    expect(ownerOf(claimed(3, 1))).toBe('tiny');
    expect(ownerOf(claimed(1, 3))).toBe('chat');
    expect(claimed(1, 3).conflicts).toHaveLength(1);
    expect(claimed(0, 1).conflicts).toBeUndefined();
  });

  it('is logged once, and once more when it comes back', () => {
    const logger = new RecordingLogger();
    const log = conflictLogger(logger);
    for (const each of [claimed(1, 1), claimed(1, 1), claimed(0, 1), claimed(1, 1)]) log(each);
    expect(logger.lines.map(({ level, fields }) => [level, fields['code']])).toEqual([
      ['error', 'model_name_conflict'],
      ['error', 'model_name_conflict'],
    ]);
  });
});

describe('the address of a worker', () => {
  const baseUrlOf = (httpUrls: readonly string[], given = NO_URLS): string | undefined =>
    catalogueOf({ 'gpu:50061': { serving: { httpUrls } } }, given).groups[0]?.workers[0]?.baseUrl;

  it('is what the operator gave, else the first one that can be reached from here', () => {
    expect(baseUrlOf(['http://a:1'], new Map([['gpu:50061', 'http://lb:80']]))).toBe('http://lb:80');
    expect(baseUrlOf(['http://a:1/', 'http://b:1'])).toBe('http://a:1');
    expect(baseUrlOf(['no url', 'http://b:1'])).toBe('http://b:1');
  });

  it('is none where none is known', () => {
    expect(baseUrlOf([])).toBeUndefined();
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a');
    expect(() => buildCatalogue(viewFleet(fleet.state, 0), NO_URLS)).not.toThrow();
  });
});
