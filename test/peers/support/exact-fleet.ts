import { Subscriber } from 'zeromq';
import { probe, type Served, type ServedFrontend, startFrontend, startSidecar } from './kv-accord.js';
import type { RunningProgram } from './program.js';
import { until } from './until.js';

/** An engine that a fleet is made of. */
interface Engine {
  readonly program: RunningProgram;
  readonly url: string;
  readonly ports: { readonly zmq: number };
}

/** Flags beside those that every fleet has. */
export interface FleetFlags {
  /** Of each sidecar, in the order of the engines. */
  readonly sidecars?: readonly (readonly string[])[];
  readonly frontend?: readonly string[];
}

/** Two of an engine, their sidecars, and a frontend over them. */
export interface ExactFleet {
  readonly engines: readonly Engine[];
  readonly sidecars: readonly Served[];
  readonly frontend: ServedFrontend;
  /** Resolves when everything that the engines have published is in the frontend's index. */
  readonly settled: () => Promise<void>;
  /** Stops sidecars and frontend. */
  readonly stopOwn: () => Promise<void>;
}

const LOOK_MS = 20;
/** Looks in which nothing may change: an engine publishes what a request stored within a step of its answer. */
const QUIET_LOOKS = 2;

/** Starts sidecars, each with its own flags, and a frontend. */
export async function startExactFleet(
  engines: readonly Engine[],
  { sidecars: sidecarFlags = [], frontend: frontendFlags = [] }: FleetFlags = {},
): Promise<ExactFleet> {
  const publishers = engines.map(({ ports }) => new Publisher(ports.zmq));
  const sidecars = await Promise.all(
    engines.map(({ url }, i) => startSidecar(`worker-${i}`, '--engine', url, ...(sidecarFlags[i] ?? []))),
  );
  // An engine on half a core takes its time.
  const slowEngine = ['--tokenize-timeout', '30s'];
  const frontend = await startFrontend(
    'frontend',
    sidecars,
    ...['--decision-headers', ...slowEngine, ...frontendFlags],
  );
  const needs = [frontend.program, ...engines.map(({ program }) => program)];
  const settled = async (): Promise<void> => {
    let last = '';
    let quiet = 0;
    await until(
      'all that was published to be in the index',
      async () => {
        const published = publishers.map(({ lastSequence }) => lastSequence);
        const read = await Promise.all(sidecars.map(engineSequenceOf));
        // In any order: a test may give a sidecar the events of another's engine.
        const isRead = published.every((sequence) => sequence === undefined || read.includes(sequence));
        const now = JSON.stringify([published, read, await eventCounts(frontend)]);
        quiet = isRead && now === last ? quiet + 1 : 0;
        last = now;
        return quiet >= QUIET_LOOKS;
      },
      { pollMs: LOOK_MS, needs },
    );
  };
  const stopOwn = async (): Promise<void> => {
    for (const publisher of publishers) publisher.close();
    for (const { program } of [frontend, ...sidecars]) await program.stop();
  };
  return { engines, sidecars, frontend, settled, stopOwn };
}

/** Whether the cache view of every worker is exact: of an engine that has published nothing it is not. */
export async function routesExactly(frontend: Served): Promise<boolean> {
  const { body } = await probe(frontend, '/metrics');
  return /^kv_accord_routing_mode\{[^}]*mode="exact"[^}]*\} 1$/m.test(body);
}

/** The number of the last batch that an engine has published, read beside the product. */
class Publisher {
  lastSequence: number | undefined;
  readonly #socket = new Subscriber({ linger: 0 });

  constructor(zmqPort: number) {
    this.#socket.subscribe();
    this.#socket.connect(`tcp://127.0.0.1:${zmqPort}`);
    void this.#read();
  }

  close(): void {
    this.#socket.close();
  }

  async #read(): Promise<void> {
    // The topic, the number, the events.
    for await (const frames of this.#socket) {
      this.lastSequence = Number((frames.at(-2) as Buffer).readBigUInt64BE());
    }
  }
}

async function engineSequenceOf(sidecar: Served): Promise<number | undefined> {
  const { body } = await probe(sidecar, '/api/v1/kv-events');
  const { ranks } = JSON.parse(body) as { readonly ranks: readonly { readonly engineSequence?: number }[] };
  return ranks[0]?.engineSequence;
}

async function eventCounts(frontend: Served): Promise<string[]> {
  const { body } = await probe(frontend, '/metrics');
  return body
    .split('\n')
    .filter((line) => /^kv_accord_(kv_events_total|index_blocks|router_active)/.test(line));
}
