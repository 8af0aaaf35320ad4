import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { borrowVllm, type LentProgram } from './support/borrow-engine.js';
import { probe, type Served, type ServedFrontend, startFrontend, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { freePort } from './support/ports.js';
import { completeReport } from './support/report.js';
import { until } from './support/until.js';
import type { Vllm } from './support/vllm.js';

/** More than one turn of a router that spreads equal load. */
const REQUESTS = 6;
/** Requests of the load, with `AT_A_TIME` at a time. */
const LOAD = Number(process.env['KV_ACCORD_EJECTION_REQUESTS'] ?? 100);
const AT_A_TIME = 4;

describe.skipIf(lacks('vllm'))('two real vLLMs, of which one is stopped (SIGSTOP)', () => {
  const engines: Vllm<LentProgram>[] = [];
  const sidecars: Served[] = [];
  let frontend: ServedFrontend;

  beforeAll(async () => {
    engines.push(...(await Promise.all([0, 1].map(() => borrowVllm({ blockSize: 32 })))));
    for (const [at, engine] of engines.entries()) {
      const sidecar = await startSidecar(`worker-${at}`, '--engine', engine.url);
      sidecars.push(sidecar);
      await completeReport(sidecar);
    }
    // The sidecar of a sound engine, which says that the engine is where nobody listens.
    const wrong = ['--advertise-engine', `http://127.0.0.1:${await freePort()}`];
    const misled = await startSidecar('worker-2', '--engine', engines[1]?.url ?? '', ...wrong);
    sidecars.push(misled);
    await completeReport(misled);
    frontend = await startFrontend(
      'frontend',
      sidecars,
      '--router-mode',
      'round-robin',
      '--first-byte-timeout',
      '4s',
      '--eject-time',
      '1s',
    );
    await until('the frontend to be ready', async () => (await probe(frontend, '/readyz')).status === 200, {
      needs: [frontend.program],
    });
  });

  afterAll(async () => {
    const { pid } = engines[0]?.program ?? {};
    if (pid !== undefined) process.kill(pid, 'SIGCONT');
    for (const { program } of [...(frontend === undefined ? [] : [frontend]), ...sidecars, ...engines])
      await program.stop();
  });

  const client = (): OpenAI => new OpenAI({ baseURL: `${frontend.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const ask = (): Promise<unknown> =>
    client().completions.create({ model: 'tiny', prompt: 'hello', max_tokens: 4 });

  /** Sends the load; how many of its requests failed. */
  async function failuresOfLoad(): Promise<number> {
    let left = LOAD;
    let failed = 0;
    const lane = async (): Promise<void> => {
      for (; left > 0; ) {
        left -= 1;
        await ask().catch(() => {
          failed += 1;
        });
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, lane));
    return failed;
  }

  const logged = (text: string): boolean => frontend.program.log.includes(text);

  it('serve every request although a third worker has a wrong URL, which is ejected', async () => {
    expect(await failuresOfLoad()).toBe(0);
    expect(logged('Worker worker-2 (')).toBe(true);
    expect(logged('could not be reached (connect ECONNREFUSED')).toBe(true);
  });

  it('serve every request, by the one that runs', async () => {
    await Promise.all([ask(), ask()]);
    process.kill(engines[0]?.program.pid as number, 'SIGSTOP');
    // Without the first-byte time-out half of them would wait for ten minutes.
    const answers = await Promise.all(Array.from({ length: REQUESTS }, ask));
    expect(answers).toHaveLength(REQUESTS);
    expect(await failuresOfLoad()).toBeLessThanOrEqual(LOAD / 100);
    expect(logged('Worker worker-0 (')).toBe(true);
    expect(await (await fetch(`${frontend.url}/metrics`)).text()).toMatch(
      /worker_ejected\{[^}]*worker_id="worker-0"[^}]*\} 1/,
    );
  });

  it('give the stopped one its requests back when it goes on', async () => {
    process.kill(engines[0]?.program.pid as number, 'SIGCONT');
    await until('the engine to get requests again', async () => {
      await ask();
      return /Worker worker-0 [^"]* gets requests again: its try was answered/.test(frontend.program.log);
    });
  });
});
