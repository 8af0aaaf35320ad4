import { Agent } from 'undici';
import { engineConnector } from './engine-connector.js';
import { type PiecedAnswer, wholeAnswer } from './whole-answer.js';

/** What an engine is asked. */
export interface EngineAsk {
  /** JSON to be posted; absent: GET. */
  readonly body?: Buffer;
  readonly mayHaveKey: boolean;
  /** Longest answer; default that of the client. */
  readonly maxBytes?: number;
}

/** Asks engines over HTTP, with connections that are kept. */
export class EngineHttp {
  /**
   * One pool for each origin; undici ends a pool when its last connection is
   * gone, so what is left of a worker that went is nothing.
   */
  readonly #agent: Agent;
  readonly #maxBytes: number;
  readonly #authorization: Readonly<Record<string, string>>;

  constructor(options: {
    readonly maxAnswerBytes: number;
    readonly connectTimeoutMs: number;
    /** Shown as a bearer token; absent: none. */
    readonly apiKey?: string | undefined;
    /** PEM certificates of the authorities of engines, asked for at each connection; absent: Node's own list. */
    readonly ca?: () => string | undefined;
  }) {
    this.#maxBytes = options.maxAnswerBytes;
    this.#authorization = options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` };
    this.#agent = new Agent({
      connections: 16,
      pipelining: 1,
      keepAliveTimeout: 10_000,
      connect: engineConnector(options.connectTimeoutMs, options.ca),
    });
  }

  /**
   * Rejects when there is no whole answer within the bounds, or when `signal`
   * aborts. Redirects are not followed. `mayHaveKey`: whether the key is shown.
   */
  ask(
    url: URL,
    { body, mayHaveKey, maxBytes = this.#maxBytes }: EngineAsk,
    signal: AbortSignal,
  ): Promise<PiecedAnswer> {
    const headers = mayHaveKey ? this.#authorization : {};
    return wholeAnswer(
      this.#agent,
      {
        origin: url.origin,
        path: url.pathname,
        method: body === undefined ? 'GET' : 'POST',
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body }),
      },
      maxBytes,
      signal,
    );
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}
