import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grpcurl, health } from './support/grpcurl.js';
import { kubeletProbe } from './support/kubelet.js';
import { probe, type Served, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import type { RunningProgram } from './support/program.js';
import { completeReport, type PrintedReport, reportThat, sizeEvidence } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { startVllm, type Vllm } from './support/vllm.js';

describe.skipIf(lacks('vllm', 'grpcurl'))('a sidecar beside a real vLLM with blocks of 32', () => {
  let model: string;
  let engine: Vllm<RunningProgram>;
  let sidecar: Served;
  let first: PrintedReport;

  beforeAll(async () => {
    model = tinyModel('tiny');
    // An engine of its own: one that has served answers with its events, and the metrics line is what is asked here.
    engine = await startVllm({ model, blockSize: 32 });
    sidecar = await startSidecar('worker-0', '--engine', engine.url);
    // What the engine answers to the probes of its tokenizer is known last.
    first = await reportThat(sidecar, 'with its tokens', ({ model, completeness }) => {
      return completeness.state === 'STATE_COMPLETE' && (model?.tokenProbes?.length ?? 0) > 0;
    });
  });
  afterAll(async () => {
    await sidecar?.program.stop();
    await engine?.program.stop();
  });

  it('reports 32 with the metrics line that says so', () => {
    expect(first).toMatchObject({
      workerId: 'worker-0',
      engine: { kind: 'ENGINE_KIND_VLLM', version: '0.32.0', state: 'ENGINE_STATE_READY' },
      model: { servedNames: ['tiny'] },
      contract: { tokensPerBlock: 32 },
    });
    expect(sizeEvidence(first)).toMatchObject({
      source: 'EVIDENCE_SOURCE_ENGINE_METRICS',
      origin: `GET ${engine.url}/metrics`,
      raw: expect.stringMatching(/block_size="32"/),
    });
    expect(first.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('answers grpcurl without proto files: list, describe, call', async () => {
    const list = await grpcurl(sidecar.grpcPort, 'list');
    expect(list).toMatchObject({ status: 0, stderr: '' });
    expect(list.stdout.split('\n')).toEqual(
      expect.arrayContaining(['grpc.health.v1.Health', 'kvaccord.v1.Capabilities']),
    );
    const service = await grpcurl(sidecar.grpcPort, 'describe', 'kvaccord.v1.Capabilities');
    expect(service.stdout).toContain('rpc WatchCapabilities');
    expect(service.stdout).toContain('returns ( stream .kvaccord.v1.WatchCapabilitiesResponse )');
  });

  it('describes maps and optional fields as they are in the proto', async () => {
    const placement = await grpcurl(sidecar.grpcPort, 'describe', 'kvaccord.v1.Placement');
    expect(placement.stdout).toContain('map<string, string> topology_domains = 4;');
    const contract = await grpcurl(sidecar.grpcPort, 'describe', 'kvaccord.v1.Contract');
    expect(contract.stdout).toContain('optional uint32 tokens_per_block = 1;');
    const health = await grpcurl(sidecar.grpcPort, 'describe', 'grpc.health.v1.HealthListResponse');
    expect(health.stdout).toContain('map<string, .grpc.health.v1.HealthCheckResponse> statuses = 1;');
  });

  it('is healthy, for grpcurl and for the probe port', async () => {
    for (const service of ['', 'kvaccord.v1.Capabilities', 'engine']) {
      expect(await health(sidecar.grpcPort, service)).toBe('SERVING');
    }
    expect((await probe(sidecar, '/readyz')).status).toBe(200);
    expect((await probe(sidecar, '/startupz')).status).toBe(200);
  });

  it.skipIf(lacks('kubelet-probe'))('passes the probe of a real kubelet', async () => {
    expect(await kubeletProbe(sidecar.grpcPort)).toContain('success');
    expect(await kubeletProbe(sidecar.grpcPort, 'kvaccord.v1.Capabilities')).toContain('success');
    expect(await kubeletProbe(sidecar.grpcPort, 'no.such.Service')).toContain('failure');
  });

  it('is no load on an idle engine', async () => {
    const requests = (): string[] => engine.program.log.match(/"(GET|POST) \/[^"]*"/g) ?? [];
    const before = requests().length;
    await sleep(60_000);
    const seen = requests().slice(before);
    const kinds = [...new Set(seen)].map((kind) => `${seen.filter((one) => one === kind).length} x ${kind}`);
    console.log(
      `an idle vLLM had ${seen.length} requests from its sidecar in one minute: ${kinds.join(', ')}`,
    );
    expect(seen.length).toBeGreaterThan(0); // else the access log is not where we look
    expect(seen.length).toBeLessThanOrEqual(60);
  });

  it('sees that the engine went down', async () => {
    await engine.program.end();
    const report = await reportThat(sidecar, 'of an engine that is gone', ({ engine }) => {
      return engine?.state === 'ENGINE_STATE_UNREACHABLE';
    });
    expect(report.workerId).toBe('worker-0');
    expect(await health(sidecar.grpcPort, 'engine')).toBe('NOT_SERVING');
    // A pod must be able to start and to stay while its engine does not: it is the sidecar that is asked here.
    expect(await health(sidecar.grpcPort, '')).toBe('SERVING');
    expect((await probe(sidecar, '/readyz')).status).toBe(200);
  });

  it('sees a new instance when the engine is back with the same size', async () => {
    engine = await startVllm({ model, blockSize: 32, ports: engine.ports });
    const report = await reportThat(sidecar, 'of another instance', ({ instanceId, digest }) => {
      return instanceId !== first.instanceId && digest === first.digest;
    });
    expect(report.contract?.tokensPerBlock).toBe(32);
    expect(report.completeness.state).toBe('STATE_COMPLETE');
  });

  it('sees the other size of an engine that is back with one', async () => {
    const { instanceId } = await completeReport(sidecar);
    await engine.program.end();
    engine = await startVllm({ model, blockSize: 64, ports: engine.ports });
    const report = await reportThat(sidecar, 'with 64', ({ contract }) => contract?.tokensPerBlock === 64);
    expect(report.instanceId).not.toBe(instanceId);
    expect(report.digest).not.toBe(first.digest);
  });
});
