import { describe, expect, it } from 'vitest';
import type { TransferProtocol } from '../../../../src/core/contract/transfer/connector-rules.js';
import { seededRandom } from '../../../../src/edge/platform/random.js';
import { type Candidate, PARTS } from '../../../../src/fleet/router/choice/candidates.js';
import { DEFAULT_COST_WEIGHTS } from '../../../../src/fleet/router/choice/cost.js';
import { type RoutedPrompt, WorkerSelector } from '../../../../src/fleet/router/choice/worker-selector.js';
import {
  choosePair,
  DEFAULT_PAIR_OPTIONS,
  type PairChoice,
  type PairOptions,
} from '../../../../src/fleet/router/pairs/choose-pair.js';
import { DecodeLinks } from '../../../../src/fleet/router/pairs/decode-links.js';
import type { Pairing, RouterMode } from '../../../../src/fleet/router/routing.js';
import { FilledIndex } from '../../../support/filled-index.js';
import { chainOf } from '../support/chained.js';
import { knownPairs, type PairSayings } from '../support/known-pairs.js';

const TOKENS_PER_BLOCK = 16;
const BLOCKS = 40;
const MIB = 1_048_576;

function part(target: string, protocol: TransferProtocol = 'nixl'): Candidate {
  const role = target.startsWith('p') ? PARTS.prefill : PARTS.decode;
  const whole = protocol === 'nixl' && role === PARTS.decode ? PARTS.whole : 0;
  return {
    ...aggregated(target),
    parts: role | whole,
    split: {
      protocol,
      bootstrapAddresses: new Map(protocol === 'bootstrap' ? [[0, `${target}:8998`]] : []),
      bytesPerToken: MIB / TOKENS_PER_BLOCK,
    },
  };
}

function aggregated(target: string): Candidate {
  return { target, workerId: target, instanceId: 'i-1', rank: 0, rankCount: 1, offer: 'full' };
}

interface Fleet {
  readonly selector: WorkerSelector;
  readonly index: FilledIndex;
  choose(more?: Partial<Asked>): PairChoice | undefined;
  /** In words: `p-1 → d-1`, or `d-1 (short)`. */
  chosen(more?: Partial<Asked>): string;
}

interface Asked {
  readonly prompt: RoutedPrompt | undefined;
  readonly tokenCount: number | undefined;
  readonly excluded: readonly string[];
  readonly pairing: Pairing;
  readonly fallbacks: number;
}

const BOTH: Pairing = { protocols: ['nixl', 'bootstrap'] };

function prompt(blocks = BLOCKS, first = 1): RoutedPrompt {
  const numbers = Array.from({ length: blocks }, (_, at) => first * 1_000 + at);
  return { sequenceHashes: chainOf(numbers), tokenCount: TOKENS_PER_BLOCK * blocks };
}

function fleet(
  candidates: readonly Candidate[],
  said: PairSayings | 'nothing' = {},
  options: Partial<PairOptions> = {},
  mode: RouterMode = 'kv',
): Fleet {
  const selector = new WorkerSelector(
    { mode, weights: DEFAULT_COST_WEIGHTS, temperature: 0 },
    { random: seededRandom(1) },
  );
  const index = new FilledIndex(TOKENS_PER_BLOCK);
  selector.begin(index, TOKENS_PER_BLOCK);
  selector.setCandidates(candidates);
  const links = new DecodeLinks();
  const targets = candidates.map(({ target }) => target);
  const pairs = said === 'nothing' ? undefined : knownPairs(targets, said);
  const choose: Fleet['choose'] = ({
    prompt: asked = prompt(),
    tokenCount,
    excluded = [],
    pairing = BOTH,
    fallbacks,
  } = {}) =>
    choosePair(
      { prompt: asked, tokenCount, excluded, about: { fallbacks }, pairing },
      { selector, pairs, links, options: { ...DEFAULT_PAIR_OPTIONS, ...options } },
    );
  const chosen: Fleet['chosen'] = (more) => {
    const choice = choose(more);
    if (choice === undefined) return 'nobody';
    const nameOf = ({ decided }: { decided: { candidate: Candidate } }): string => decided.candidate.target;
    return choice.type === 'pair'
      ? `${nameOf(choice.prefill)} → ${nameOf(choice.decode)}`
      : `${nameOf(choice.choice)} (${choice.unsplit})`;
  };
  return { selector, index, choose, chosen };
}

describe('the prefill worker', () => {
  it('is the one that holds most of the prompt', () => {
    const made = fleet(['p-1', 'p-2', 'd-1'].map((target) => part(target)));
    made.index.hold('p-2', 0, 'device', prompt().sequenceHashes.subarray(0, 8 * 10));
    expect(made.chosen()).toBe('p-2 → d-1');
  });

  it('is none that is excluded, nor one without a partner', () => {
    const made = fleet(
      ['p-1', 'p-2', 'p-3', 'd-1'].map((target) => part(target)),
      {
        mayUse: (prefill) => prefill === 'p-3',
      },
    );
    expect(made.chosen()).toBe('p-3 → d-1');
    expect(made.chosen({ excluded: ['p-3'] })).toBe('d-1 (no_pair)');
  });

  it('gives way to a worker that serves whole requests and holds more', () => {
    const made = fleet([part('p-1'), part('d-1'), aggregated('w-1')]);
    made.index.hold('w-1', 0, 'device', prompt().sequenceHashes.subarray(0, 8 * 10));
    expect(made.chosen()).toBe('w-1 (aggregated)');
  });

  it('leaves those that could stand in to whole requests where one computes all: no prefill worker', () => {
    const made = fleet([...['p-1', 'd-1', 'd-2', 'd-3'].map((target) => part(target)), aggregated('w-1')]);
    for (const target of ['w-1', 'd-2'])
      made.index.hold(target, 0, 'device', prompt().sequenceHashes.subarray(0, 8 * 10));
    expect(made.choose({ fallbacks: 2, excluded: ['d-1'] })).toMatchObject({
      unsplit: 'aggregated',
      choice: { decided: { candidate: { target: 'w-1' }, fallbacks: ['d-2', 'd-3'] } },
    });
  });
});

