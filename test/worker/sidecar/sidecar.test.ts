import { createServer } from 'node:net';
import { credentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { type Address, parseAddress } from '../../../src/edge/platform/address.js';
import { ListenError } from '../../../src/edge/platform/net/listen.js';
import { HealthCheckResponse_ServingStatus, HealthClient } from '../../../src/gen/grpc/health/v1/health.js';
import {
  CapabilitiesClient,
  type CapabilityReport,
  Completeness_State,
  EngineState,
  Topology,
  type WatchCapabilitiesResponse,
} from '../../../src/gen/kvaccord/v1/capabilities.js';
import type { SimulatedEngine } from '../../../src/tools/demo/engines/simulated-engine.js';
import { fixedLocation } from '../../../src/worker/sidecar/probing/engine-locator.js';
import { Sidecar, type SidecarModules, type SidecarOptions } from '../../../src/worker/sidecar/sidecar.js';
import { recording, serveRecordings } from '../../engines/probing/recorded-engine.js';
import { openVllm } from '../../support/open-vllm.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { sidecarModules } from './support/sidecar-modules.js';

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`${text} is no address`);
  return parsed;
}

function make(
  engineUrl: string,
  options: Partial<SidecarOptions> = {},
  modules: Partial<SidecarModules> = {},
): { sidecar: Sidecar; logger: RecordingLogger } {
  const logger = new RecordingLogger();
  const sidecar = new Sidecar(
    {
      version: '1.2.3',
      workerId: 'w-1',
      listen: address('127.0.0.1:0'),
      httpListen: address('127.0.0.1:0'),
      declaredFacts: [],
      // Rounds follow each other fast, so that a test waits for events and not for time.
      probeIntervalMs: 20,
      ...options,
    },
    {
      ...sidecarModules(),
      logger,
      locate: async () => fixedLocation([{ httpBaseUrl: engineUrl }]),
      ...modules,
    },
  );
  return { sidecar, logger };
}

/** A running sidecar with a client and one watch on it. */
class Running {
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  readonly #client: CapabilitiesClient;
  readonly #messages: AsyncIterator<WatchCapabilitiesResponse>;
  readonly http: string;
  readonly grpc: string;
  readonly logger: RecordingLogger;

  static async start(...parts: Parameters<typeof make>): Promise<Running> {
    const { sidecar, logger } = make(...parts);
    const { grpc, http } = await sidecar.start();
    return new Running(sidecar, logger, grpc.text, `http://${http.text}`);
  }

  constructor(sidecar: Sidecar, logger: RecordingLogger, grpc: string, http: string) {
    this.logger = logger;
    this.grpc = grpc;
    this.http = http;
    this.#ended = sidecar.run(this.#stop.signal);
    this.#client = new CapabilitiesClient(grpc, credentials.createInsecure());
    const call = this.#client.watchCapabilities({ lastInstanceId: '', lastRevision: 0n, frontendId: '' });
    this.#messages = call[Symbol.asyncIterator]();
  }

  /** The next report that is as asked for; those before it are passed over. */
  async until(isWanted: (report: CapabilityReport) => boolean): Promise<CapabilityReport> {
    for (;;) {
      const { value, done } = await this.#messages.next();
      if (done === true) throw new Error('the stream is over');
      const payload = value.payload;
      if (payload?.$case === 'report' && isWanted(payload.value)) return payload.value;
    }
  }

