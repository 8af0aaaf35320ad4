import type { Clock } from '../../edge/platform/clock.js';
import { withDeadline } from '../../edge/platform/time/deadline.js';
import type { CatalogueWorker } from '../../fleet/catalogue/catalogue.js';
import { EngineHttp } from './engine-http.js';
import type { MayHaveKeys } from './key-hosts.js';
import type { EngineAnswer } from './whole-answer.js';

/** How engines are asked for what they list or keep. */
export interface EngineAskerOptions {
  /** The key that engines ask for. */
  readonly apiKey?: string | undefined;
  /** Which engines are shown it. */
  readonly mayHaveKeys: MayHaveKeys;
  /** PEM certificates of the authorities of engines, asked for at each connection; absent: Node's own list. */
  readonly ca?: (() => string | undefined) | undefined;
}

/** Longest that one answer is waited for: it is a list, or what was computed before. */
const TIMEOUT_MS = 2_000;

/** Longest answer: 4,096 adapters, or a long response. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** Asks single workers on behalf of a request, for what is not in their reports. */
export class EngineAsker {
  readonly #http: EngineHttp;
  readonly #mayHaveKeys: MayHaveKeys;
  readonly #hasKey: boolean;
  readonly #clock: Clock;

  constructor({ apiKey, mayHaveKeys, ca }: EngineAskerOptions, { clock }: { readonly clock: Clock }) {
    this.#mayHaveKeys = mayHaveKeys;
    this.#hasKey = apiKey !== undefined;
    this.#clock = clock;
    this.#http = new EngineHttp({
      maxAnswerBytes: MAX_ANSWER_BYTES,
      connectTimeoutMs: TIMEOUT_MS,
      apiKey,
      ...(ca === undefined ? {} : { ca }),
    });
  }

  /** What a worker answers; undefined where it does not within 2 s. Never rejects. */
  async get(worker: CatalogueWorker, path: string): Promise<EngineAnswer | undefined> {
    const { baseUrl } = worker;
    if (baseUrl === undefined) return undefined;
    const mayHaveKey = this.#hasKey && this.#mayHaveKeys(worker, baseUrl);
    try {
      return await withDeadline({ timeoutMs: TIMEOUT_MS }, { clock: this.#clock }, (signal) =>
        this.#http.ask(new URL(`${baseUrl}${path}`), { mayHaveKey }, signal),
      );
    } catch {
      // Whatever is wrong there, nothing is known; the requests that it fails are logged by the proxy.
      return undefined;
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}
