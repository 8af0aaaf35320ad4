import type { RankSource, ZmqSource } from '../../../core/relay/rank-source.js';
import { type Clock, sleep } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import { type Listener, probeEndpoint } from './zmtp-probe.js';

/** Milliseconds until the first look at endpoints whose events do not come, and between the first few. */
const FIRST_CHECK_MS = 3_000;
/** Milliseconds between later looks: what is wrong stays wrong until an operator changes it. */
const LATER_CHECK_MS = 30_000;
/** Looks that follow each other fast. */
const FAST_CHECKS = 3;

/** Types of ZeroMQ sockets that publish, and types that answer. */
const PUBLISHERS: ReadonlySet<string> = new Set(['PUB', 'XPUB']);
const ANSWERERS: ReadonlySet<string> = new Set(['ROUTER', 'REP', 'DEALER']);

export interface EndpointCheckModules {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the events of a rank come as they should: there is nothing to look for then. */
  readonly isWell: (rank: number) => boolean;
  /** Looks at one endpoint. Default `probeEndpoint`. */
  readonly probe?: typeof probeEndpoint;
}

/**
 * Finds out why the events of a rank do not come: the event endpoint and the
 * replay endpoint swapped, one named as the other, a port where something else
 * listens, or no process. ZeroMQ itself tries for ever and says nothing.
 */
export class EndpointCheck {
  readonly #modules: EndpointCheckModules;
  readonly #findings = new Map<number, string>();
  /** Found once; an engine that restarts is away for a moment, so it is reported when found again. */
  readonly #suspected = new Map<number, string>();
  #watching: AbortController | undefined;
  #done: Promise<void> = Promise.resolve();

  constructor(modules: EndpointCheckModules) {
    this.#modules = modules;
  }

  /** What is wrong with the endpoints of a rank, with the cure; undefined while nothing is known. */
  findingOf(rank: number): string | undefined {
    return this.#modules.isWell(rank) ? undefined : this.#findings.get(rank);
  }

  /** Looks after these from now on, and after no others. */
  watch(sources: readonly RankSource[]): void {
    this.#watching?.abort();
    this.#findings.clear();
    this.#suspected.clear();
    const watched = sources.filter((source): source is ZmqSource => source.kind !== 'trtllm-drain');
    if (watched.length === 0) return;
    const watching = new AbortController();
    this.#watching = watching;
    this.#done = this.#done.then(() => this.#run(watched, watching.signal));
  }

  /** Ends it; nothing is open afterwards. */
  async close(): Promise<void> {
    this.#watching?.abort();
    await this.#done;
  }

  async #run(sources: readonly ZmqSource[], signal: AbortSignal): Promise<void> {
    for (let looks = 0; !signal.aborted; looks += 1) {
      await sleep(this.#modules.clock, looks < FAST_CHECKS ? FIRST_CHECK_MS : LATER_CHECK_MS, signal);
      for (const source of sources) {
        if (signal.aborted) return;
        if (this.#modules.isWell(source.rank)) this.#settle(source.rank, undefined);
        else await this.#look(source, signal);
      }
    }
  }

  async #look(source: ZmqSource, signal: AbortSignal): Promise<void> {
    const { clock, probe = probeEndpoint } = this.#modules;
    const { endpoint, replayEndpoint, rank } = source;
    // One that binds waits for its publisher; there is no peer to ask.
    const events = endpoint.startsWith('@') ? undefined : await probe(endpoint, { clock }, signal);
    const replay = replayEndpoint === undefined ? undefined : await probe(replayEndpoint, { clock }, signal);
    if (!signal.aborted) this.#settle(rank, describeEndpoints(source, events, replay));
  }

  #settle(rank: number, finding: string | undefined): void {
    const wasSuspected = this.#suspected.get(rank) === finding;
    if (finding === undefined) {
      this.#suspected.delete(rank);
      this.#findings.delete(rank);
      return;
    }
    this.#suspected.set(rank, finding);
    if (!wasSuspected || this.#findings.get(rank) === finding) return;
    this.#findings.set(rank, finding);
    this.#modules.logger.warn({ rank }, `The KV events of a rank do not come as they should: ${finding}.`);
  }
}

/** What is wrong with a source's endpoints, and the cure; undefined where nothing is seen to be. @internal */
export function describeEndpoints(
  { endpoint, replayEndpoint }: ZmqSource,
  events: Listener | undefined,
  replay: Listener | undefined,
): string | undefined {
  const eventsAnswer = events?.type === 'zmq' && ANSWERERS.has(events.socketType);
  const replayPublishes = replay?.type === 'zmq' && PUBLISHERS.has(replay.socketType);
  if (eventsAnswer && replayPublishes)
    return `the two endpoints are swapped: give --kv-event-sources ${replayEndpoint} and --kv-replay-sources ${endpoint}`;
  const wrongEvents = explainListener(endpoint, events, {
    wanted: PUBLISHERS,
    what: 'KV events',
    mistaken: eventsAnswer ? 'is a replay endpoint' : undefined,
    cure: 'name "endpoint" of the engine\'s --kv-events-config with --kv-event-sources',
  });
  if (wrongEvents !== undefined) return wrongEvents;
  return explainListener(replayEndpoint ?? '', replay, {
    wanted: ANSWERERS,
    what: 'a replay',
    mistaken: replayPublishes ? 'is an endpoint of KV events' : undefined,
    cure: 'name "replay_endpoint" of the engine\'s --kv-events-config with --kv-replay-sources',
  });
}

function explainListener(
  endpoint: string,
  listener: Listener | undefined,
  {
    wanted,
    what,
    mistaken,
    cure,
  }: {
    readonly wanted: ReadonlySet<string>;
    readonly what: string;
    readonly mistaken: string | undefined;
    readonly cure: string;
  },
): string | undefined {
  switch (listener?.type) {
    case undefined:
      return undefined;
    case 'none':
      return `nothing listens at ${endpoint} (${listener.reason}), where ${what} should come from; ${cure}`;
    case 'http':
      return `${endpoint} is the port of an HTTP server and not of ${what}; ${cure}`;
    case 'other':
      return `what listens at ${endpoint} does not speak ZeroMQ, so ${what} cannot come from there; ${cure}`;
    case 'zmq':
      if (listener.socketType === '' || wanted.has(listener.socketType)) return undefined;
      return `${endpoint} ${mistaken ?? 'is a ZeroMQ socket of another kind'} (${listener.socketType}) and gives no ${what === 'a replay' ? 'replay' : what}; ${cure}`;
  }
}
