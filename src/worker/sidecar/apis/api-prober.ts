import { API_PATHS } from '../../../core/contract/api-paths.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { askedUrl, type HttpGet } from '../../../edge/platform/net/http-get.js';
import { withDeadline } from '../../../edge/platform/time/deadline.js';
import { FactSheet } from '../../../engines/facts/fact-sheet.js';
import { EvidenceSource } from '../../../gen/kvaccord/v1/capabilities.js';
import type { LearnedTokens, ProbedEngine } from '../tokens/token-prober.js';

/** For all paths together: an engine answers each of them without a computation. */
const TIMEOUT_MS = 5_000;
/** Between two tries where the engine did not answer. */
const RETRY_MS = 30_000;
/** Tries for one start of an engine. */
const MAX_ATTEMPTS = 5;

const PROBE_NAME = 'engine-apis';
const NOTHING: LearnedTokens = { facts: [], probes: [] };

/** Without any of these it is no server of OpenAI's API, and what it lacks says nothing. */
const COMMON: readonly string[] = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings'];

/**
 * Finds out, once for each start of an engine, which API paths it has: what is
 * there for POST answers a GET with 405, what is not there with 404, and nothing
 * is computed. `/openapi.json` says the same, but vLLM 0.32 needs seconds of its
 * only thread to make it, and it can be switched off.
 */
export class ApiProber {
  readonly #clock: Clock;
  readonly #httpGet: HttpGet;
  #instanceId = '';
  #attempts = 0;
  #retryAtMs = 0;
  #isDone = false;
  #learned = NOTHING;

  constructor(modules: { readonly clock: Clock; readonly httpGet: HttpGet }) {
    this.#clock = modules.clock;
    this.#httpGet = modules.httpGet;
  }

  /** What is known of this engine start; asks a ready engine where nothing is yet. Never rejects. */
  async learn(engine: ProbedEngine, signal: AbortSignal): Promise<LearnedTokens> {
    if (engine.instanceId !== this.#instanceId) {
      this.#instanceId = engine.instanceId;
      this.#attempts = 0;
      this.#retryAtMs = 0;
      this.#isDone = false;
      this.#learned = NOTHING;
    }
    if (this.#isDone || this.#attempts >= MAX_ATTEMPTS || this.#clock.monotonicMs() < this.#retryAtMs)
      return this.#learned;
    this.#attempts += 1;
    this.#learned = await this.#attempt(engine, signal);
    this.#retryAtMs = this.#clock.monotonicMs() + RETRY_MS;
    return this.#learned;
  }

  async #attempt({ httpBaseUrl }: ProbedEngine, signal: AbortSignal): Promise<LearnedTokens> {
    const origin = askedUrl(`${httpBaseUrl}${COMMON[0]}`);
    const outcome = { probe: PROBE_NAME, origin, answered: true, factCount: 0, error: '' };
    try {
      const paths = await withDeadline({ timeoutMs: TIMEOUT_MS, signal }, { clock: this.#clock }, (bounded) =>
        this.#ask(httpBaseUrl, bounded),
      );
      this.#isDone = true;
      if (!COMMON.some((path) => paths.includes(path)))
        return { facts: [], probes: [{ ...outcome, error: 'it has none of the usual API paths' }] };
      const sheet = new FactSheet({
        source: EvidenceSource.ENGINE_HTTP,
        origin,
        observedAtMs: this.#clock.wallMs(),
      });
      sheet.field('engine.apis', paths, `not 404: ${paths.join(' ')}`);
      return { facts: sheet.answer().facts, probes: [{ ...outcome, factCount: 1 }] };
    } catch (thrown) {
      return { facts: [], probes: [{ ...outcome, answered: false, error: describeError(thrown) }] };
    }
  }

  /** One after the other, on behalf of an engine that has other things to do. */
  async #ask(httpBaseUrl: string, signal: AbortSignal): Promise<readonly string[]> {
    const found: string[] = [];
    for (const path of API_PATHS) {
      const { status } = await this.#httpGet(`${httpBaseUrl}${path}`, { signal });
      // A refusal for want of a key, or an error, is no word of the path: it is taken to be there.
      if (status !== 404) found.push(path);
    }
    return found;
  }
}
