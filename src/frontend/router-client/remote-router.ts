import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import { isTokensPerBlock } from '../../core/contract/evidence/tokens-per-block.js';
import type { Address } from '../../edge/platform/address.js';
import { type Clock, sleep, type Timer } from '../../edge/platform/clock.js';
import { describeError } from '../../edge/platform/describe-error.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Random } from '../../edge/platform/random.js';
import { backoffMs } from '../../edge/platform/time/backoff.js';
import type { EventLoop } from '../../edge/platform/time/event-loop.js';
import { onAbort } from '../../edge/platform/time/on-abort.js';
import type { RpcDialer } from '../../edge/rpc/channel.js';
import { explainConnect, explainStatus } from '../../fleet/aggregator/sessions/explain-break.js';
import type { Route, RouteRequest, Routing } from '../../fleet/router/routing.js';
import { ATTACH_HEARTBEAT_MS } from '../../fleet/router/service/router-service.js';
import { fromParts, type Served } from '../../fleet/router/service/served-messages.js';
import {
  type AttachRequest,
  type AttachResponse,
  type RouteAnswer,
  RouterClient,
  type ServedFleet,
} from '../../gen/kvaccord/v1/router.js';
import { routerUnavailableError } from '../errors/gateway-errors.js';
import { RouteStream } from './route-stream.js';

/** A router that says nothing for so long counts as gone: three heartbeats. */
const SILENCE_LIMIT_MS = 3 * ATTACH_HEARTBEAT_MS;

/** Parts of what is served: 64 MB of names and URLs, a hundred times what a large fleet has. */
const MAX_PARTS = 64;

export interface RemoteRouterOptions {
  readonly address: Address;
  /** Routes at a time whose answer is not there. */
  readonly maxWaiting: number;
}

export interface RemoteRouterModules {
  readonly dialer: RpcDialer;
  readonly clock: Clock;
  readonly random: Random;
  readonly eventLoop: EventLoop;
  readonly logger: Logger;
}

/** What the router was last heard to serve, and why it cannot be asked now. */
export interface RouterState {
  readonly served: Served;
  /** In words for an operator, with its address; undefined while it can be asked. */
  readonly problem: string | undefined;
}

const NOTHING: Served = { catalogue: { models: [], groups: [], reasons: [] }, checks: [], statusPage: '' };

/** The router of another process, over `kvaccord.v1.Router/Attach`. It is dialled again for as long as it takes. */
export class RemoteRouter implements Routing {
  readonly #options: RemoteRouterOptions;
  readonly #modules: RemoteRouterModules;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(state: RouterState) => void>();
  #state: RouterState;
  #stream: RouteStream | undefined;
  /** The problem that was logged last; undefined after the router could be asked. */
  #logged: string | undefined;
  #failures = 0;
  #running: Promise<void> | undefined;

  constructor(options: RemoteRouterOptions, modules: RemoteRouterModules) {
    this.#options = options;
    this.#modules = modules;
    this.#state = { served: NOTHING, problem: `the router at ${options.address.text} has not answered yet` };
  }

  /** The same object until something changes. */
  get state(): RouterState {
    return this.#state;
  }

