import { describe, expect, it } from 'vitest';
import { borrowVllm } from './support/borrow-engine.js';
import { prefill, words } from './support/completions.js';
import { forThisTest } from './support/for-this-test.js';
import { startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport, reportThat, sizeEvidence } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { startVllm } from './support/vllm.js';

describe.skipIf(lacks('vllm', 'grpcurl'))('a sidecar beside a real vLLM', () => {
  it('with the Rust frontend, whose HTTP never names the size, reads it over vllm.Control', async () => {
    const engine = forThisTest(await borrowVllm({ blockSize: 64, frontend: 'rust' }));
    const blind = forThisTest(await startSidecar('worker-http-only', '--engine', engine.url));
    const incomplete = await reportThat(blind, 'that knows the engine', ({ engine }) => {
      return engine?.kind === 'ENGINE_KIND_VLLM';
    });
    expect(incomplete.contract?.tokensPerBlock).toBeUndefined();
    expect(incomplete.completeness.state).toBe('STATE_INCOMPLETE');
    expect(incomplete.completeness.reasons?.join('\n')).toMatch(/tokens_per_block|block size/);

    const grpc = `127.0.0.1:${engine.ports.grpc}`;
    const sidecar = forThisTest(
      await startSidecar('worker-0', '--engine', engine.url, '--engine-grpc', grpc),
    );
    const report = await completeReport(sidecar);
    expect(report.contract?.tokensPerBlock).toBe(64);
    expect(report.model?.servedNames).toEqual(['tiny']);
    expect(sizeEvidence(report)).toMatchObject({
      source: 'EVIDENCE_SOURCE_ENGINE_RPC',
      origin: expect.stringContaining('/vllm.Control'),
    });
    expect(report.kvEventSources?.[0]?.endpoint).toContain(String(engine.ports.zmq));

    const declared = forThisTest(
      await startSidecar(
        'worker-declared',
        ...['--engine', engine.url, '--engine-kind', 'other', '--tokens-per-block', '64'],
        ...['--kv-event-sources', `tcp://127.0.0.1:${engine.ports.zmq}`],
      ),
    );
    const other = await completeReport(declared);
    expect(other.engine?.kind).toBe('ENGINE_KIND_OTHER');
    expect(sizeEvidence(other)).toMatchObject({ source: 'EVIDENCE_SOURCE_DECLARED' });

    // The first block that it stores shows the size to all three.
    await prefill(engine, { tokens: words(100) });
    for (const each of [blind, sidecar, declared]) {
      const proven = await reportThat(each, 'that goes by events', (seen) => {
        return sizeEvidence(seen)?.source === 'EVIDENCE_SOURCE_OBSERVED_EVENT';
      });
      expect(proven.contract?.tokensPerBlock).toBe(64);
      expect(proven.completeness.state).toBe('STATE_COMPLETE');
    }
  });

  it('that serves gRPC alone, reads the size there', async () => {
    const engine = forThisTest(
      await startVllm({ model: tinyModel('tiny'), blockSize: 32, frontend: 'grpc' }),
    );
    const flags = ['--engine', 'none', '--engine-grpc', `127.0.0.1:${engine.ports.grpc}`];
    const sidecar = forThisTest(await startSidecar('worker-0', ...flags));
    const report = await completeReport(sidecar);
    expect(report.contract?.tokensPerBlock).toBe(32);
    expect(sizeEvidence(report)).toMatchObject({
      source: 'EVIDENCE_SOURCE_ENGINE_RPC',
      origin: expect.stringContaining('/vllm.grpc.engine.VllmEngine'),
    });
  });

  it('that was asked for 64 and runs 16, reports 16', async () => {
    const engine = forThisTest(await startVllm({ model: tinyModel('tiny-mla', 'mla'), blockSize: 64 }));
    expect(engine.program.log).toContain('overriding user-specified block_size=64');
    const sidecar = forThisTest(await startSidecar('worker-0', '--engine', engine.url));
    const report = await completeReport(sidecar);
    expect(report.contract?.tokensPerBlock).toBe(16);
    expect(sizeEvidence(report)?.source).toBe('EVIDENCE_SOURCE_ENGINE_METRICS');
  });
});
