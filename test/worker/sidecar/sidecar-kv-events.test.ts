import { credentials } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { Fact } from '../../../src/core/contract/evidence/facts.js';
import { type Address, parseAddress } from '../../../src/edge/platform/address.js';
import { HealthCheckResponse_ServingStatus, HealthClient } from '../../../src/gen/grpc/health/v1/health.js';
import {
  CapabilitiesClient,
  type CapabilityReport,
  EngineState,
  EvidenceSource,
  HashUnit,
} from '../../../src/gen/kvaccord/v1/capabilities.js';
import { KvEventsClient, Picture, type SubscribeResponse } from '../../../src/gen/kvaccord/v1/kv_events.js';
import type { SimulatedEngine } from '../../../src/tools/demo/engines/simulated-engine.js';
import { EngineEventReader } from '../../../src/worker/kv-events/engine-event-reader.js';
import { fixedLocation } from '../../../src/worker/sidecar/probing/engine-locator.js';
import { Sidecar } from '../../../src/worker/sidecar/sidecar.js';
import { openVllm, vllmNaming } from '../../support/open-vllm.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { batchOf, FakePublisher, removed, stored } from '../kv-events/support/fake-publisher.js';
import { blockSize, declared } from './support/scripted-probe.js';
import { sidecarModules } from './support/sidecar-modules.js';

type Payload = NonNullable<SubscribeResponse['payload']>;

const FREE_PORT = parseAddress('127.0.0.1:0') as Address;
const OBSERVED = EvidenceSource.OBSERVED_EVENT;

/** What one test has opened; closed in the reverse order. */
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** The messages of a stream, one by one, those before the wanted one passed over. */
class Stream<Message> {
  readonly #messages: AsyncIterator<Message>;

  constructor(call: AsyncIterable<Message>) {
    this.#messages = call[Symbol.asyncIterator]();
  }

  async until<Wanted>(pick: (message: Message) => Wanted | undefined): Promise<Wanted> {
    for (;;) {
      const { value, done } = await this.#messages.next();
      if (done === true) throw new Error('the stream is over');
      const picked = pick(value);
      if (picked !== undefined) return picked;
    }
  }