  async #endOfStream(): Promise<void> {
    while ((await this.#messages.next()).done !== true);
  }

  /** Ends the sidecar as a signal would; resolves when its stream and everything else has ended in order. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#endOfStream(), this.#ended]);
    this.#client.close();
  }

  /** Only asks it to end. */
  askToEnd(): void {
    this.#stop.abort();
  }

  async get(path: string): Promise<{ status: number; body: string }> {
    const response = await fetch(`${this.http}${path}`, { headers: { connection: 'close' } });
    return { status: response.status, body: await response.text() };
  }

  async health(service: string): Promise<HealthCheckResponse_ServingStatus | undefined> {
    const client = new HealthClient(this.grpc, credentials.createInsecure());
    try {
      return await new Promise((resolve, reject) => {
        client.check({ service }, (error, answer) => (error ? reject(error) : resolve(answer.status)));
      });
    } finally {
      client.close();
    }
  }
}

const stateOf = (report: CapabilityReport): EngineState | undefined => report.engine?.state;
const isReady = (report: CapabilityReport): boolean => stateOf(report) === EngineState.READY;
const engines: SimulatedEngine[] = [];

/** An engine that is down: its address is known. */
async function reserve(tokensPerBlock = 32): Promise<SimulatedEngine> {
  const engine = await openVllm(tokensPerBlock);
  engines.push(engine);
  return engine;
}

afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

describe('a sidecar', () => {
  it('serves and is ready before its engine is there, and says what it waits for', async () => {
    const engine = await reserve();
    const running = await Running.start(engine.url);
    const report = await running.until((each) => stateOf(each) === EngineState.UNREACHABLE);
    expect(report.completeness?.reasons[0]).toContain(`cannot reach the engine at ${engine.url}`);
    expect(await running.get('/readyz')).toEqual({ status: 200, body: 'ok\n' });
    expect((await running.get('/readyz?verbose')).body).toContain(`cannot reach the engine at ${engine.url}`);
    expect((await running.get('/startupz')).status).toBe(200);
    const { SERVING, NOT_SERVING } = HealthCheckResponse_ServingStatus;
    expect(await running.health('')).toBe(SERVING);
    expect(await running.health('kvaccord.v1.Capabilities')).toBe(SERVING);
    expect(await running.health('engine')).toBe(NOT_SERVING);
    await running.stop();
  });

  it('follows its engine: up, down, and up again with another block size as another instance', async () => {
    const engine = await reserve(32);
    const running = await Running.start(engine.url);
    await running.until((report) => stateOf(report) === EngineState.UNREACHABLE);
    engine.start();
    const first = await running.until(isReady);
    expect(first.contract?.tokensPerBlock).toBe(32);
    expect(first.completeness?.state).toBe(Completeness_State.COMPLETE);
    expect(await running.health('engine')).toBe(HealthCheckResponse_ServingStatus.SERVING);

    engine.crash();
    const down = await running.until((report) => stateOf(report) === EngineState.UNREACHABLE);
    expect(down.completeness?.state).toBe(Completeness_State.INCOMPLETE);
    expect(down.contract?.tokensPerBlock).toBeUndefined();
    expect(down.model?.servedNames).toEqual(['tiny']);

    engine.start({ tokensPerBlock: 64 });
    const second = await running.until(isReady);
    expect(second.contract?.tokensPerBlock).toBe(64);
    expect(second.instanceId).not.toBe(first.instanceId);
    expect(second.revision).toBeGreaterThan(down.revision);
    await running.stop();

    expect(running.logger.messages('info').filter((line) => line.includes('uses KV blocks'))).toEqual([
      expect.stringMatching(
        /^Engine vLLM 0\.32\.0 at http:.* uses KV blocks of 32 tokens \(engine_metrics: effective_attention_block_size="32"\)$/,
      ),
      expect.stringContaining('64 tokens'),
    ]);
  });

  it('names the same instance after it restarted itself', async () => {
    const engine = await reserve();
    engine.start();
    const ids: string[] = [];
    const revisions: bigint[] = [];
    for (let start = 0; start < 2; start += 1) {
      const running = await Running.start(engine.url);
      const report = await running.until(isReady);
      ids.push(report.instanceId);
      revisions.push(report.revision);
      await running.stop();
    }
    expect(ids[1]).toBe(ids[0]);
    expect(revisions[1]).toBeGreaterThan(revisions[0] ?? 0n);
  });

  it('shows DRAINING to its watchers, then ends with nothing left open', async () => {
    const engine = await reserve();
    engine.start();
    const running = await Running.start(engine.url, { drainTimeoutMs: 2_000 });
    await running.until(isReady);
    running.askToEnd();
    expect(stateOf(await running.until((report) => !isReady(report)))).toBe(EngineState.DRAINING);
    await running.stop();
    await expect(fetch(running.http)).rejects.toThrow();
  });

  it('adds the topology as soon as it is read, and reads it again at an engine start', async () => {
    const engine = await reserve();
    engine.start();
    let readings = 0;
    const readTopology = async (): Promise<Topology> => {
      readings += 1;
      return Topology.fromPartial({ notes: [`reading ${readings}`] });
    };
    const running = await Running.start(engine.url, {}, { readTopology });
    const first = await running.until((report) => isReady(report) && report.topology !== undefined);
    expect(first.topology?.notes).toEqual(['reading 1']);
    engine.crash();
    engine.start();
    await running.until((report) => report.topology?.notes[0] === 'reading 2');
    await running.stop();
  });

  it('asks an engine only by GETs that are harmless, five in a round', async () => {
    await using engine = await serveRecordings({
      '/v1/models': recording('vllm-0.32.0/models.b32.json'),
      '/version': recording('vllm-0.32.0/version.b32.json'),
      '/metrics': recording('vllm-0.32.0/metrics.b32.txt'),
    });
    const running = await Running.start(engine.url, { probeIntervalMs: 3_600_000 });
    await running.until(isReady);
    await running.stop();
    expect(engine.requests.slice().sort()).toEqual([
      'GET /kv_event_sources',
      'GET /metrics',
      'GET /server_info?config_format=json',
      'GET /v1/models',
      'GET /version',
    ]);
  });

  it('leaves nothing open when one of its ports is taken', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const { sidecar } = make('http://127.0.0.1:9', { httpListen: address(`127.0.0.1:${port}`) });
    await expect(sidecar.start()).rejects.toThrow(ListenError);
    await new Promise((resolve) => taken.close(resolve));
  });
});

