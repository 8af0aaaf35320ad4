import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { prefill, words } from './support/completions.js';
import { type DoctorAnswer, describeAnswer, doctor, logsOf, metricsOf } from './support/doctor.js';
import { dynamoFolder, startMocker } from './support/dynamo.js';
import { forThisTest } from './support/for-this-test.js';
import { addressOf } from './support/index-client.js';
import { probe, type Served, startAggregator, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { startVllm, type Vllm, type VllmOptions } from './support/vllm.js';

const WIDTH = 32;

async function ask(what: string, flags: readonly string[]): Promise<DoctorAnswer> {
  const answer = await doctor(...flags);
  console.log(describeAnswer(what, answer));
  return answer;
}

async function startEngine(options: Partial<VllmOptions> = {}): Promise<Vllm> {
  const engine = await startVllm({ model: tinyModel('tiny'), blockSize: WIDTH, ...options });
  try {
    // Conversations of which each turn repeats all before.
    for (let turn = 1; turn <= 4; turn += 1)
      for (let one = 0; one < 4; one += 1)
        await prefill(engine, { tokens: words(turn * 150, one * 400, one + 1) });
  } catch (error) {
    await engine.program.stop();
    throw error;
  }
  return engine;
}

describe.skipIf(lacks('vllm', 'grpcurl'))('doctor beside a real vLLM that publishes KV events', () => {
  let engine: Vllm;
  let sidecar: Served;
  const started: Served[] = [];

  afterAll(async () => {
    for (const { program } of started) await program.stop();
    await engine?.program.stop();
  });

  it('has of the engine alone its block size and its hits, nothing against it, and does not speak for a router that it has not seen', async () => {
    engine = await startEngine();
    for (const [what, flags] of [
      ['log and metrics', [...logsOf(engine), ...metricsOf(engine)]],
      ['log', logsOf(engine)],
      ['metrics', metricsOf(engine)],
      ['address', [engine.url]],
    ] as const) {
      const answer = await ask(`vLLM with events, ${what}`, flags);
      expect(answer, what).toMatchObject({ status: 6, verdict: 'unknown', causes: [] });
      expect(answer.unknowns.join('\n')).toMatch(/Whether the router finds blocks/);
    }
    const { json, hits } = await doctor(...logsOf(engine), ...metricsOf(engine));
    expect(hits).toMatch(/engines [3-9]\d\.\d %/);
    expect(json).toMatch(/"publishes_kv_events",\s+"value": "true"/);
    expect(json).toMatch(/"tokens_per_block": 32,\s+"basis": "in_use"/);
  });

  it('calls a fleet of kv-accord healthy by its aggregator, and by what stands at the address', async () => {
    sidecar = await startSidecar('worker-0', '--engine', engine.url);
    started.push(sidecar);
    await completeReport(sidecar);
    const aggregator = await startAggregator('aggregator', [sidecar]);
    started.push(aggregator);
    await until('the gate to open', async () => (await probe(aggregator, '/readyz')).status === 200);
    const answer = await until(
      'exact routing',
      async () => {
        const now = await doctor(addressOf(aggregator));
        return now.status === 0 && now;
      },
      { timeoutMs: 30_000, pollMs: 1_000 },
    );
    console.log(describeAnswer('vLLM behind an aggregator', answer));
    expect(answer).toMatchObject({ verdict: 'healthy', causes: [] });
    const both = await ask('the same with log and metrics of the engine', [
      addressOf(aggregator),
      ...logsOf(engine),
      ...metricsOf(engine),
    ]);
    expect(both).toMatchObject({ status: 0, causes: [] });
    const one = await ask('the sidecar alone', [addressOf(sidecar)]);
    expect(one).toMatchObject({ status: 6, causes: [] });
  });

  it.skipIf(lacks('dynamo'))('names workers of one model that have 32 and 16', async () => {
    const fileKv = dynamoFolder('doctor-vllm');
    const mocker = forThisTest(await startMocker(tinyModel('tiny'), 16, { fileKv }));
    const flags = ['--engine', mocker.url, '--dynamo-file-kv', fileKv];
    const other = forThisTest(await startSidecar('worker-1', ...flags));
    await completeReport(other);
    const aggregator = forThisTest(await startAggregator('aggregator-two', [sidecar, other]));
    const answer = await until(
      'the conflict',
      async () => {
        const now = await doctor(addressOf(aggregator));
        return now.status === 1 && now;
      },
      { timeoutMs: 30_000, pollMs: 1_000 },
    );
    console.log(describeAnswer('vLLM of 32 and a mocker of 16', answer));
    expect(answer.causes[0]).toBe('block_size_mismatch certain');
    expect(answer.headline).toMatch(/\b(?:16|32)\b.*\b(?:16|32)\b/);
  });

  it('names a frontend that was given 16 before this engine', async () => {
    const wrong = forThisTest(
      await startAggregator('aggregator-16', [sidecar], '--kv-cache-block-size', '16'),
    );
    await prefill(engine, { tokens: words(200, 1_300, 7) });
    await until('the error', () => wrong.program.log.includes('does not match worker block size'), {
      needs: [wrong.program],
    });
    const answer = await ask('an aggregator of 16, its log', logsOf(wrong));
    expect(answer).toMatchObject({ status: 1, causes: ['block_size_mismatch certain'] });
    expect(answer.headline).toMatch(/\b16\b.*\b32\b/);
  });
});

describe.skipIf(lacks('vllm'))('doctor beside a real vLLM without KV events', () => {
  it('names it once a router was seen that would read them, and by itself leaves it alone', async () => {
    const engine = forThisTest(await startEngine({ publishesEvents: false }));
    const log = await ask('vLLM without events, log', logsOf(engine));
    expect(log).toMatchObject({ status: 6, verdict: 'unknown', causes: [] });
    const script = join(mkdtempSync(join(tmpdir(), 'kv-accord-doctor-')), 'frontend.sh');
    writeFileSync(script, 'python3 -m dynamo.frontend --router-mode kv\n');
    const behind = await ask('the same behind a frontend', [...logsOf(engine), '--manifests', script]);
    // The script names no block size, and the engine's is not Dynamo's default.
    expect(behind).toMatchObject({
      status: 1,
      causes: ['events_off likely', 'block_size_mismatch possible'],
    });
    expect(behind.advice).toContain('--kv-events-config');
    // No page of vLLM reports whether it publishes.
    const page = await ask('vLLM without events, metrics', metricsOf(engine));
    expect(page).toMatchObject({ status: 6, causes: [] });
  });
});

describe.skipIf(lacks('vllm'))('doctor beside a real vLLM without prefix caching', () => {
  it('names it from the log, which says that KV events are on, and from the metrics as what may be meant', async () => {
    const engine = forThisTest(await startEngine({ flags: ['--no-enable-prefix-caching'] }));
    for (const [what, flags] of [
      ['log and metrics', [...logsOf(engine), ...metricsOf(engine)]],
      ['log', logsOf(engine)],
    ] as const) {
      const answer = await ask(`vLLM without prefix caching, ${what}`, flags);
      expect(answer, what).toMatchObject({ status: 1, causes: ['events_off likely'] });
      expect(answer.headline).toMatch(/^Prefix caching is off/);
    }
    const answer = await ask('vLLM without prefix caching, metrics', metricsOf(engine));
    expect(answer).toMatchObject({ status: 6, causes: ['events_off possible'] });
    expect(answer.headline).toMatch(/Prefix caching is off.*may be meant/);
  });
});