describe('the decode worker', () => {
  const two = ['p-1', 'd-far', 'd-near'].map((target) => part(target));

  it('is the nearer one of two that are equally busy', () => {
    const made = fleet(two, { classOf: (_, decode) => (decode === 'd-near' ? 'nvlink_fabric' : 'apart') });
    expect(made.chosen()).toBe('p-1 → d-near');
    const choice = made.choose();
    // 40 MiB, one for each block, at 0.01 ms.
    expect(choice).toMatchObject({ transferredTokens: 640, expectedTransferMs: expect.closeTo(0.4, 6) });
  });

  it('is by measured transfers before any class', () => {
    const made = fleet(two, {
      classOf: (_, decode) => (decode === 'd-near' ? 'nvlink_fabric' : 'apart'),
      millisecondsPerMebibyte: (_, decode) => (decode === 'd-near' ? 2 : 0.1),
    });
    expect(made.chosen()).toBe('p-1 → d-far');
  });

  it('is the one with less to do where transfers count for nothing', () => {
    const made = fleet(
      two,
      { classOf: (_, decode) => (decode === 'd-near' ? 'nvlink_fabric' : 'apart') },
      { transferWeight: 0 },
    );
    const busy = made.choose({ excluded: ['d-far'] });
    if (busy?.type !== 'pair') throw new Error('no pair');
    made.selector.count(busy.decode, prompt(), true);
    expect(made.chosen({ prompt: prompt(BLOCKS, 2) })).toBe('p-1 → d-far');
  });

  it('need not receive what it holds', () => {
    const made = fleet(two, {}, { minPrefillTokens: 0 });
    made.index.hold('d-far', 0, 'device', prompt().sequenceHashes.subarray(0, 8 * 30));
    expect(made.chosen()).toBe('p-1 → d-far');
    expect(made.choose()).toMatchObject({ transferredTokens: 160 });
  });

  it('is any of them before anything is known of pairs', () => {
    const choice = fleet(two, 'nothing').choose();
    // 40 MiB at 1 ms.
    expect(choice).toMatchObject({ type: 'pair', expectedTransferMs: 40 });
  });

  it('speaks as its prefill worker does', () => {
    const made = fleet([part('p-1', 'bootstrap'), part('d-1', 'nixl'), part('d-2', 'bootstrap')]);
    expect(made.chosen()).toBe('p-1 → d-2');
    expect(made.choose()).toMatchObject({ protocol: 'bootstrap', bootstrapAddress: 'p-1:8998' });
  });
});

describe('one worker computes all', () => {
  const pair = [part('p-1'), part('d-1')];

  it('of a short prompt, and of one that is cached there', () => {
    const made = fleet(pair);
    expect(made.chosen({ prompt: prompt(15) })).toBe('d-1 (short)');
    made.index.hold('d-1', 0, 'device', prompt().sequenceHashes.subarray(0, 8 * 30));
    expect(made.chosen()).toBe('d-1 (cached)');
  });

  it('of a request that cannot be split, or was split in vain', () => {
    const made = fleet(pair);
    expect(made.chosen({ pairing: { protocols: [] } })).toBe('d-1 (request)');
    expect(made.chosen({ pairing: { protocols: ['nixl'], isUnsplit: true } })).toBe('d-1 (fallback)');
    expect(made.chosen({ pairing: { protocols: ['bootstrap'] } })).toBe('d-1 (no_pair)');
  });

  it('only where it can: engines that meet refuse prompts of their own', () => {
    const made = fleet([part('p-1', 'bootstrap'), part('d-1', 'bootstrap')]);
    expect(made.chosen({ prompt: prompt(1) })).toBe('p-1 → d-1');
    expect(made.chosen({ pairing: { protocols: ['bootstrap'], isUnsplit: true } })).toBe('p-1 → d-1');
    expect(made.chosen({ pairing: { protocols: [] } })).toBe('nobody');
  });

  it('where nothing is known of a prompt, requests go to pairs', () => {
    const choice = fleet(pair).choose({ prompt: undefined as never, tokenCount: undefined });
    expect(choice).toBeDefined();
  });
});

it.each<RouterMode>(['round-robin', 'random', 'least-loaded'])('pairs are chosen with %s, too', (mode) => {
  const made = fleet(
    ['p-1', 'p-2', 'd-1', 'd-2'].map((target) => part(target)),
    {},
    {},
    mode,
  );
  expect(made.chosen()).toMatch(/^p-[12] → d-[12]$/);
});
