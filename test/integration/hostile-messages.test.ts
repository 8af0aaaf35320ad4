import { Server, ServerCredentials, type ServerWritableStream, type ServiceDefinition } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/edge/platform/address.js';
import { systemClock } from '../../src/edge/platform/clock.js';
import { RpcDialer } from '../../src/edge/rpc/channel.js';
import { createPlaintextSecurity } from '../../src/edge/security/security.js';
import { RemoteAgreement, SILENCE_LIMIT_MS } from '../../src/fleet/aggregator/remote-agreement.js';
import { listWorkers } from '../../src/fleet/aggregator/service/fleet-service.js';
import { HealthCheckRequest, HealthService } from '../../src/gen/grpc/health/v1/health.js';
import {
  ServerReflectionRequest,
  ServerReflectionService,
} from '../../src/gen/grpc/reflection/v1/reflection.js';
import { ServerReflectionService as AlphaReflectionService } from '../../src/gen/grpc/reflection/v1alpha/reflection.js';
import {
  CapabilitiesService,
  CapabilityReport,
  CheckSideChannelRequest,
  ReportOfferRequest,
  WatchCapabilitiesRequest,
  WatchCapabilitiesResponse,
} from '../../src/gen/kvaccord/v1/capabilities.js';
import {
  Agreement,
  AgreementState,
  FleetService,
  GetAgreementRequest,
  ListPairsRequest,
  ListWorkersRequest,
  WatchAgreementRequest,
  WatchAgreementResponse,
  WatchPairsRequest,
} from '../../src/gen/kvaccord/v1/fleet.js';
import {
  DumpRequest,
  FindMatchesRequest,
  IndexerService,
  RecordDecisionRequest,
} from '../../src/gen/kvaccord/v1/indexer.js';
import { KvEventsService, SubscribeRequest, SubscribeResponse } from '../../src/gen/kvaccord/v1/kv_events.js';
import {
  AttachRequest,
  ListResultsRequest,
  PrefillDoneRequest,
  ProgressRequest,
  ReleaseRequest,
  ReservePairRequest,
  ReserveRequest,
  RouterService,
  SelectPairRequest,
  SelectWorkerRequest,
} from '../../src/gen/kvaccord/v1/router.js';
import {
  ENCODED_KV_EVENTS_SERVICE,
  KvEventsEndpoint,
} from '../../src/worker/sidecar/kv-events/kv-events-service.js';
import { CapabilitiesEndpoint } from '../../src/worker/sidecar/report/capabilities-service.js';
import { OfferBoard } from '../../src/worker/sidecar/report/offer-board.js';
import { ReportStore } from '../../src/worker/sidecar/report/report-store.js';
import { SideChannelChecks } from '../../src/worker/sidecar/transfer/side-channel-checks.js';
import { createTestServer } from '../edge/rpc/rpc-test-server.js';
import type { AggregatorHarness } from '../support/aggregator-harness.js';
import { Changes } from '../support/changes.js';
import { fuzzService } from '../support/fuzz-service.js';
import { say } from '../support/kv-events.js';
import { OpenThings } from '../support/open-things.js';
import { propertyRuns } from '../support/property-runs.js';
import { RecordingLogger } from '../support/recording-logger.js';
import { makeWireReport } from '../support/reports.js';
import { mutatedMessages } from '../support/wire-mutation.js';
import { exactRank, FakeEventReader } from '../worker/sidecar/support/fake-event-reader.js';
import { readyView } from '../worker/sidecar/support/views.js';

const open = new OpenThings();
afterEach(() => open.close());

/** Requests that each method of a server is sent. */
const REQUESTS = propertyRuns(30);

/** Lines that say that a fault of this program was met: hostile messages meet none. */
function faultsIn(logger: RecordingLogger): unknown[] {
  return logger.lines.filter(({ message }) =>
    /fault of (our own|this program)|A part of this program/.test(message),
  );
}

const prompt = {
  form: { $case: 'tokenIds' as const, value: { ids: Array.from({ length: 70 }, (_, at) => at) } },
  loraName: 'adapter',
  cacheSalt: 'salt',
};