  /** Calls `listener` at every change of `state`; the function that comes back ends it. */
  listen(listener: (state: RouterState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the stream; the router releases what was reserved on it. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Rejects with a `RoutingError` as the router does, or with an `OpenAiError` where it cannot be asked. */
  route(request: RouteRequest): Promise<Route> {
    return this.#stream?.route(request) ?? Promise.reject(routerUnavailableError());
  }

  async #run(): Promise<void> {
    const { clock, random, logger } = this.#modules;
    const { signal } = this.#stop;
    const { text } = this.#options.address;
    while (!signal.aborted) {
      const why = await this.#follow();
      if (signal.aborted) return;
      const problem = `the router at ${text} cannot be asked: ${why}`;
      if (problem !== this.#logged) logger.warn({ router: text }, `Requests are refused: ${problem}`);
      this.#logged = problem;
      this.#show({ ...this.#state, problem });
      this.#failures += 1;
      await sleep(clock, backoffMs(this.#failures, random), signal);
    }
  }

  /** Follows one stream until it ends; comes back with the reason. */
  async #follow(): Promise<string> {
    let channel: ReturnType<RpcDialer['dial']> | undefined;
    try {
      channel = this.#modules.dialer.dial(this.#options.address);
      await channel.waitForReady(this.#stop.signal);
      return await this.#read(channel.createClient(RouterClient).attach());
    } catch (error) {
      return explainConnect(error);
    } finally {
      channel?.close();
    }
  }

  #read(call: ClientDuplexStream<AttachRequest, AttachResponse>): Promise<string> {
    const { clock, eventLoop } = this.#modules;
    const { signal } = this.#stop;
    const stream = new RouteStream(this.#options, {
      clock,
      eventLoop,
      send: (request, onWritten) => void call.write(request, onWritten),
    });
    return new Promise((resolve) => {
      let isOver = false;
      let silence: Timer | undefined;
      let leave: (() => void) | undefined;
      let parts: ServedFleet[] = [];
      const finish = (why: string): void => {
        if (isOver) return;
        isOver = true;
        silence?.clear();
        leave?.();
        if (this.#stream === stream) this.#stream = undefined;
        stream.close();
        call.cancel();
        resolve(why);
      };
      const expectMore = (): void => {
        silence?.clear();
        const why = `it said nothing for ${SILENCE_LIMIT_MS / 1_000} s: it hangs or the network drops packets`;
        silence = clock.setTimer(SILENCE_LIMIT_MS, () => finish(why));
      };
      /** Comes back with what is wrong with a message; undefined for one that was taken. */
      const take = ({ served, answers }: AttachResponse): string | undefined => {
        if (served !== undefined) {
          parts.push(served);
          if (parts.length > MAX_PARTS) return `it serves more than ${MAX_PARTS} messages hold`;
          if (!served.hasMore) {
            this.#take(parts, stream);
            parts = [];
          }
        }
        for (const answer of answers) {
          const problem = findProblem(answer);
          if (problem !== undefined) return problem;
          stream.take(answer);
        }
        return undefined;
      };
      expectMore();
      call.on('data', (response: AttachResponse) => {
        if (isOver) return; // what was on its way when we left
        expectMore();
        try {
          const problem = take(response);
          if (problem !== undefined) finish(problem);
        } catch (error) {
          this.#modules.logger.error(
            { error },
            'An answer of the router met a fault of this program. Please report it.',
          );
          finish(`its answer could not be taken: ${describeError(error)}`);
        }
      });
      call.on('error', (error: ServiceError) => {
        if (!isOver) finish(explainStatus(error, 'aggregator'));
      });
      call.on('end', () => finish('it ended the stream: it is shut down or restarted'));
      leave = onAbort(signal, () => finish('this process ends'));
    });
  }

  #take(parts: readonly ServedFleet[], stream: RouteStream): void {
    const served = fromParts(parts);
    this.#failures = 0;
    if (this.#stream !== stream) {
      this.#stream = stream;
      if (this.#logged !== undefined)
        this.#modules.logger.info({ router: this.#options.address.text }, 'The router can be asked again.');
      this.#logged = undefined;
    }
    this.#show({ served, problem: undefined });
  }

  #show(state: RouterState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener(state);
  }
}

/** R1 at this border too: why a decision cannot be used. */
function findProblem({ answer }: RouteAnswer): string | undefined {
  const selections =
    answer?.$case === 'selection'
      ? [answer.value]
      : answer?.$case === 'pair'
        ? [answer.value.prefill, answer.value.decode]
        : [];
  const wrong = selections.find((one) => one !== undefined && !isTokensPerBlock(one.tokensPerBlock));
  if (wrong === undefined) return undefined;
  return `it decided with tokens_per_block ${wrong.tokensPerBlock}, which must be an integer from 1 to 1,048,576`;
}
