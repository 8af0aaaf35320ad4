import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prefill, words } from './support/completions.js';
import { type DoctorAnswer, describeAnswer, doctor } from './support/doctor.js';
import { type ExactFleet, type FleetFlags, routesExactly, startExactFleet } from './support/exact-fleet.js';
import { type Exactness, measureExactness } from './support/exactness.js';
import { addressOf } from './support/index-client.js';
import { logLines, probe } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { run } from './support/run.js';
import { type Sglang, startSglang } from './support/sglang.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { startVllm, type Vllm } from './support/vllm.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const MODEL = 'tiny';
const WIDTH = 32;
const REQUESTS = 50;

/** What operators see of a fleet. */
interface Reported {
  readonly exactness: Exactness;
  readonly status: string;
  readonly doctor: DoctorAnswer;
  /** WARN and ERROR of the frontend and of the sidecars. */
  readonly log: string;
}

describe.skipIf(lacks('vllm', 'sglang', 'grpcurl'))('within 50 requests to real engines', () => {
  const vllms: Vllm[] = [];
  let sglang: Sglang;

  beforeAll(async () => {
    const model = tinyModel(MODEL);
    const seeded = (seed: string): Promise<Vllm> =>
      startVllm({ model, blockSize: WIDTH, developerMode: true, env: { PYTHONHASHSEED: seed } });
    const cacheless = startSglang({ model, pageSize: WIDTH, flags: ['--disable-radix-cache'] });
    vllms.push(...(await Promise.all([seeded('1'), seeded('2')])));
    sglang = await cacheless;
  });
  afterAll(async () => {
    for (const engine of [...vllms, sglang]) await engine?.program.stop();
  });

  it('other hash seeds change no prediction, and neither do prompts that want log probabilities', async () => {
    const { exactness, doctor: answer } = await look(vllms, { isExact: true }, async ({ frontend }) => {
      const prompt = words(200, 40, 7);
      await ask(frontend.url, { prompt });
      const cached = await ask(frontend.url, { prompt });
      const unread = await ask(frontend.url, { prompt, prompt_logprobs: 0 });
      expect([cached, unread]).toEqual([192, 0]);
      const { body } = await probe(frontend, '/api/v1/results');
      expect(body).not.toMatch(/"contradictions": ?[1-9]/);
    });
    expect([...exactness.over, ...exactness.under]).toEqual([]);
    expect(exactness.modes).toEqual({ exact: REQUESTS });
    expect(exactness.cachedTokens).toBeGreaterThan(0);
    expect(answer).toMatchObject({ status: 0, verdict: 'healthy' });
  });

  it('swapped event sources of two workers are named in status, log and doctor', async () => {
    const sidecars = [...vllms]
      .reverse()
      .map(({ ports: { zmq } }) => [
        ...['--kv-event-sources', `tcp://127.0.0.1:${zmq}`],
        ...['--kv-replay-sources', `tcp://127.0.0.1:${zmq + 1}`],
      ]);
    const { status, log, doctor: answer } = await look(vllms, { sidecars });
    const words = /swapped|another engine|events of worker/;
    expect(status).toMatch(words);
    expect(log).toMatch(words);
    expect(answer.status).toBe(1);
    expect(answer.causes).toContain('misread_events certain');
  });

  it('an SGLang without its radix cache is named in status, log and doctor, and never exact', async () => {
    const { status, log, doctor: answer, exactness } = await look([sglang], {});
    expect(exactness.modes).not.toHaveProperty('exact');
    expect(status).toContain('without a prefix cache');
    expect(log).toContain('disable_radix_cache');
    expect(answer.status).toBe(1);
    expect(answer.causes[0]).toMatch(/^events_off /);
    expect(answer.headline).toMatch(/^Prefix caching is off/);
  });
});

/** Sends the requests through a frontend over these engines, and looks where an operator would. */
async function look(
  engines: readonly (Vllm | Sglang)[],
  { isExact = false, ...flags }: FleetFlags & { readonly isExact?: boolean },
  also: (fleet: ExactFleet) => Promise<void> = async () => undefined,
): Promise<Reported> {
  const fleet = await startExactFleet(engines, flags);
  const { frontend, sidecars } = fleet;
  try {
    // Of an engine that has published nothing it is not known whether its cache is empty.
    for (const engine of engines) await prefill(engine, { tokens: words(3 * WIDTH, 0, 3) });
    await until('the gate to open', async () => (await probe(frontend, '/readyz')).status === 200);
    // The gate does not wait for what a worker that is ready has published.
    if (isExact) await until('all caches to be known', () => routesExactly(frontend));
    const exactness = await measureExactness(fleet, {
      model: MODEL,
      tokensPerBlock: WIDTH,
      requests: REQUESTS,
      seed: 3,
      longestWords: 400,
    });
    await also(fleet);
    const { stdout: status } = await run(process.execPath, [MAIN, 'status', addressOf(frontend)]);
    const answer = await doctor(addressOf(frontend));
    const log = [frontend, ...sidecars]
      .flatMap(({ program }) => logLines(program))
      .filter(({ level }) => level === 'warn' || level === 'error')
      .map(({ msg }) => msg)
      .join('\n');
    console.log(`${status}\n${describeAnswer('of the fleet', answer)}\n${log}`);
    return { exactness, status, doctor: answer, log };
  } finally {
    await fleet.stopOwn();
  }
}

/** Prompt tokens of a completion that its engine had cached. */
async function ask(url: string, body: object): Promise<number> {
  const answer = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, max_tokens: 1, ...body }),
    signal: AbortSignal.timeout(60_000),
  });
  const { usage } = JSON.parse(await answer.text());
  return usage.prompt_tokens_details?.cached_tokens ?? 0;
}