const HEALTH = { check: [], list: [], watch: [] };
const health = [HealthCheckRequest.encode({ service: 'kvaccord.v1.Fleet' }).finish()];
const REFLECTION = {
  serverReflectionInfo: [
    ServerReflectionRequest.encode({
      host: 'h',
      messageRequest: { $case: 'fileContainingSymbol', value: 'kvaccord.v1.Fleet' },
    }).finish(),
    ServerReflectionRequest.encode({
      host: 'h',
      messageRequest: {
        $case: 'fileContainingExtension',
        value: { containingType: 'kvaccord.v1.Agreement', extensionNumber: 7 },
      },
    }).finish(),
  ],
};

/** The services that every server of this program has. */
async function fuzzCommonServices(address: string): Promise<void> {
  const samples = Object.fromEntries(Object.keys(HEALTH).map((name) => [name, health]));
  await fuzzService(address, HealthService, samples, REQUESTS);
  await fuzzService(address, ServerReflectionService, REFLECTION, REQUESTS);
  await fuzzService(address, AlphaReflectionService, REFLECTION, REQUESTS);
}

describe('the servers of an aggregator', () => {
  it('answer or refuse every mutation of every request, and go on', async () => {
    const sidecar = await open.sidecar(
      'w-1',
      {},
      { kvEvents: () => [say.start(), say.part([1, 2]), say.end()] },
    );
    const harness = await open.aggregator([sidecar]);
    await harness.untilGate(true);
    const { grpc } = harness;
    const target = sidecar.address;
    await fuzzService(
      grpc,
      FleetService,
      {
        getAgreement: [GetAgreementRequest.encode({ group: 'tiny' }).finish()],
        watchAgreement: [WatchAgreementRequest.encode({ group: 'tiny' }).finish()],
        listWorkers: [ListWorkersRequest.encode({ group: 'tiny', pageToken: 'a' }).finish()],
        listPairs: [
          ListPairsRequest.encode({
            group: 'tiny',
            prefillTarget: 'x',
            decodeTarget: 'y',
            pageToken: 'a',
          }).finish(),
        ],
        watchPairs: [WatchPairsRequest.encode({ group: 'tiny' }).finish()],
      },
      REQUESTS,
    );
    await fuzzService(
      grpc,
      IndexerService,
      {
        findMatches: [FindMatchesRequest.encode({ group: 'tiny', prompt }).finish()],
        dump: [DumpRequest.encode({ group: 'tiny' }).finish()],
        recordDecision: [
          RecordDecisionRequest.encode({ group: 'tiny', prompt, target, dataParallelRank: 1 }).finish(),
        ],
      },
      REQUESTS,
    );
    const reservationId = 'a';
    await fuzzService(
      grpc,
      RouterService,
      {
        selectWorker: [
          SelectWorkerRequest.encode({ group: 'tiny', prompt, excludedTargets: ['x'] }).finish(),
        ],
        reserve: [
          ReserveRequest.encode({ group: 'tiny', prompt, excludedTargets: ['x'], leaseSeconds: 5 }).finish(),
        ],
        selectPair: [
          SelectPairRequest.encode({
            group: 'tiny',
            prompt,
            excludedTargets: ['x'],
            transferProtocols: ['nixl'],
          }).finish(),
        ],
        reservePair: [
          ReservePairRequest.encode({
            request: { group: 'tiny', prompt, excludedTargets: ['x'] },
            unsplit: true,
            transferProtocols: ['nixl'],
          }).finish(),
        ],
        prefillDone: [PrefillDoneRequest.encode({ reservationId }).finish()],
        progress: [ProgressRequest.encode({ reservationId, outputTokens: 7 }).finish()],
        release: [ReleaseRequest.encode({ reservationId, promptTokens: 7, cachedTokens: 3 }).finish()],
        listResults: [ListResultsRequest.encode({ group: 'tiny' }).finish()],
        attach: [
          AttachRequest.encode({
            events: [
              {
                routeId: 1,
                event: { $case: 'reserve', value: { group: 'tiny', prompt, excludedTargets: ['x'] } },
              },
              { routeId: 1, event: { $case: 'outputTokens', value: 7 } },
              { routeId: 1, event: { $case: 'release', value: { promptTokens: 7, cachedTokens: 3 } } },
            ],
            failures: [
              { group: 'tiny', target: 'x', instanceId: 'i', fault: { kind: 'cut', detail: 'reset' } },
            ],
          }).finish(),
        ],
      },
      REQUESTS,
    );
    await fuzzCommonServices(grpc);
    expect(faultsIn(harness.logger)).toEqual([]);
    expect((await fetch(`${harness.http}/metrics`)).status).toBe(200);
  }, 120_000);
});

