import fc from 'fast-check';
import { describe, it } from 'vitest';
import { ChainBlocks } from './support/kv-chain-blocks.js';
import { SocketWorld } from './support/kv-chain-socket-world.js';
import { cacheStep, engineStyle, somePrompts } from './support/kv-chain-steps.js';

/** A handful of lives; those in memory are many, and shrink. */
const LIVES = 4;

const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      rank: fc.nat(1),
      cache: fc.array(cacheStep, { minLength: 1, maxLength: 3 }),
      isLost: fc.oneof(fc.constant(false), fc.boolean()),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'restart_engine' as const,
        'restart_sidecar' as const,
        'reconnect' as const,
        'renew_index' as const,
        'become_exact' as const,
      ),
    }),
  },
);

const lives = fc.sample(
  fc.record({
    styles: fc.tuple(engineStyle, engineStyle),
    steps: fc.array(step, { minLength: 30, maxLength: 40 }),
    prompts: somePrompts,
  }),
  { numRuns: LIVES, seed: 20_261_121 },
);

describe('from an engine on ZeroMQ over a sidecar on gRPC to the index', () => {
  it.each(lives.map((life, at) => ({ ...life, at })))(
    'credits what was held, and reaches the truth, in life $at',
    { timeout: 90_000 },
    async ({ styles, steps, prompts }) => {
      const blocks = await ChainBlocks.create();
      const world = await SocketWorld.start(styles, blocks);
      const asked = prompts.map(({ namespace, path }) => blocks.along(namespace, path));
      for (const one of steps) {
        if (one.do === 'publish') await world.publish(one.rank, one.cache, one.isLost);
        else if (one.do === 'restart_engine') await world.restartEngine();
        else if (one.do === 'restart_sidecar') await world.restartSidecar();
        else if (one.do === 'reconnect') world.reconnect();
        else if (one.do === 'renew_index') world.renewIndex();
        else await world.becomesExact(asked);
        world.checkNow();
      }
      await world.becomesExact(asked);
    },
  );
});
