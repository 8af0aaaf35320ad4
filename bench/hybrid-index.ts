/**
 * What look-ups cost in an index of hybrid models: full attention with a
 * sliding window, with a state, and a window alone, beside full attention by
 * itself, which is the floor.
 */
import type { CacheGroup } from '../src/core/contract/evidence/cache-groups.js';
import { FleetIndex } from '../src/fleet/indexer/index/fleet-index.js';
import { IndexTally } from '../src/fleet/indexer/index/index-tally.js';
import { PromptHashes } from '../src/fleet/indexer/prompt-hashes.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';

const RANKS = 1_000;
const PROMPT_TOKENS = 10_000;
const WIDTH = 32;
const ROUNDS = IS_QUICK ? 3 : 15;
const LOOKUPS = IS_QUICK ? 20 : 100;
const full: CacheGroup = { index: 0, kind: 'full_attention', tokensPerBlock: WIDTH, engineKind: '' };
const sliding: CacheGroup = {
  index: 1,
  kind: 'sliding_window',
  tokensPerBlock: WIDTH,
  windowTokens: 128,
  engineKind: '',
};
const state: CacheGroup = { index: 1, kind: 'state', tokensPerBlock: 1_056, engineKind: '' };

/** A kind of model, and which blocks of the prompt its other group holds. */
interface Kind {
  readonly name: string;
  readonly groups: readonly CacheGroup[];
  readonly other: (blocks: number) => number[];
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);

const KINDS: readonly Kind[] = [
  { name: 'full attention alone', groups: [], other: () => [] },
  {
    name: 'full and sliding window, held',
    groups: [full, sliding],
    other: (blocks) => range(blocks - 4, blocks),
  },
  { name: 'full and sliding window, window gone', groups: [full, sliding], other: () => [0] },
  { name: 'full and state of 1,056 tokens', groups: [full, state], other: (blocks) => [blocks - 1] },
  { name: 'sliding window alone', groups: [{ ...sliding, index: 0 }], other: () => [] },
];

const prompt = { tokens: range(0, PROMPT_TOKENS), loraName: '', cacheSalt: '' };
const hashes = new PromptHashes();

function hashesOf(tokensPerBlock: number): Uint8Array {
  return hashes.hash(prompt, { tokensPerBlock, hashUnit: 'token' }).sequenceHashes.slice();
}

/** An index of which all ranks hold the prompt. */
function indexOf({ groups, other }: Kind): FleetIndex {
  const index = new FleetIndex(
    { tokensPerBlock: WIDTH },
    {
      tally: new IndexTally(),
      onOtherWidth: () => undefined,
      onRefused: () => undefined,
      onSweepDue: () => undefined,
    },
  );
  const status = { rank: 0, picture: 'exact', reason: '', blockCount: 0, cacheGroups: groups } as const;
  const start = { type: 'start', instanceId: 'i', streamId: 's', resumed: false, reason: '' } as const;
  const part = { type: 'snapshot_part', rank: 0, tier: 'device' } as const;
  const main = hashesOf(WIDTH);
  for (let worker = 0; worker < RANKS; worker += 1) {
    const target = `w-${worker}`;
    index.apply(target, { ...start, ranks: [status] });
    index.apply(target, { ...part, tokensPerBlock: WIDTH, sequenceHashes: main });
    const [, group] = groups;
    if (group !== undefined) {
      const all = hashesOf(group.tokensPerBlock);
      const blocks = other(all.length / 8);
      const sequenceHashes = Buffer.concat(blocks.map((block) => all.subarray(8 * block, 8 * block + 8)));
      index.apply(target, {
        ...part,
        tokensPerBlock: group.tokensPerBlock,
        sequenceHashes,
        group: group.index,
      });
    }
    index.apply(target, { type: 'snapshot_end', sequence: 0 });
  }
  return index;
}

/** Microseconds of a look-up, and of hashing for it. */
function measure(index: FleetIndex): { lookUpUs: number; hashUs: number } {
  const contract = { tokensPerBlock: WIDTH, hashUnit: 'token', otherWidths: index.otherWidths } as const;
  const lookUps: number[] = [];
  const hashings: number[] = [];
  const asked = hashes.hash(prompt, contract);
  for (let round = 0; round < ROUNDS; round += 1) {
    lookUps.push(each(() => index.match(asked, 'device')));
    hashings.push(each(() => hashes.hash(prompt, contract)));
  }
  return { lookUpUs: median(lookUps), hashUs: median(hashings) };
}

function each(act: () => unknown): number {
  const startMs = performance.now();
  for (let count = 0; count < LOOKUPS; count += 1) act();
  return (1_000 * (performance.now() - startMs)) / LOOKUPS;
}

title(
  `hybrid index: ${RANKS} ranks that all hold a prompt of ${PROMPT_TOKENS} tokens, ${Math.floor(PROMPT_TOKENS / WIDTH)} blocks of ${WIDTH}, ${ROUNDS} rounds of ${LOOKUPS} look-ups`,
);
const built = KINDS.map((kind) => ({ kind, index: indexOf(kind) }));
// Until the compilers are done with what is measured.
for (const { index } of built) measure(index);
const all = built.map(({ kind, index }) => ({ kind, ...measure(index) }));
const [floor] = all;
for (const { kind, lookUpUs, hashUs } of all) {
  figure(`${kind.name}: look-up`, lookUpUs, 'us');
  if (kind.groups.length > 0) figure('… for each rank that holds it', (1_000 * lookUpUs) / RANKS, 'ns');
  if (kind.groups.length > 0) ratio('… hashing the prompt', hashUs, floor?.hashUs ?? Number.NaN, 'us', 2);
}
