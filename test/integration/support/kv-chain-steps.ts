import fc from 'fast-check';
import { TIERS } from '../../../src/core/blocks/tier.js';
import type { ChainBlocks } from './kv-chain-blocks.js';
import { type CacheStep, type EngineStyle, NOISE } from './kv-chain-engine.js';
import { FATES, type Fate, REPLAY_MODES, type ReplayMode } from './kv-chain-ports.js';
import { ChainWorld, type WorkerSketch } from './kv-chain-world.js';

/** Something that happens somewhere between the engines' caches and the index. */
type ChainStep = { readonly worker: number } & (
  | {
      readonly do: 'publish';
      readonly rank: number;
      readonly cache: readonly CacheStep[];
      readonly fate: Fate;
    }
  | { readonly do: 'send_again'; readonly rank: number; readonly pick: number }
  | { readonly do: 'release' | 'unlink' | 'link'; readonly rank: number }
  | { readonly do: 'restart_engine'; readonly isBackSoon: boolean }
  | { readonly do: 'set_replay'; readonly mode: ReplayMode }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'pump' | 'flow'; readonly count: number }
  | {
      readonly do:
        | 'settle'
        | 'take_turns'
        | 'restart_sidecar'
        | 'probe'
        | 'report'
        | 'break_stream'
        | 'disconnect'
        | 'connect'
        | 'leave'
        | 'return'
        | 'renew_index';
    }
);

/** One life of a fleet. */
export interface ChainStory {
  readonly workers: readonly WorkerSketch[];
  readonly steps: readonly ChainStep[];
  readonly prompts: readonly { readonly namespace: number; readonly path: readonly number[] }[];
  /** How replays are answered when everything else is well again. */
  readonly lastReplay: ReplayMode;
}

const MAX_WORKERS = 2;
const MAX_RANKS = 2;

const namespace = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 }));
const path: fc.Arbitrary<number[]> = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 5 });
const usedTier = fc.constantFrom('device' as const, 'device' as const, 'host' as const, 'disk' as const);
const pick = fc.nat(15);
const count = fc.integer({ min: 1, max: 4 });

/** Anything that an engine may do with its cache. */
export const cacheStep: fc.Arbitrary<CacheStep> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('prompt' as const), namespace, path }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('evict' as const), tier: usedTier, pick, count }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('evict_tail' as const), tier: usedTier, pick, count }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('offload' as const),
      tier: fc.constantFrom(...TIERS.slice(1)),
      pick,
      count,
      isTold: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('repeat' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('clear' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('noise' as const), which: fc.constantFrom(...NOISE), pick }),
  },
);

const worker = fc.nat(MAX_WORKERS - 1);
const rank = fc.nat(MAX_RANKS - 1);

function plain<Do extends string>(...names: readonly Do[]): fc.Arbitrary<{ worker: number; do: Do }> {
  return fc.record({ worker, do: fc.constantFrom(...names) });
}

const publish = (fate: fc.Arbitrary<Fate>): fc.Arbitrary<ChainStep> =>
  fc.record({
    worker,
    do: fc.constant('publish' as const),
    rank,
    cache: fc.array(cacheStep, { minLength: 1, maxLength: 3 }),
    fate,
  });