describe('the servers of a sidecar', () => {
  it('answer or refuse every mutation of every request, and go on', async () => {
    const store = new ReportStore(
      { workerId: 'w-1', sidecarVersion: '1.2.3' },
      { clock: systemClock, view: readyView() },
    );
    const relay = new FakeEventReader();
    relay.ranks = [exactRank()];
    const { server, logger } = createTestServer();
    server.addService(CapabilitiesService, {
      ...new CapabilitiesEndpoint(
        {},
        {
          store,
          offers: new OfferBoard({ clock: systemClock }),
          sideChannels: new SideChannelChecks({ clock: systemClock }),
        },
      ).createHandlers(server.edge),
    });
    const events = new KvEventsEndpoint(
      { workerId: 'w-1' },
      { events: { open: (_size, position, onReadable) => relay.open(position, onReadable) }, store },
    );
    server.addService(ENCODED_KV_EVENTS_SERVICE, { ...events.createHandlers(server.edge) });
    const { text } = await server.start();
    const watch = { lastInstanceId: 'i-1', lastRevision: 7n, frontendId: '' };
    await fuzzService(
      text,
      CapabilitiesService,
      {
        getCapabilities: [Buffer.alloc(0)],
        // A port that the sidecar refuses, so that no mutation of it makes a connection somewhere.
        checkSideChannel: [CheckSideChannelRequest.encode({ address: '127.0.0.1:9' }).finish()],
        reportOffer: [
          ReportOfferRequest.encode({ frontendId: 'f', instanceId: 'i-1', offer: 2, reason: 'why' }).finish(),
        ],
        watchCapabilities: [WatchCapabilitiesRequest.encode(watch).finish()],
      },
      REQUESTS,
    );
    const subscribe = SubscribeRequest.encode({
      resumeStreamId: 's-1',
      resumeSequence: 7n,
      tokensPerBlock: 0,
    }).finish();
    await fuzzService(text, KvEventsService, { subscribe: [subscribe] }, REQUESTS);
    await fuzzCommonServices(text);
    expect(faultsIn(logger)).toEqual([]);
  }, 120_000);
});

/** Everything that a report can say, so that every field of it is mutated. */
function fullReport(workerId: string): CapabilityReport {
  const plain = makeWireReport(workerId, { declares: 16 });
  return CapabilityReport.fromPartial({
    ...plain,
    engine: {
      ...plain.engine,
      servingAddresses: [{ protocol: 1, address: '127.0.0.1:8000' }],
      role: 1,
    },
    model: { servedNames: ['tiny'], root: '/m', revision: 'r', maxModelLen: 2048, loraAdapters: ['a'] },
    blockSizes: [{ kind: 1, sizeTokens: 32, groupIndex: 0, attentionKind: 'full', slidingWindowTokens: 4 }],
    parallelism: { tensorParallelSize: 2, dataParallelRank: 0 },
    capacity: { kvTiers: ['gpu'], totalKvBlocks: 64n },
    kvEventSources: [
      {
        dataParallelRank: 0,
        transport: 'zmq',
        endpoint: 'tcp://127.0.0.1:5557',
        topic: '',
        replayEndpoint: 'tcp://127.0.0.1:5558',
      },
    ],
    topology: {
      gpus: [{ index: 0, uuid: 'GPU-1', productName: 'H100', memoryBytes: 80n }],
      links: [{}],
      nics: [{ name: 'mlx5_0' }],
      numaNodes: [{}],
      placement: { topologyDomains: { zone: 'a' } },
      notes: ['n'],
    },
    warnings: ['w'],
    probes: [{ probe: 'p', origin: 'o', error: 'e' }],
  });
}

const encodeEvents = (message: SubscribeResponse): Uint8Array => SubscribeResponse.encode(message).finish();