  /** Resolves when the stream has ended in order. */
  async end(): Promise<void> {
    while ((await this.#messages.next()).done !== true);
  }
}

/** A vLLM with a publisher, a real sidecar beside it, and a client that watches both of its services. */
class Pod {
  readonly engine: SimulatedEngine;
  /** Whether the engine, from its next start on, says where it publishes. */
  readonly publishing: { isOn: boolean };
  readonly publisher: FakePublisher;
  readonly logger = new RecordingLogger();
  readonly stop: AbortController = new AbortController();
  readonly ended: Promise<void>;
  readonly reports: Stream<CapabilityReport | undefined>;
  readonly grpc: string;
  readonly http: string;

  /** `size` is what the engine says, its events have 4. */
  static async start(
    size: number,
    declaredFacts: readonly Fact[] = [],
    probeIntervalMs = 20,
    isAsked = true,
  ): Promise<Pod> {
    const publisher = await FakePublisher.start();
    open.push(() => publisher.stop());
    const { endpoint, topic, replayEndpoint } = publisher.source;
    // As vLLM reports it where its publisher binds: the host is everybody's.
    const bound = endpoint.replace('127.0.0.1', '*');
    const named = { '0': { publisher: 'zmq', endpoint: bound, topic, replay_endpoint: replayEndpoint } };
    const publishing = { isOn: true };
    const engine = await openVllm(
      size,
      vllmNaming(() => (publishing.isOn ? named : {})),
    );
    engine.start();
    open.push(() => engine.close());
    const logger = new RecordingLogger();
    const sidecar = new Sidecar(
      {
        version: '1.2.3',
        workerId: 'w-1',
        listen: FREE_PORT,
        httpListen: FREE_PORT,
        declaredFacts,
        probeIntervalMs,
      },
      {
        ...sidecarModules(),
        logger,
        locate: async () => (isAsked ? fixedLocation([{ httpBaseUrl: engine.url }]) : { type: 'none' }),
        eventReading: {
          settings: isAsked ? { from: 'engine' } : { from: 'operator', sources: [publisher.source] },
          loadReader: async (modules) => new EngineEventReader({}, modules),
        },
      },
    );
    const { grpc, http } = await sidecar.start();
    return new Pod({
      engine,
      publishing,
      publisher,
      logger,
      sidecar,
      grpc: grpc.text,
      http: `http://${http.text}`,
    });
  }

  private constructor(parts: {
    readonly engine: SimulatedEngine;
    readonly publishing: { isOn: boolean };
    readonly publisher: FakePublisher;
    readonly logger: RecordingLogger;
    readonly sidecar: Sidecar;
    readonly grpc: string;
    readonly http: string;
  }) {
    this.engine = parts.engine;
    this.publishing = parts.publishing;
    this.publisher = parts.publisher;
    this.logger = parts.logger;
    this.grpc = parts.grpc;
    this.http = parts.http;
    this.ended = parts.sidecar.run(this.stop.signal);
    open.push(() => {
      this.stop.abort();
      return this.ended;
    });
    const client = new CapabilitiesClient(this.grpc, credentials.createInsecure());
    open.push(() => client.close());
    const watch = client.watchCapabilities({ lastInstanceId: '', lastRevision: 0n, frontendId: '' });
    watch.on('error', () => undefined);
    this.reports = new Stream(reportsOf(watch));
  }

  subscribe(resumeStreamId = '', resumeSequence = 0n): Stream<SubscribeResponse> {
    const client = new KvEventsClient(this.grpc, credentials.createInsecure());
    open.push(() => client.close());
    return new Stream(client.subscribe({ resumeStreamId, resumeSequence, tokensPerBlock: 0 }));
  }

  /** The next report whose block size events prove. */
  proven(size = 4): Promise<CapabilityReport> {
    return this.reports.until((report) =>
      report?.contract?.tokensPerBlock === size && sourceOfSize(report) === OBSERVED ? report : undefined,
    );
  }

  async get(path: string): Promise<string> {
    const response = await fetch(`${this.http}${path}`, { headers: { connection: 'close' } });
    return response.text();
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

async function* reportsOf(
  watch: AsyncIterable<{
    readonly payload?: { readonly $case: string; readonly value: unknown } | undefined;
  }>,
): AsyncGenerator<CapabilityReport | undefined> {
  for await (const { payload } of watch) {
    yield payload?.$case === 'report' ? (payload.value as CapabilityReport) : undefined;
  }
}

function sourceOfSize({ evidence }: CapabilityReport): EvidenceSource | undefined {
  return evidence.find(({ field }) => field === 'contract.tokens_per_block')?.source;
}

type ValueOf<Case> = Extract<Payload, { $case: Case }>['value'];

/** Picks the message of one kind. */
function of<Case extends Payload['$case']>(
  wanted: Case,
): (message: SubscribeResponse) => ValueOf<Case> | undefined {
  return ({ payload }) => (payload?.$case === wanted ? (payload.value as ValueOf<Case>) : undefined);
}

/** One block of so many tokens. */
function storedOf(width: number): object {
  const tokenIds = Array.from({ length: width }, (_, at) => at);
  return { ...stored(1), token_ids: tokenIds, block_size: width };
}

describe('a sidecar that asks no engine', () => {
  const model: Fact = {
    type: 'field',
    field: 'model.served_names',
    value: ['tiny'],
    evidence: {
      source: EvidenceSource.DECLARED,
      origin: '--model',
      raw: 'tiny',
      observedAtMs: 0,
    },
  };

  it.each([4, 8])(
    'reports another instance when the publisher restarted, with blocks of %i',
    async (size) => {
      const pod = await Pod.start(4, [model], 60_000, false);
      await pod.publisher.publish(batchOf(stored(1)));
      const first = await pod.proven();
      pod.publisher.stop();
      await pod.publisher.comeBack({ isNewProcess: true });
      await pod.publisher.publish(batchOf(storedOf(size)));
      const second = await pod.reports.until((report) =>
        report?.instanceId !== first.instanceId && report?.contract?.tokensPerBlock === size
          ? report
          : undefined,
      );
      expect(second.completeness?.reasons).toEqual([]);
      expect(second.conflicts).toEqual([]);
      expect(pod.logger.messages('info').join()).toContain('its KV events restarted');
    },
  );
});

describe('a sidecar of an engine that publishes KV events', () => {
  it('has its block size proven by the first event, and says what the engine holds, then each change', async () => {
    const pod = await Pod.start(4);
    await pod.publisher.publish(batchOf(stored(1), stored(2, 1)));
    const report = await pod.proven();
    expect(report.contract?.hashUnit).toBe(HashUnit.TOKEN);
    expect(report.conflicts).toEqual([]);
    expect(await pod.health('kvaccord.v1.KvEvents')).toBe(HealthCheckResponse_ServingStatus.SERVING);

    const stream = pod.subscribe();
    const start = await stream.until((message) => {
      const value = of('start')(message);
      return value?.ranks[0]?.picture === Picture.EXACT ? value : undefined;
    });
    expect(start).toMatchObject({ workerId: 'w-1', instanceId: report.instanceId });
    const part = await stream.until(of('snapshotPart'));
    expect(part.tokensPerBlock).toBe(4);
    expect(part.sequenceHashes).toHaveLength(16);
    await stream.until(of('snapshotEnd'));
    await pod.publisher.publish(batchOf(stored(3, 2), removed(2)));
    const { changes } = await stream.until(of('changes'));
    expect(changes.map(({ change }) => change?.$case)).toEqual(['stored', 'removed']);

    const lines = pod.logger.messages('info').filter((line) => /Tokens per block|uses KV blocks/.test(line));
    expect(lines).toEqual([
      expect.stringContaining('uses KV blocks of 4 tokens (engine_metrics'),
      expect.stringMatching(/^Tokens per block 4 proven by KV events of tcp:\/\/127\.0\.0\.1:\d+: .+\.$/),
    ]);
  });

  it('reports the same over HTTP, and counts it', async () => {
    const pod = await Pod.start(4);
    await pod.publisher.publish(batchOf(stored(1)));
    await pod.proven();
    const stream = pod.subscribe();
    await stream.until(of('snapshotEnd'));
    // Heard live, and not given again by a replay: only such a one has a lag.
    await pod.publisher.publish(batchOf(stored(2, 1)));
    await stream.until(of('changes'));
    const events = JSON.parse(await pod.get('/api/v1/kv-events'));
    expect(events).toMatchObject({
      reason: '',
      sources: [{ rank: 0, endpoint: pod.publisher.endpoint, topic: 'kv-events' }],
      ranks: [{ rank: 0, blockCount: 2 }],
    });
    expect(await pod.get('/')).toContain(pod.publisher.endpoint);
    const metrics = await pod.get('/metrics');
    expect(metrics).toMatch(/\nkv_accord_kv_events_total\{type="stored",result="applied"\} 2\n/);
    expect(metrics).toMatch(/\nkv_accord_kv_blocks\{rank="0"\} 2\n/);
    expect(metrics).toMatch(/\nkv_accord_kv_picture\{rank="0",picture="\w+"\} 1\n/);
    expect(metrics).toMatch(/\nkv_accord_kv_event_lag_seconds_bucket\{le="\+Inf"\} [1-9]\n/);
    expect(metrics).toMatch(/\nkv_accord_kv_event_lag_seconds_count [1-9]\n/);
    expect(metrics).toMatch(/\nkv_accord_kv_gaps_total\{outcome="replayed"\} \d\n/);
    expect(metrics).toMatch(/\nkv_accord_kv_event_subscribers 1\n/);
  });

  it('names the declared value that its events contradict', async () => {
    const pod = await Pod.start(4, [declared(blockSize(16, '--tokens-per-block'))]);
    await pod.publisher.publish(batchOf(stored(1)));
    const report = await pod.proven();
    expect(report.conflicts).toMatchObject([
      { keptValue: '4', keptSource: OBSERVED, otherValue: '16', otherOrigin: '--tokens-per-block' },
    ]);
    const warning = report.warnings.find((each) => each.includes('the engine uses a block size of 4 tokens'));
    expect(warning).toContain('--tokens-per-block (declared) says 16; correct it there');
    expect(
      pod.logger.messages('warn').filter((line) => line.includes('the engine uses a block size of 4')),
    ).toHaveLength(1);
  });

  it('believes no size of an engine whose events show two, and says which', async () => {
    const pod = await Pod.start(4);
    await pod.publisher.publish(batchOf(stored(1)));
    await pod.proven();
    await pod.publisher.publish(batchOf({ ...stored(9), block_size: 2, token_ids: [1, 2] }));
    const report = await pod.reports.until((each) =>
      each?.contract?.tokensPerBlock === undefined ? each : undefined,
    );
    expect(report.completeness?.reasons[0]).toMatch(/differ .* 4 \(observed_event.* and 2 \(observed_event/);
  });

  it('restarts with the engine: what events of the last start proved is forgotten', async () => {
    const pod = await Pod.start(8);
    await pod.publisher.publish(batchOf(stored(1)));
    const before = await pod.proven();
    const stream = pod.subscribe();
    await stream.until(of('snapshotEnd'));

    pod.engine.crash();
    pod.publisher.stop();
    await pod.publisher.comeBack({ isNewProcess: true });
    pod.engine.start();
    const after = await pod.reports.until((report) =>
      report?.instanceId !== before.instanceId && report?.engine?.state === EngineState.READY
        ? report
        : undefined,
    );
    expect(after.contract?.tokensPerBlock).toBe(8);
    expect(sourceOfSize(after)).toBe(EvidenceSource.ENGINE_METRICS);
    await stream.until((message) =>
      of('start')(message)?.instanceId === after.instanceId ? true : undefined,
    );

    await pod.publisher.publish(batchOf(stored(5)));
    expect((await pod.proven()).instanceId).toBe(after.instanceId);
  });

  it('asks immediately about an engine whose events break off, however long the next look is away', async () => {
    const anHourMs = 3_600_000;
    const pod = await Pod.start(4, [], anHourMs);
    await pod.publisher.publish(batchOf(stored(1)));
    await pod.proven();
    pod.engine.crash();
    pod.publisher.stop();
    await pod.reports.until((report) =>
      report?.engine?.state === EngineState.UNREACHABLE ? true : undefined,
    );
  });

  it('ends its subscribers in order and closes every socket', async () => {
    const pod = await Pod.start(4);
    const stream = pod.subscribe();
    await stream.until(of('snapshotEnd'));
    pod.stop.abort();
    await stream.end();
    await pod.ended;
    await expect(fetch(pod.http)).rejects.toThrow();
  });

  it('keeps subscribers of an engine without events, and informs them as soon as it has some', async () => {
    const pod = await Pod.start(4);
    pod.engine.crash();
    pod.publishing.isOn = false;
    pod.engine.start();
    const stream = pod.subscribe();
    const silent = await stream.until((message) => {
      const start = of('start')(message);
      return start?.reason.includes('names no source') ? start : undefined;
    });
    expect(silent.ranks).toEqual([]);
    expect(silent.reason).toContain('--kv-events-config');
    expect(await pod.health('kvaccord.v1.KvEvents')).toBe(HealthCheckResponse_ServingStatus.NOT_SERVING);
    pod.engine.crash();
    pod.publishing.isOn = true;
    pod.engine.start();
    await stream.until((message) => ((of('start')(message)?.ranks.length ?? 0) > 0 ? true : undefined));
  });
});
