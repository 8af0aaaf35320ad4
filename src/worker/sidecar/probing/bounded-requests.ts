import { onAbort } from '../../../edge/platform/time/on-abort.js';
import { ProbeError, type ProbeModules } from '../../../engines/probing/probe.js';
import { shareRound } from '../../../engines/probing/share-round.js';

/**
 * Requests that are under way at one port of the engine at one time. Four keep a round
 * short (a round asks some ten endpoints) and are fewer than one busy client has.
 */
export const MAX_REQUESTS_IN_FLIGHT = 4;

/** `HOST:PORT` of a URL; a text that is none stands for itself. */
function portOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** The modules of one probe round, and what they asked of the engine. */
export interface RoundModules {
  readonly modules: ProbeModules;
  /** Requests that were really sent; shared answers count once. */
  readonly requestsSent: () => number;
}

/** Lets at most `limit` pieces of work run at a time; the others wait in order. */
class Slots {
  #free: number;
  #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Runs `work` when a slot is free. Rejects with `givenUp()` when `signal` aborts before. */
  async run<Result>(work: () => Promise<Result>, signal: AbortSignal, givenUp: () => Error): Promise<Result> {
    if (signal.aborted) throw givenUp();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal, givenUp);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }

  #wait(signal: AbortSignal, givenUp: () => Error): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        leave();
        resolve();
      };
      const leave = onAbort(signal, () => {
        this.#waiting = this.#waiting.filter((entry) => entry !== enter);
        reject(givenUp());
      });
      this.#waiting.push(enter);
    });
  }
}

/**
 * Wraps the ways to the engine for one round, so that the probes together
 * cannot become a load on it: a bounded number of requests is under way at each
 * port, and an address that several probes want is asked once. A port that
 * drops packets keeps nothing from the others.
 *
 * GETs run under the round's signal and not under their first caller's,
 * because others may wait for the same answer.
 */
export function boundRequests(
  modules: ProbeModules,
  roundSignal: AbortSignal,
  maxInFlight: number = MAX_REQUESTS_IN_FLIGHT,
): RoundModules {
  const slotsOfPorts = new Map<string, Slots>();
  const slotsOf = (port: string): Slots => {
    const known = slotsOfPorts.get(port) ?? new Slots(maxInFlight);
    slotsOfPorts.set(port, known);
    return known;
  };
  let sent = 0;
  const givenUp = (asked: string) => (): Error =>
    new ProbeError('timeout', asked, 'given up: the time of this probe round is over');

  const bounded: ProbeModules = {
    ...modules,
    httpGet: (url, { maxBodyBytes }) =>
      slotsOf(portOf(url)).run(
        () => {
          sent += 1;
          return modules.httpGet(url, {
            signal: roundSignal,
            ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
          });
        },
        roundSignal,
        givenUp(`GET ${url}`),
      ),
    rpc: {
      call: (address, method, request, { signal }) =>
        slotsOf(address).run(
          () => {
            sent += 1;
            return modules.rpc.call(address, method, request, { signal });
          },
          signal,
          givenUp(`gRPC ${address}${method.path}`),
        ),
    },
  };
  return { modules: shareRound(bounded), requestsSent: () => sent };
}
