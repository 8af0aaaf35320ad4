import { formatTcp } from '../../edge/platform/address.js';
import { type Clock, sleep } from '../../edge/platform/clock.js';
import type { Resolver } from '../../edge/platform/net/resolver.js';
import type { Random } from '../../edge/platform/random.js';
import { orAborted } from '../../edge/platform/time/on-abort.js';
import { DiscoveryError } from './discovery-error.js';
import { MAX_ENDPOINTS } from './limits.js';
import type { DiscoverySource, Endpoint } from './source.js';

/** The usual life of a record in a cluster's DNS (CoreDNS answers with 5 s for services, 30 s for the rest). */
const DEFAULT_INTERVAL_MS = 5_000;

/** Each wait is up to so much shorter or longer, lest all frontends ask in the same moment. */
const JITTER_FRACTION = 0.2;

/**
 * How long one answer may take. glibc asks each server twice for 5 s, so a
 * round that takes longer has lost its first server.
 */
const LOOKUP_TIMEOUT_MS = 10_000;

/**
 * How long a name must have answered "no addresses", and nothing else, before
 * the list becomes empty: the grace that a lost worker has too.
 */
const DEFAULT_EMPTY_AFTER_MS = 30_000;

export interface DnsSourceOptions {
  readonly host: string;
  readonly port: number;
  /** What the operator wrote, for messages. */
  readonly text: string;
  /** Between two rounds. Default 5,000 ms; each is jittered by a fifth. */
  readonly intervalMs?: number;
  /** Default 30,000 ms; see `DnsSource`. */
  readonly emptyAfterMs?: number;
}

export interface DnsSourceModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly resolver: Resolver;
}

/**
 * Every address behind a name, asked again and again: the pods behind a
 * headless Service.
 *
 * A name with no addresses is ambiguous: `getaddrinfo` answers the same for a
 * Service that is scaled to zero, for a mistyped name and for a name server
 * that has just started and knows nothing yet. So it is an error that keeps
 * the last list at first, and becomes the empty list when the name has said
 * nothing else for `emptyAfterMs`. A round without an answer (time-out, name
 * server down) says nothing about the Service: it keeps the list for as long
 * as it lasts, and the wait begins again.
 */
export class DnsSource implements DiscoverySource {
  readonly name: string;
  readonly isStatic = false;
  readonly #options: Required<DnsSourceOptions>;
  readonly #modules: DnsSourceModules;
  /** The list as last given, one string; undefined before the first. */
  #lastList: string | undefined;
  #emptySinceMs: number | undefined;
  /** Whether a failure was reported since the last answer with addresses, whose end a list reports. */
  #hasFailed = false;

  constructor(options: DnsSourceOptions, modules: DnsSourceModules) {
    this.name = options.text;
    this.#options = { intervalMs: DEFAULT_INTERVAL_MS, emptyAfterMs: DEFAULT_EMPTY_AFTER_MS, ...options };
    this.#modules = modules;
  }

  async run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[]) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    const { clock, random } = this.#modules;
    while (!signal.aborted) {
      const answer = await this.#lookup(signal, onError);
      if (signal.aborted) return;
      if (answer instanceof Error) this.#fail(answer, onError);
      const addresses = answer instanceof Error ? this.#addressesAfter(answer) : this.#addressesIn(answer);
      if (addresses !== undefined) {
        const list = addresses.join(' ');
        const isOver = this.#hasFailed && !(answer instanceof Error);
        if (isOver) this.#hasFailed = false;
        if (list !== this.#lastList || isOver) {
          this.#lastList = list;
          onList(addresses.map((address) => ({ target: address, address })));
        }
      }
      const jitter = 1 + JITTER_FRACTION * (2 * random.fraction() - 1);
      await sleep(clock, this.#options.intervalMs * jitter, signal);
    }
  }

  /**
   * One lookup, reported as failed when it takes too long, but waited for all the
   * same: it holds one of the few threads that file reading needs too, so a
   * second one beside it would only make things worse.
   */
  async #lookup(
    signal: AbortSignal,
    onError: (error: Error) => void,
  ): Promise<readonly string[] | DiscoveryError> {
    const { host, text } = this.#options;
    const slow = this.#modules.clock.setTimer(LOOKUP_TIMEOUT_MS, () => {
      this.#emptySinceMs = undefined;
      this.#fail(
        new DiscoveryError('lookup_failed', `${text}: no answer within ${LOOKUP_TIMEOUT_MS} ms`),
        onError,
      );
    });
    try {
      const found = await orAborted(this.#modules.resolver.lookupAll(host), signal);
      if (found === undefined) return [];
      if (found.length === 0) return noAddresses(text, host);
      if (found.length <= MAX_ENDPOINTS) return found;
      return new DiscoveryError(
        'too_many_endpoints',
        `${text}: has ${found.length} addresses, at most ${MAX_ENDPOINTS} are allowed`,
      );
    } catch (error) {
      return explainLookup(text, host, error);
    } finally {
      slow.clear();
    }
  }

  #fail(error: DiscoveryError, onError: (error: Error) => void): void {
    this.#hasFailed = true;
    onError(error);
  }

  /** The sorted addresses of an answer: a name server rotates them at every question. */
  #addressesIn(answer: readonly string[]): readonly string[] {
    this.#emptySinceMs = undefined;
    const { port } = this.#options;
    return [...new Set(answer)].map((address) => formatTcp(address, port)).sort();
  }

  /** The list that a failure leads to; undefined to keep the last one. */
  #addressesAfter(failure: DiscoveryError): readonly string[] | undefined {
    if (failure.code !== 'no_addresses') {
      this.#emptySinceMs = undefined;
      return undefined;
    }
    const nowMs = this.#modules.clock.monotonicMs();
    this.#emptySinceMs ??= nowMs;
    return nowMs - this.#emptySinceMs >= this.#options.emptyAfterMs ? [] : undefined;
  }
}

function noAddresses(text: string, host: string): DiscoveryError {
  return new DiscoveryError(
    'no_addresses',
    `${text}: the name ${host} has no addresses; if it should have, check its spelling, the namespace, and that the Service is headless and has pods`,
  );
}

function explainLookup(text: string, host: string, error: unknown): DiscoveryError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOTFOUND' || code === 'ENODATA') return noAddresses(text, host);
  const why =
    code === 'EAI_AGAIN'
      ? 'the name server did not answer or failed (EAI_AGAIN)'
      : error instanceof Error
        ? error.message
        : String(error);
  return new DiscoveryError('lookup_failed', `${text}: ${why}`, { cause: error });
}