const chainStep: fc.Arbitrary<ChainStep> = fc.oneof(
  { weight: 14, arbitrary: publish(fc.constant('arrives')) },
  { weight: 6, arbitrary: publish(fc.constantFrom(...FATES)) },
  {
    weight: 14,
    arbitrary: fc.record({
      worker,
      do: fc.constantFrom('flow' as const, 'flow' as const, 'pump' as const),
      count: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(30)),
    }),
  },
  { weight: 8, arbitrary: plain('take_turns', 'settle') },
  { weight: 1, arbitrary: fc.record({ worker, do: fc.constant('send_again' as const), rank, pick }) },
  {
    weight: 3,
    arbitrary: fc.record({ worker, do: fc.constantFrom('release', 'unlink', 'link', 'link'), rank }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      worker,
      do: fc.constant('set_replay' as const),
      mode: fc.oneof(fc.constant('answers' as const), fc.constantFrom(...REPLAY_MODES)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      worker,
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1, 1_100, 4_000, 16_000, 40_000),
    }),
  },
  { weight: 3, arbitrary: plain('break_stream', 'disconnect', 'connect', 'connect') },
  { weight: 2, arbitrary: plain('restart_sidecar', 'probe', 'report') },
  {
    weight: 2,
    arbitrary: fc.record({
      worker,
      do: fc.constant('restart_engine' as const),
      isBackSoon: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: plain('leave', 'return', 'return', 'renew_index') },
);

/** Any of the ways in which engines write. */
export const engineStyle: fc.Arbitrary<EngineStyle> = fc.record({
  events: fc.constantFrom('map' as const, 'array' as const),
  batch: fc.constantFrom('map' as const, 'array' as const),
  hashes: fc.constantFrom('unsigned' as const, 'signed' as const, 'bytes' as const),
  salt: fc.constantFrom('field' as const, 'extra_keys' as const),
});

const rankSketch = fc.record({
  style: engineStyle,
  hasReplay: fc.oneof(fc.constant(true), fc.boolean()),
  keptBatches: fc.constantFrom(10_000, 10_000, 10_000, 5, 2),
  hasTopicFrame: fc.boolean(),
  binds: fc.oneof(fc.constant(false), fc.boolean()),
});

/** What requests may ask for. */
export const somePrompts: fc.Arbitrary<{ namespace: number; path: number[] }[]> = fc.array(
  fc.record({ namespace, path }),
  { minLength: 3, maxLength: 3 },
);

/** Random lives of random fleets. */
export const chainStory: fc.Arbitrary<ChainStory> = fc.record({
  workers: fc.array(
    fc.record({
      ranks: fc.array(rankSketch, { minLength: 1, maxLength: MAX_RANKS }),
      eventReader: fc.record({
        maxHistoryMessages: fc.constantFrom(65_536, 10, 2),
        maxNamespaces: fc.constantFrom(65_536, 65_536, 3, 1),
      }),
    }),
    { minLength: 1, maxLength: MAX_WORKERS },
  ),
  steps: fc.array(chainStep, { maxLength: 70, size: 'max' }),
  prompts: somePrompts,
  lastReplay: fc.constantFrom('answers', 'answers', 'answers', 'hangs', 'stops_halfway', 'talks_nonsense'),
});

/** Lives a story; what was wrong at the first moment at which something was, if ever. */
export async function live(story: ChainStory, blocks: ChainBlocks): Promise<string[]> {
  const world = await ChainWorld.start(story.workers, blocks);
  let problems: string[];
  try {
    problems = await problemsIn(world, story, blocks);
  } finally {
    await world.close();
  }
  const timers = world.clock.pendingTimers;
  return timers === 0 ? problems : [...problems, `${timers} timers are left`];
}

async function problemsIn(world: ChainWorld, story: ChainStory, blocks: ChainBlocks): Promise<string[]> {
  const prompts = story.prompts.map((prompt) => blocks.along(prompt.namespace, prompt.path));
  for (const [at, step] of story.steps.entries()) {
    await take(world, step);
    const problems = world.problems(prompts);
    if (problems.length > 0) return problems.map((problem) => `after step ${at} (${step.do}): ${problem}`);
  }
  await quiesce(world, story.lastReplay);
  return world.finalProblems(prompts).map((problem) => `in the end: ${problem}`);
}

async function take(world: ChainWorld, step: ChainStep): Promise<void> {
  const of = world.workers[step.worker % world.workers.length] as ChainWorld['workers'][number];
  const at = 'rank' in step ? step.rank % of.engines.length : 0;
  switch (step.do) {
    case 'publish':
      return world.publish(of, at, step.cache, step.fate);
    case 'send_again':
      return of.ports[at]?.send((of.engines[at]?.payloads.length ?? 0) - 1 - step.pick, 'arrives');
    case 'release':
      return of.ports[at]?.release();
    case 'unlink':
      return of.ports[at]?.unlink();
    case 'link':
      return of.ports[at]?.link();
    case 'set_replay':
      return world.setReplay(of, step.mode);
    case 'wait':
      return world.advance(step.ms);
    case 'pump':
      return of.stream.pump(step.count);
    case 'flow':
      await world.settle();
      for (const { stream } of world.workers) stream.pump(step.count);
      return world.takeTurns();
    case 'settle':
      return world.settle();
    case 'take_turns':
      return world.takeTurns();
    case 'restart_engine':
      await world.restartEngine(of);
      if (step.isBackSoon) for (const port of of.ports) port.link();
      return;
    case 'restart_sidecar':
      return world.restartSidecar(of);
    case 'probe':
      return world.probe(of);
    case 'report':
      return world.report();
    case 'break_stream':
      return of.stream.breakOff();
    case 'disconnect':
      return world.disconnect(of);
    case 'connect':
      return world.connect(of);
    case 'leave':
      return world.setListed(of, false);
    case 'return':
      return world.setListed(of, true);
    case 'renew_index':
      return world.renewIndex();
  }
}

/** Time for every look, replay and attempt to heal: the intervals of the attempts double. */
const QUIET_MS = 180_000;

async function quiesce(world: ChainWorld, lastReplay: ReplayMode): Promise<void> {
  for (const worker of world.workers) {
    world.setReplay(worker, lastReplay);
    for (const port of worker.ports) port.link();
    world.probe(worker);
    world.connect(worker);
    world.setListed(worker, true);
  }
  world.report();
  await world.settle();
  // Where nobody replays only the next batch says that one was missed.
  for (const worker of world.workers) {
    for (const [rank, port] of worker.ports.entries()) {
      port.release();
      world.publish(worker, rank, [{ do: 'prompt', namespace: 0, path: [rank] }], 'arrives');
    }
  }
  for (let pastMs = 0; pastMs < QUIET_MS; pastMs += 10_000) {
    await world.advance(10_000);
    for (const worker of world.workers) worker.stream.pump(Number.POSITIVE_INFINITY);
    world.takeTurns();
  }
}