describe('a sidecar of several frontends', () => {
  async function startBoth(first: number, second: number): Promise<{ running: Running; urls: string[] }> {
    const both = [await reserve(first), await reserve(second)];
    for (const engine of both) engine.start();
    const urls = both.map((engine) => engine.url);
    const location = fixedLocation(urls.map((httpBaseUrl) => ({ httpBaseUrl })));
    return { running: await Running.start('', {}, { locate: async () => location }), urls };
  }

  it('reports one size and all addresses when they agree', async () => {
    const { running, urls } = await startBoth(32, 32);
    const report = await running.until(isReady);
    expect(report.contract?.tokensPerBlock).toBe(32);
    expect(report.engine?.servingAddresses.map((each) => each.address).sort()).toEqual(urls.sort());
    await running.stop();
  });

  it('reports no size when they differ, and names both with their addresses', async () => {
    const { running, urls } = await startBoth(32, 64);
    const report = await running.until(isReady);
    expect(report.contract?.tokensPerBlock).toBeUndefined();
    expect(report.completeness?.state).toBe(Completeness_State.INCOMPLETE);
    for (const part of [...urls, '32 (engine_metrics', '64 (engine_metrics']) {
      expect(report.completeness?.reasons[0]).toContain(part);
    }
    await running.stop();
  });
});

describe('the HTTP port of a sidecar', () => {
  it('serves the report as JSON, a page for people, and metrics with the documented names', async () => {
    const engine = await reserve();
    engine.start();
    const running = await Running.start(engine.url);
    const report = await running.until(isReady);
    const json = JSON.parse((await running.get('/api/v1/capabilities')).body);
    expect(json).toMatchObject({
      workerId: 'w-1',
      instanceId: report.instanceId,
      contract: { tokensPerBlock: 32 },
    });
    expect((await running.get('/')).body).toContain('uses KV blocks of 32 tokens');
    const metrics = (await running.get('/metrics')).body;
    for (const line of [
      'kv_accord_engine_up 1',
      'kv_accord_report_complete 1',
      'kv_accord_tokens_per_block 32',
      'kv_accord_watchers 1',
      'kv_accord_report_conflicts 0',
    ]) {
      expect(metrics).toContain(`\n${line}\n`);
    }
    expect(metrics).toMatch(
      /\nkv_accord_probe_requests_total\{probe="vllm-metrics",result="answered"\} \d+\n/,
    );
    expect(metrics).toMatch(/\nkv_accord_probe_duration_seconds_count\{probe="vllm-metrics"\} \d+\n/);
    expect(metrics).toMatch(/\nkv_accord_engine_requests_total \d+\n/);
    await running.stop();
  });

  it('has no series for a block size that nobody knows', async () => {
    const engine = await reserve();
    const running = await Running.start(engine.url);
    await running.until((report) => stateOf(report) === EngineState.UNREACHABLE);
    const metrics = (await running.get('/metrics')).body;
    expect(metrics).not.toMatch(/^kv_accord_tokens_per_block /m);
    expect(metrics).toContain('\nkv_accord_engine_up 0\n');
    await running.stop();
  });
});
