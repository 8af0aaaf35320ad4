import OpenAI from 'openai';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { planWorker, running } from '../../../src/tools/demo/scenes/fleet.js';
import { Stage } from '../../../src/tools/demo/stage.js';
import { OpenThings } from '../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

async function openStage(): Promise<Stage> {
  const stage = new Stage(
    { version: '0.0.0', probeIntervalMs: 50, settleMs: 100 },
    { clock: systemClock, random: systemRandom, onLine: () => {}, onView: () => {} },
  );
  open.add(() => stage.close());
  await stage.open();
  return stage;
}

/** Answers, once the gate is open. */
function complete(url: string): Promise<OpenAI.Completion> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
  return client.completions.create({ model: 'demo-model', prompt: 'Hello' });
}

describe("a frontend of the demo's fleet", () => {
  it('says why not while the gate is shut, and passes answers on once it is open', async () => {
    const stage = await openStage();
    const { url } = await stage.addFrontend();
    await expect(complete(url)).rejects.toMatchObject({ status: 503 });
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    await stage.addWorkers([running(planWorker('worker-a', 16))]);
    await vi.waitFor(async () => expect((await complete(url)).usage?.prompt_tokens).toBe(1), 10_000);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect(stage.frontends.map((frontend) => frontend.url)).toEqual([url]);
  });

  it('stands over an aggregator of its own with other settings, and goes with the stage', async () => {
    const stage = await openStage();
    await stage.addWorkers([planWorker('worker-a', 16), planWorker('worker-b', 16)].map(running));
    const aggregator = await stage.addAggregator('frontend-2', { routerMode: 'round-robin', settleMs: 0 });
    const { url } = await stage.addFrontend(aggregator);
    await vi.waitFor(() => complete(url), 10_000);
    const before = asked(stage);
    for (let turn = 0; turn < 4; turn += 1) await complete(url);
    expect(asked(stage).map((count, index) => count - (before[index] ?? 0))).toEqual([2, 2]);
    expect(stage.workers.flatMap(({ engine }) => engine.requests.get('POST /tokenize') ?? [])).toEqual([]);
    await stage.close();
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});

/** How many prompts each engine got. */
function asked({ workers }: Stage): number[] {
  return workers.map(({ engine }) => engine.requests.get('POST /v1/completions') ?? 0);
}
