import type { IncomingHttpHeaders } from 'node:http';
import type { Decision, Route } from '../../fleet/router/routing.js';
import type { Api } from '../apis/api.js';

/** A request that a worker shall answer. */
export interface ProxiedRequest {
  readonly method: string;
  /** The API that is asked: how its errors and its streams look. */
  readonly api: Api;
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** All of it, as it came; empty for none. */
  readonly body: Buffer;
  /** The group that serves its model. */
  readonly group: string;
  /**
   * Whether a worker in good order may refuse what another one takes: a path that not every engine has, or a LoRA adapter that
   * was not loaded everywhere. Default false.
   */
  readonly mayBeRefused?: boolean;
  /**
   * Chooses a worker, and counts the request there. Asked again after a failure
   * before the first byte, with the targets that failed. Rejects with a
   * `RoutingError` when there is none. `isUnsplit`: one worker is to compute it all, where one can. Default false.
   */
  pick(excluded: readonly string[], isUnsplit?: boolean): Promise<Picked>;
  /** Its body as two workers get it. Absent: it goes to one. */
  readonly split?: SplitBodies | undefined;
  /** Who holds more of the prompt than its worker, as the worker may be informed of it. Absent: no worker is. */
  readonly cacheSourceOf?: ((decision: Decision) => CacheSource | undefined) | undefined;
  /** Sees each piece of the answer that is passed on, and who gave it. Must not throw. Absent: nobody looks. */
  readonly onPiece?: ((piece: Buffer, decision: Decision) => void) | undefined;
}

/** The body of a request that is split between two workers. */
export interface SplitBodies {
  /** For the worker that computes the prompt, which answers with the parameters of the transfer. */
  forPrefill(): Buffer;
  /** For the worker that goes on; `parameters` is JSON. */
  withTransfer(parameters: Buffer): Buffer;
  /** For both, which meet at an address under a number. */
  withBootstrap(host: string, port: number, room: bigint): Buffer;
}

/** A worker from which another one may fetch a part of a prompt. */
export interface CacheSource {
  /** Where its engine is: `10.0.0.2:8000`. */
  readonly hostPort: string;
  /** Leading tokens of the prompt that it holds. */
  readonly tokens: number;
}

/** A worker that was chosen. */
export interface Picked {
  /** Released by the proxy, exactly once, however the request ends. */
  readonly route: Route;
  /** Base URL of the worker's OpenAI server, without a slash at the end. */
  readonly baseUrl: string;
  /** The same of the worker that computes the prompt, where `route.prefill` is one. */
  readonly prefillBaseUrl?: string | undefined;
}

/** How a request ended. */
export interface ProxyOutcome {
  /** The status that the client got, or would have got. */
  readonly status: number;
  /**
   * - `complete`: the worker's answer was delivered in full, whatever its status;
   * - `client_gone`: the client left, or did not read for too long;
   * - `upstream_broke`: the answer had begun and ended before its end: the client's connection was destroyed;
   * - `refused`: no worker's answer was passed on, and the client got the reason.
   */
  readonly ended: 'complete' | 'client_gone' | 'upstream_broke' | 'refused';
  /** From `serve` to the first byte of the answer's body; undefined when none came. */
  readonly firstByteMs: number | undefined;
}
