import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import { Registry } from 'prom-client';
import { createAggregator } from '../../../src/app/create-aggregator.js';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../../src/core/agreement/state/options.js';
import type { HttpAccess } from '../../../src/edge/http/http-server.js';
import { type Address, parseAddress } from '../../../src/edge/platform/address.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { createLogger } from '../../../src/edge/platform/logger.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import type { DiscoverySource, Endpoint } from '../../../src/fleet/discovery/source.js';
import {
  CapabilitiesService,
  type CapabilityReport,
  LinkKind,
  type WatchCapabilitiesRequest,
  type WatchCapabilitiesResponse,
} from '../../../src/gen/kvaccord/v1/capabilities.js';
import { makeWireReport } from '../../support/reports.js';

type Watch = ServerWritableStream<WatchCapabilitiesRequest, WatchCapabilitiesResponse>;

const ANY_PORT = parseAddress('127.0.0.1:0') as Address;
const HEARTBEAT_MS = 5_000;
/** Workers of two GPUs on one machine. */
const WORKERS_ON_HOST = 4;

/** A name as a worker can have that means harm. */
export const HOSTILE_NAME = '<img src=x onerror=alert(1)><script>alert(2)</script>';

/** A text as an engine can answer that means harm: markup, an escape sequence, characters that turn the line. */
export const HOSTILE_TEXT = '<svg onload=alert(3)>\u202etxt.exe\u2066\u200b\u001b[31m';

/** An aggregator in this process over many sidecars on one port, which say nothing but their reports. */
export class ManyWorkers {
  readonly url: string;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  /**
   * Starts `count` workers of 32 tokens per block, and `outCount` that come when the gate is open and report 16; the
   * first of these has a hostile name. With a token, callers of HTTP must show it.
   */
  static async start(count: number, outCount: number, token?: string): Promise<ManyWorkers> {
    const { port, close: closeSidecars } = await serveReports(count - outCount);
    const endpoints = Array.from(
      { length: count },
      (_, at): Endpoint => ({
        target: `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}:50061`,
        address: `127.0.0.1:${port}`,
      }),
    );
    let list: (endpoints: readonly Endpoint[]) => void = () => {};
    const source: DiscoverySource = {
      name: 'test',
      isStatic: false,
      run: (signal, onList) => {
        list = onList;
        onList(endpoints.slice(0, count - outCount));
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    };
    const { aggregator } = createAggregator(
      {
        agreement: { ...DEFAULT_AGREEMENT_OPTIONS, settleMs: 0 },
        listen: ANY_PORT,
        httpListen: ANY_PORT,
        version: '0.1.0',
      },
      {
        clock: systemClock,
        random: systemRandom,
        logger: await createLogger({ isTerminal: false, level: 'error' }),
        source,
        security: createPlaintextSecurity(),
        ...(token === undefined ? {} : { httpSecurity: { access: asking(token) } }),
        registry: new Registry(),
      },
    );
    const { http } = await aggregator.start();
    const { runner } = aggregator.fleet;
    await new Promise<void>((resolve) => {
      const onView = ({ groups }: typeof runner.view): void => {
        if (groups[0]?.gateOpen === true && groups[0].members.length === count - outCount) resolve();
      };
      runner.listen({ onView });
    });
    list(endpoints);
    return new ManyWorkers(`http://${http.text}/`, async () => {
      await aggregator.stop();
      closeSidecars();
    });
  }

  close(): Promise<void> {
    return this.#close();
  }
}

function asking(token: string): HttpAccess {
  return {
    findCallerProblem: (authorization) =>
      authorization === `Bearer ${token}` ? undefined : 'a bearer token must be shown here',
  };
}

/** One server for all: the first `agreeing` watches are workers of 32. */
async function serveReports(agreeing: number): Promise<{ port: number; close: () => void }> {
  const watches: { readonly call: Watch; readonly report: CapabilityReport }[] = [];
  const server = new Server({ 'grpc.enable_channelz': 0 });
  server.addService(CapabilitiesService, {
    getCapabilities: () => {},
    watchCapabilities: (call: Watch) => {
      const at = watches.length;
      const name = at === agreeing ? HOSTILE_NAME : `worker-${at}`;
      const plain = withTopology(makeWireReport(name, { size: at < agreeing ? 32 : 16 }), at);
      const report = at === agreeing ? withHostileTexts(plain) : plain;
      watches.push({ call, report });
      call.on('error', () => {});
      call.write({ payload: { $case: 'report', value: report }, offerAsked: false });
    },
  });
  const beats = setInterval(() => {
    for (const { call, report } of watches) {
      const { instanceId, revision } = report;
      call.write({
        payload: { $case: 'heartbeat', value: { sentAt: new Date(), instanceId, revision } },
        offerAsked: false,
      });
    }
  }, HEARTBEAT_MS);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    port,
    close: () => {
      clearInterval(beats);
      server.forceShutdown();
    },
  };
}

/** Two GPUs of a machine of eight that are linked with each other. */
function withTopology(report: CapabilityReport, at: number): CapabilityReport {
  const host = Math.floor(at / WORKERS_ON_HOST);
  const first = (at % WORKERS_ON_HOST) * 2;
  const uuid = (index: number): string => `GPU-${host}-${index}`;
  const gpus = [first, first + 1].map((index) => ({
    uuid: uuid(index),
    index,
    productName: 'NVIDIA H100 80GB HBM3',
    memoryBytes: 85_899_345_920n,
    pciBusId: `0000:${index}0:00.0`,
    numaNode: index < 4 ? 0 : 1,
  }));
  const links = gpus.flatMap((gpu) =>
    Array.from({ length: 8 }, (_, index) => uuid(index))
      .filter((other) => other !== gpu.uuid)
      .map((b) => ({ a: gpu.uuid, b, kind: LinkKind.NVLINK, laneCount: 18 })),
  );
  return {
    ...report,
    topology: {
      gpus,
      links,
      nics: [{ name: `mlx5_${first / 2}`, numaNode: first < 4 ? 0 : 1 }],
      numaNodes: [
        { index: 0, cpus: '0-55' },
        { index: 1, cpus: '56-111' },
      ],
      placement: {
        nodeName: `node-${host}`,
        rack: `r${Math.floor(host / 8)}`,
        zone: 'eu-1a',
        topologyDomains: {},
      },
      notes: [],
    },
  };
}

function withHostileTexts(report: CapabilityReport): CapabilityReport {
  return {
    ...report,
    evidence: report.evidence.map((each) => ({ ...each, raw: HOSTILE_TEXT })),
    warnings: [HOSTILE_TEXT],
  };
}
