import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { followUpsOf, holdConversations, type Turn } from '../../../src/tools/demo/conversations.js';
import { SimulatedEngine } from '../../../src/tools/demo/engines/simulated-engine.js';
import { simulatedVllm } from '../../../src/tools/demo/engines/simulated-vllm.js';
import { OpenThings } from '../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

async function engineWith(totalBlocks: number): Promise<SimulatedEngine> {
  const setup = { model: 'tiny', tokensPerBlock: 32, totalBlocks };
  const engine = new SimulatedEngine({ surface: simulatedVllm, setup }, { clock: systemClock });
  open.add(() => engine.close());
  await engine.open();
  engine.start();
  return engine;
}

async function talk(
  { url }: SimulatedEngine,
  people: readonly string[],
  signal = new AbortController().signal,
): Promise<{ readonly turns: readonly Turn[]; readonly shown: readonly Turn[] }> {
  const shown: Turn[] = [];
  const onTurn = (turn: Turn): void => void shown.push(turn);
  const conversations = { url, model: 'tiny', people };
  return { turns: await holdConversations(conversations, { clock: systemClock, signal, onTurn }), shown };
}

describe('conversations', () => {
  it('go on where they were: with one engine all but the last block and what is new is cached', async () => {
    const { turns, shown } = await talk(await engineWith(1_000), ['Ann', 'Ben', 'Cleo']);
    expect(shown).toEqual(turns);
    const names = turns.map(({ person, number }) => `${person} ${number}`).sort();
    expect(names).toEqual(
      ['Ann', 'Ben', 'Cleo'].flatMap((person) => [1, 2, 3].map((number) => `${person} ${number}`)),
    );
    for (const { number, answer } of turns) {
      const before = [0, 320, 352][number - 1];
      expect([number, answer.cachedTokens]).toEqual([number, before]);
    }
    expect(followUpsOf(turns).cachedShare).toBeGreaterThan(0.8);
  });

  it('find nothing of each other, and nothing where the cache is too small for them', async () => {
    const small = await engineWith(4);
    expect(followUpsOf((await talk(small, ['Ann', 'Ben', 'Cleo'])).turns).cachedShare).toBeLessThan(0.5);
    const engine = await engineWith(1_000);
    await talk(engine, ['Ann', 'Ben', 'Cleo']);
    const { turns } = await talk(engine, ['Dora', 'Emil', 'Fay']);
    expect(turns.filter(({ number }) => number === 1).map(({ answer }) => answer.cachedTokens)).toEqual([
      0, 0, 0,
    ]);
  });

  it('end when they are to end', async () => {
    const signal = AbortSignal.abort(new Error('asked to end'));
    await expect(talk(await engineWith(4), ['Ann', 'Ben', 'Cleo'], signal)).rejects.toThrow('asked to end');
  });
});

describe('the follow-ups', () => {
  const turn = (number: number, promptTokens: number, cachedTokens: number, firstTokenMs: number): Turn => ({
    person: 'Ann',
    number,
    answer: { text: '', worker: 'worker-a', promptTokens, cachedTokens, firstTokenMs },
  });

  it('are all turns but the first, and one that was held up does not count for the others', () => {
    const turns = [turn(1, 100, 0, 9_000), turn(2, 100, 80, 20), turn(3, 200, 40, 30), turn(4, 100, 80, 900)];
    expect(followUpsOf(turns)).toEqual({ cachedShare: 0.5, computedTokens: 200 / 3, firstTokenMs: 30 });
  });
});