const EVENTS: readonly SubscribeResponse[] = [
  say.start({ instance: 'bad-1', ranks: [1, 2] }),
  say.part([5, 6]),
  say.end(),
  say.stored(1, [7, 8]),
  say.removed(2, [7]),
  say.cleared(3),
  say.rank(2, 'why'),
];

/** A batch that was published at a second that JavaScript's dates do not have. */
function publishedAt(seconds: bigint): Buffer {
  const bytes = Buffer.from(encodeEvents(say.stored(1, [9])));
  const varint = (value: bigint): number[] =>
    value < 0x80n ? [Number(value)] : [Number(value & 0x7fn) | 0x80, ...varint(value >> 7n)];
  // `changes` is the last field of the message: its length grows by that of engine_published_at (field 4).
  const timestamp = Buffer.from([0x08, ...varint(seconds)]);
  const field = Buffer.from([0x22, timestamp.length, ...timestamp]);
  const inner = bytes.subarray(2);
  return Buffer.concat([
    Buffer.from([bytes[0] ?? 0, ...varint(BigInt(inner.length + field.length))]),
    inner,
    field,
  ]);
}

/** Everything that is made of what workers say is asked for once. */
async function readAll(harness: AggregatorHarness): Promise<void> {
  for (const path of ['/metrics', '/', '/readyz?verbose', '/api/v1/agreements', '/api/v1/workers']) {
    const answer = await fetch(`${harness.http}${path}`);
    expect([200, 503]).toContain(answer.status);
    await answer.text();
  }
  const { runner } = harness.aggregator.fleet;
  listWorkers(runner, { group: '', pageToken: '' });
}

describe('an aggregator of which one worker is hostile', () => {
  it.each([8_640_000_000_001n, 2n ** 63n - 1n, 2n ** 63n])(
    'goes on when a batch was published at the second %s, and ends that stream with a reason',
    async (seconds) => {
      const good = await open.sidecar('good');
      const bad = await open.sidecar(
        'bad',
        {},
        {
          kvEvents: () => [say.start({ instance: 'bad-1' }), say.end()],
        },
      );
      const harness = await open.aggregator([good, bad]);
      await harness.untilGate(true);
      await harness.untilView(({ groups }) =>
        (groups[0]?.members ?? []).some(({ cacheView }) => cacheView === 'exact'),
      );
      bad.sendEventBytes(publishedAt(seconds));
      await harness.untilView(({ groups }) =>
        (groups[0]?.members ?? []).some(({ cacheViewReason }) =>
          cacheViewReason.includes('engine_published_at'),
        ),
      );
      const metrics = await (await fetch(`${harness.http}/metrics`)).text();
      expect(metrics).toContain('kv_accord_kv_events_streams_refused_total{cause="message"} 1');
      expect(metrics).toContain('kv_accord_kv_event_lag_seconds_count 0');
      expect(metrics).toContain('kv_accord_gate_open{group="tiny"} 1');
      expect(faultsIn(harness.logger)).toEqual([]);
    },
  );

  it('offers the others as before, whatever its reports and events are', async () => {
    const good = await open.sidecar(
      'good',
      {},
      { kvEvents: () => [say.start({ instance: 'good-1' }), say.end()] },
    );
    const hostile = await Promise.all(
      Array.from({ length: 24 }, (_, at) => open.sidecar(`bad-${at}`, {}, { kvEvents: () => [] })),
    );
    const harness = await open.aggregator([good, ...hostile], {
      onMissing: 'proceed',
      collectTimeoutMs: 500,
    });
    await harness.untilGate(true);
    const reports = fc.sample(
      mutatedMessages([
        WatchCapabilitiesResponse.encode({
          payload: { $case: 'report', value: fullReport('bad') },
          offerAsked: true,
        }).finish(),
        WatchCapabilitiesResponse.encode({
          payload: { $case: 'heartbeat', value: { sentAt: new Date(0), instanceId: 'i', revision: 1n } },
          offerAsked: true,
        }).finish(),
      ]),
      24 * 10,
    );
    const events = fc.sample(mutatedMessages(EVENTS.map(encodeEvents)), 24 * 10);
    for (let round = 0; round < 10; round += 1) {
      for (const [at, sidecar] of hostile.entries()) {
        sidecar.sendBytes(reports[24 * round + at] as Buffer);
        sidecar.sendEventBytes(events[24 * round + at] as Buffer);
      }
      await readAll(harness);
    }
    const { groups } = harness.aggregator.fleet.runner.view;
    const member = groups.flatMap(({ members }) => members).find(({ target }) => target === good.address);
    expect([member?.offer, member?.tokensPerBlock]).toEqual(['full', 32]);
    expect(faultsIn(harness.logger)).toEqual([]);
  }, 60_000);

  it('takes or refuses every mutation of a report, and can tell of all of them', async () => {
    const harness = await open.aggregator([await open.sidecar('good')]);
    await harness.untilGate(true);
    const { runner } = harness.aggregator.fleet;
    const good = runner.view.groups[0]?.members[0]?.target ?? '';
    const targets = Array.from({ length: 50 }, (_, at) => `bad-${at}`);
    const mutated = fc.sample(
      mutatedMessages([CapabilityReport.encode(fullReport('bad')).finish()]),
      propertyRuns(500),
    );
    for (let from = 0; from < mutated.length; from += targets.length) {
      runner.listed([{ target: good }, ...targets.map((target) => ({ target }))]);
      for (const [at, target] of targets.entries()) {
        const report = decoded(mutated[from + at] as Buffer);
        if (report !== undefined) runner.reported(target, report);
      }
      runner.listed([{ target: good }]);
      if (from % 500 === 0) await readAll(harness);
    }
    expect(faultsIn(harness.logger)).toEqual([]);
  }, 60_000);
});

