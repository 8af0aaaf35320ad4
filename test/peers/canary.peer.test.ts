import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { borrowVllm, type LentProgram } from './support/borrow-engine.js';
import { forThisTest } from './support/for-this-test.js';
import { logLines, probe, type Served, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { type PrintedReport, reportThat, sizeEvidence } from './support/report.js';
import type { Vllm } from './support/vllm.js';

const CANARY = ['--canary', 'auto'];

/** Waits until the canary of a sidecar has ended. */
function sung(sidecar: Served): Promise<PrintedReport> {
  return reportThat(sidecar, 'whose canary has ended', ({ canary }) =>
    ['STATE_PASSED', 'STATE_FAILED', 'STATE_INCONCLUSIVE', 'STATE_SKIPPED'].includes(canary?.state ?? ''),
  );
}

describe.skipIf(lacks('vllm', 'grpcurl'))('the canary beside two real vLLMs', () => {
  let one: Vllm<LentProgram>;
  let two: Vllm<LentProgram>;

  beforeAll(async () => {
    // The Rust frontend names the block size nowhere in HTTP: only an event reports it.
    [one, two] = await Promise.all([
      borrowVllm({ blockSize: 32 }),
      borrowVllm({ blockSize: 64, frontend: 'rust' }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([one?.program.stop(), two?.program.stop()]);
  });

  it('passes on each path of an engine, and makes a fresh one show its block size', async () => {
    const sidecar = forThisTest(await startSidecar('worker-1', '--engine', one.url, ...CANARY));
    const { canary } = await sung(sidecar);
    expect(canary).toMatchObject({
      state: 'STATE_PASSED',
      results: [
        {
          path: '/v1/completions',
          promptTokens: 80,
          reportedPromptTokens: 80,
          predictedCachedTokens: 64,
          reportedCachedTokens: 64,
          promptBlocks: 2,
          storedBlocks: 2,
        },
        { path: '/v1/chat/completions', state: 'STATE_PASSED' },
      ],
    });

    const blind = forThisTest(await startSidecar('worker-2', '--engine', two.url, ...CANARY));
    const report = await sung(blind);
    expect(report.contract?.tokensPerBlock).toBe(64);
    expect(report.completeness.state).toBe('STATE_COMPLETE');
    expect(sizeEvidence(report)?.source).toBe('EVIDENCE_SOURCE_OBSERVED_EVENT');
    expect((await probe(sidecar, '/metrics')).body).toContain('kv_accord_canary_state{state="passed"} 1');
  });

  it('finds event sources that are swapped, and nothing is called exact', async () => {
    const source = (engine: Vllm<LentProgram>): string => `tcp://127.0.0.1:${engine.ports.zmq}`;
    const swapped = async (
      name: string,
      engine: Vllm<LentProgram>,
      events: Vllm<LentProgram>,
    ): Promise<Served> =>
      forThisTest(
        await startSidecar(name, '--engine', engine.url, '--kv-event-sources', source(events), ...CANARY),
      );
    const [first, second] = await Promise.all([swapped('worker-1', one, two), swapped('worker-2', two, one)]);
    for (const sidecar of [first, second]) {
      const { canary } = await sung(sidecar);
      expect(canary?.state).toBe('STATE_FAILED');
      expect(canary?.reason).toMatch(/blocks? of its prompt arrived/);
      expect((await probe(sidecar, '/api/v1/kv-events')).body).toMatch(
        /not this engine's|another engine's events/,
      );
      expect(logLines(sidecar.program).map(({ msg }) => msg)).toContainEqual(
        expect.stringContaining('the canary failed: /v1/completions'),
      );
    }
  });
});
