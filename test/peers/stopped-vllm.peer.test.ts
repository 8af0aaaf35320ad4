import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ViewDocument, ViewEntry } from '../../src/core/view/view-document.js';
import { freePort } from '../support/ports.js';
import { borrowVllm, type LentProgram } from './support/borrow-engine.js';
import { coreOf } from './support/engine-core.js';
import { probe, type Served, type ServedFrontend, startFrontend, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
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
  /** The process of the first engine that computes, once it is stopped. */
  let core: number | undefined;

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
      '--stall-timeout',
      '6s',
    );
    await until('the frontend to be ready', async () => (await probe(frontend, '/readyz')).status === 200, {
      needs: [frontend.program],
    });
  });

  afterAll(async () => {
    for (const pid of [engines[0]?.program.pid, core]) if (pid !== undefined) process.kill(pid, 'SIGCONT');
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

  /** A stream of several seconds, whose first bytes have come. */
  const longStream = (): Promise<Response> =>
    fetch(`${frontend.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'tiny',
        prompt: 'hello',
        max_tokens: 1500,
        ignore_eos: true,
        stream: true,
      }),
    });

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

  it('lose no request whose answer has not begun when an engine hangs behind its server', async () => {
    const returns = frontend.program.log.split('gets requests again: its try was answered').length - 1;
    core = await coreOf((engines[0] as Vllm<LentProgram>).program);
    const streams = await Promise.all([0, 1].map(longStream));
    process.kill(core, 'SIGSTOP');
    expect((await fetch(`${engines[0]?.url}/health`)).status).toBe(200);
    expect(await failuresOfLoad()).toBeLessThanOrEqual(LOAD / 100);
    expect(frontend.program.log).toMatch(
      /Worker worker-0 [^"]* is ejected: [^"]*its engine computes nothing/,
    );
    const ends = await Promise.all(streams.map((stream) => stream.text()));
    expect(ends.filter((text) => text.endsWith('data: [DONE]\n\n'))).toHaveLength(1);
    expect(ends.filter((text) => text.includes('"code":"worker_cut"'))).toHaveLength(1);
    process.kill(core, 'SIGCONT');
    await until('the engine to get requests again', async () => {
      await ask();
      return frontend.program.log.split('gets requests again: its try was answered').length > returns + 1;
    });
  });

  it('have their ejections and returns on the timeline of the view, with what to do', async () => {
    const { body } = await probe(frontend, '/api/v1/view');
    const { timeline } = JSON.parse(body) as ViewDocument;
    const of = (kind: ViewEntry['kind']): readonly ViewEntry[] =>
      timeline.filter((entry) => entry.kind === kind && entry.worker.startsWith('worker-0 ('));
    expect(of('ejected').length).toBeGreaterThan(1);
    for (const { todo, tone } of of('ejected')) {
      expect(todo).not.toBe('');
      expect(tone).toBe('bad');
    }
    expect(of('returned').length).toBeGreaterThan(1);
  });
});
