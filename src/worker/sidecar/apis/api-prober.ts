import { API_PATHS } from '../../../core/contract/wire/api-paths.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { askedUrl, type HttpGet } from '../../../edge/platform/net/http-get.js';
import { withDeadline } from '../../../edge/platform/time/deadline.js';
import { FactSheet } from '../../../engines/facts/fact-sheet.js';
import { EvidenceSource } from '../../../gen/kvaccord/v1/capabilities.js';
import { type LearnAttempt, type LearnFacts, learnOnce, type ProbedEngine } from '../probing/learn-once.js';

/** For all paths together: an engine answers each of them without a computation. */
const TIMEOUT_MS = 5_000;

const PROBE_NAME = 'engine-apis';

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
  /** What is known of this engine start; asks a ready engine where nothing is yet. Never rejects. */
  readonly learn: LearnFacts;

  constructor(modules: { readonly clock: Clock; readonly httpGet: HttpGet }) {
    this.#clock = modules.clock;
    this.#httpGet = modules.httpGet;
    this.learn = learnOnce({
      clock: modules.clock,
      attempt: (engine, signal) => this.#attempt(engine, signal),
    });
  }

  async #attempt({ httpBaseUrl }: ProbedEngine, signal: AbortSignal): Promise<LearnAttempt> {
    const origin = askedUrl(`${httpBaseUrl}${COMMON[0]}`);
    const outcome = { probe: PROBE_NAME, origin, answered: true, factCount: 0, error: '' };
    try {
      const paths = await withDeadline({ timeoutMs: TIMEOUT_MS, signal }, { clock: this.#clock }, (bounded) =>
        this.#ask(httpBaseUrl, bounded),
      );
      if (!COMMON.some((path) => paths.includes(path)))
        return {
          facts: [],
          probes: [{ ...outcome, error: 'it has none of the usual API paths' }],
          isFinal: true,
        };
      const sheet = new FactSheet({
        source: EvidenceSource.ENGINE_HTTP,
        origin,
        observedAtMs: this.#clock.wallMs(),
      });
      sheet.field('engine.apis', paths, `not 404: ${paths.join(' ')}`);
      return { facts: sheet.answer().facts, probes: [{ ...outcome, factCount: 1 }], isFinal: true };
    } catch (thrown) {
      return {
        facts: [],
        probes: [{ ...outcome, answered: false, error: describeError(thrown) }],
        isFinal: false,
      };
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