function decoded(bytes: Buffer): CapabilityReport | undefined {
  try {
    return CapabilityReport.decode(bytes);
  } catch {
    return undefined; // The session refuses it before any reader sees it.
  }
}

describe('who follows an aggregator', () => {
  it('takes or refuses every mutation of what it says, and goes on', async () => {
    const samples = [
      WatchAgreementResponse.encode({
        payload: {
          $case: 'agreement',
          value: Agreement.fromPartial({
            group: 'tiny',
            state: AgreementState.AGREED,
            epoch: 1n,
            gateOpen: true,
            contract: { tokensPerBlock: 32, digest: 'd' },
            reasons: [{ code: 'settling', text: 'why' }],
            members: [{ target: 'w-1', workerId: 'w', instanceId: 'i', tokensPerBlock: 32 }],
            memberCount: 1,
            changedAt: new Date(0),
          }),
        },
      }).finish(),
    ];
    const messages = fc.sample(mutatedMessages(samples), propertyRuns(200));
    const asBytes = {
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    };
    const service: ServiceDefinition = { watchAgreement: { ...FleetService.watchAgreement, ...asBytes } };
    const server = new Server();
    const changes = new Changes();
    let said = 0;
    server.addService(service, {
      // Each attempt gets the next of them, until one is refused.
      watchAgreement: (call: ServerWritableStream<WatchAgreementRequest, Buffer>) => {
        const next = messages[said];
        said += 1;
        changes.notify();
        if (next !== undefined) call.write(next, () => call.end());
      },
    });
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    open.add(() => server.forceShutdown());
    const address = parseAddress(`127.0.0.1:${port}`) as NonNullable<ReturnType<typeof parseAddress>>;
    const logger = new RecordingLogger();
    // No pause between two attempts.
    const clock = {
      ...systemClock,
      setTimer: (delayMs: number, run: () => void) =>
        systemClock.setTimer(delayMs === SILENCE_LIMIT_MS ? delayMs : 0, run),
    };
    const follow = new RemoteAgreement(
      { address, group: '' },
      {
        clock,
        logger,
        random: { fraction: () => 0, uniqueId: () => '0' },
        dialer: new RpcDialer({}, { clock: systemClock, security: createPlaintextSecurity() }),
      },
    );
    open.add(() => follow.close());
    follow.watch(() => {
      for (const agreement of follow.agreements) {
        JSON.stringify(Agreement.toJSON(agreement));
        Agreement.encode(agreement).finish();
      }
    });
    follow.start();
    await changes.until(() => said > messages.length);
    expect(faultsIn(logger)).toEqual([]);
  }, 60_000);
});
