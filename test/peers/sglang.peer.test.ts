import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { borrowSglang, type LentProgram } from './support/borrow-engine.js';
import { forThisTest } from './support/for-this-test.js';
import { startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { completeReport, sizeEvidence } from './support/report.js';
import type { Sglang } from './support/sglang.js';

describe.skipIf(lacks('sglang', 'grpcurl'))('a sidecar beside a real SGLang with pages of 32', () => {
  let engine: Sglang<LentProgram>;

  beforeAll(async () => {
    engine = await borrowSglang({ pageSize: 32 });
  });
  afterAll(async () => {
    await engine?.program.stop();
  });

  it('reports 32 over HTTP', async () => {
    const sidecar = forThisTest(await startSidecar('worker-http', '--engine', engine.url));
    const report = await completeReport(sidecar);
    expect(report).toMatchObject({
      engine: { kind: 'ENGINE_KIND_SGLANG', version: '0.5.23' },
      model: { servedNames: ['tiny'] },
      contract: { tokensPerBlock: 32 },
    });
    expect(sizeEvidence(report)).toMatchObject({
      source: 'EVIDENCE_SOURCE_ENGINE_HTTP',
      origin: expect.stringContaining('/server_info'),
    });
    expect(report.kvEventSources?.[0]).toMatchObject({
      endpoint: expect.stringContaining(String(engine.ports.zmq)),
      replayEndpoint: expect.stringContaining(String(engine.ports.zmq + 1)),
    });
  });

  it('reports 32 over its own gRPC', async () => {
    const flags = ['--engine', 'none', '--engine-grpc', `127.0.0.1:${engine.ports.grpc}`];
    const sidecar = forThisTest(await startSidecar('worker-grpc', ...flags));
    const report = await completeReport(sidecar);
    expect(report.contract?.tokensPerBlock).toBe(32);
    expect(sizeEvidence(report)?.source).toBe('EVIDENCE_SOURCE_ENGINE_RPC');
  });
});
