import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { borrowVllm, type LentProgram } from './support/borrow-engine.js';
import { probe, type Served, type ServedFrontend, startFrontend, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport } from './support/report.js';
import { until } from './support/until.js';
import type { Vllm } from './support/vllm.js';

/** More than one turn of a router that spreads equal load. */
const REQUESTS = 6;

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
    frontend = await startFrontend(
      'frontend',
      sidecars,
      '--router-mode',
      'round-robin',
      '--first-byte-timeout',
      '4s',
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

  it('serve every request, by the one that runs', async () => {
    const client = new OpenAI({ baseURL: `${frontend.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const ask = (): Promise<unknown> =>
      client.completions.create({ model: 'tiny', prompt: 'hello', max_tokens: 4 });
    await Promise.all([ask(), ask()]);
    process.kill(engines[0]?.program.pid as number, 'SIGSTOP');
    // Without the first-byte time-out half of them would wait for ten minutes.
    const answers = await Promise.all(Array.from({ length: REQUESTS }, ask));
    expect(answers).toHaveLength(REQUESTS);
  });
});
