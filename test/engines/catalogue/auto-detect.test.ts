import { describe, expect, it } from 'vitest';
import { createEngineRpc } from '../../../src/edge/rpc/engine-rpc.js';
import { type Detection, detectEngine } from '../../../src/engines/catalogue/auto-detect.js';
import { SglangServiceService } from '../../../src/gen/engines/sglang/sglang.js';
import { ControlService } from '../../../src/gen/engines/vllm/control.js';
import { EngineKind } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { probeModules } from '../probing/probe-run.js';
import { recording, serveRecordings } from '../probing/recorded-engine.js';
import { serveGrpc } from '../probing/recorded-grpc-engine.js';

const vllm = { '/v1/models': recording('vllm-0.32.0/models.b32.json') };
const sglang = { '/v1/models': recording('sglang-0.5.23/models.p32.json') };
const dynamo = { '/live': recording('dynamo-1.6.1/mocker-health.ready.json') };

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));

function detect(
  http: readonly string[],
  grpc: readonly string[] = [],
  environment: Record<string, string> = {},
): Promise<Detection> {
  const modules = probeModules();
  return detectEngine(
    { environment, httpPorts: http.map(portOf), grpcPorts: grpc.map(portOf) },
    { ...modules, rpc: createEngineRpc({}, modules) },
    new AbortController().signal,
  );
}

/** An address of the loopback where nobody listens. */
async function deadPort(): Promise<string> {
  const engine = await serveRecordings({});
  await engine[Symbol.asyncDispose]();
  return engine.url;
}

describe('the search for an engine', () => {
  it('takes the one that is there and says why, for every address', async () => {
    await using engine = await serveRecordings(vllm);
    const dead = await deadPort();
    const { target, findings } = await detect([dead, engine.url]);
    expect(target).toEqual({ engineKind: EngineKind.VLLM, httpBaseUrl: engine.url });
    expect(findings).toEqual([
      { address: dead, taken: false, reason: expect.stringContaining('ECONNREFUSED') },
      {
        address: engine.url,
        taken: true,
        kind: EngineKind.VLLM,
        reason: '/v1/models says owned_by "vllm"',
      },
    ]);
    expect(engine.requests).toEqual(['GET /v1/models']);
  });

  it('adds the gRPC of the same engine, and leaves that of another', async () => {
    await using engine = await serveRecordings(vllm);
    await using control = await serveGrpc([[ControlService.getServerInfo, { hex: '' }]]);
    await using other = await serveGrpc([[SglangServiceService.getServerInfo, { hex: '' }]]);
    const { target, findings } = await detect([engine.url], [other.address, control.address]);
    expect(target).toEqual({
      engineKind: EngineKind.VLLM,
      httpBaseUrl: engine.url,
      grpcAddress: control.address,
    });
    expect(findings[1]).toMatchObject({
      taken: false,
      reason: expect.stringContaining('another engine than the one on HTTP'),
    });
    expect(findings[2]).toMatchObject({ taken: true, reason: 'vllm.Control answers' });
  });

  it('takes an engine that has gRPC alone', async () => {
    await using service = await serveGrpc([[SglangServiceService.getServerInfo, { hex: '' }]]);
    const { target } = await detect([], [service.address]);
    expect(target).toEqual({ engineKind: EngineKind.SGLANG, grpcAddress: service.address });
  });

  it('does not choose between two', async () => {
    await using first = await serveRecordings(vllm);
    await using second = await serveRecordings(sglang);
    const { target, findings } = await detect([first.url, second.url]);
    expect(target).toBeUndefined();
    expect(findings.map(({ taken }) => taken)).toEqual([false, false]);
    expect(findings[1]?.reason).toContain('more than one engine; say which with --engine');
  });

  it('looks at DYN_SYSTEM_PORT and takes the folder of the cards from the environment', async () => {
    await using worker = await serveRecordings(dynamo);
    const environment = { DYN_SYSTEM_PORT: String(portOf(worker.url)), DYN_FILE_KV: '/kv' };
    const { target } = await detect([], [], environment);
    expect(target).toEqual({
      engineKind: EngineKind.DYNAMO,
      httpBaseUrl: worker.url,
      dynamoFileKv: '/kv',
    });
  });

  it.each([
    ['something else on that port', { '/v1/models': '<html>hello</html>' }, 'no engine that is known here'],
    ["Dynamo's frontend", { '/v1/models': recording('dynamo-1.6.1/frontend-models.json') }, 'not a worker'],
    ['an engine that still starts', { '/v1/models': { status: 503, body: '' } }, 'not ready'],
  ])('does not take %s', async (_name, answers, words) => {
    await using other = await serveRecordings(answers);
    const { target, findings } = await detect([other.url]);
    expect(target).toBeUndefined();
    expect(findings[0]).toMatchObject({ taken: false, reason: expect.stringContaining(words) });
  });

  it('finds a gRPC server that is no engine, and leaves it', async () => {
    await using server = await serveGrpc([]);
    const { target, findings } = await detect([], [server.address]);
    expect(target).toBeUndefined();
    expect(findings[0]?.reason).toContain('no service that is known here');
  });
});
