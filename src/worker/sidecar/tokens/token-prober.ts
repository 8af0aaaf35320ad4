import { createHash } from 'node:crypto';
import { fieldFact } from '../../../core/contract/evidence/facts.js';
import { PROBE_PROMPTS, type ProbePrompt, packTokenIds } from '../../../core/contract/tokens/token-probes.js';
import { MAX_PROBE_ID_BYTES } from '../../../core/contract/wire/report-limits.js';
import type { Clock } from '../../../edge/platform/clock.js';
import { tryParseJson } from '../../../edge/platform/data/bounded-json.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import { askedUrl, type HttpAnswer, type HttpPostJson } from '../../../edge/platform/net/http-get.js';
import { excerpt, ProbeError } from '../../../edge/platform/probe-error.js';
import { watchDeadline } from '../../../edge/platform/time/deadline.js';
import { engineOfKind } from '../../../engines/catalogue/engines.js';
import { readAnswerField, readTokenAnswer } from '../../../engines/descriptor/token-answer.js';
import type { TokenEndpoint } from '../../../engines/descriptor/token-endpoint.js';
import { type EngineKind, EvidenceSource, type TokenProbe } from '../../../gen/kvaccord/v1/capabilities.js';
import { type LearnAttempt, type LearnFacts, learnOnce, type ProbedEngine } from '../probing/learn-once.js';
import { holdsDate, withoutDates } from './token-dates.js';

/** Milliseconds that all prompts together have in one attempt: the report of a ready engine waits for them. */
const ATTEMPT_TIMEOUT_MS = 5_000;

/** No such address, not allowed, or switched off: it stays so as long as the engine runs. */
const LACKING: ReadonlySet<number> = new Set([401, 403, 404, 405, 501]);
/** The engine has looked at the prompt and will not take it. */
const REFUSING: ReadonlySet<number> = new Set([400, 413, 422]);

const kindOf = ({ body }: ProbePrompt): 'chat' | 'completion' => ('messages' in body ? 'chat' : 'completion');

/** How an engine is asked; where its tokens can be turned back into text first, for that shows a template's date. */
function endpointsOf(kind: EngineKind): readonly TokenEndpoint[] {
  const all = (engineOfKind(kind)?.tokenEndpoints ?? []).filter(({ kinds }) => kinds.includes('chat'));
  const isFirst = ({ detokenize }: TokenEndpoint): boolean => detokenize !== undefined;
  return [...all.filter(isFirst), ...all.filter((endpoint) => !isFirst(endpoint))];
}

/**
 * Has an engine make the tokens of the fixed prompts, once for each of its
 * starts: they show its tokenizer and its chat template.
 */
export class TokenProber {
  readonly #clock: Clock;
  readonly #postJson: HttpPostJson;
  /** What is known of this engine start; asks a ready engine where nothing is yet. Never rejects. */
  readonly learn: LearnFacts;

  constructor(modules: { readonly clock: Clock; readonly postJson: HttpPostJson }) {
    this.#clock = modules.clock;
    this.#postJson = modules.postJson;
    this.learn = learnOnce({
      clock: modules.clock,
      attempt: (engine, signal) => this.#attempt(engine, signal),
    });
  }

  /** Undefined where this kind of engine has no endpoint that makes tokens. */
  async #attempt(engine: ProbedEngine, signal: AbortSignal): Promise<LearnAttempt | undefined> {
    const forms = endpointsOf(engine.kind);
    if (forms.length === 0) return undefined;
    const bounded = new AbortController();
    const deadline = { timeoutMs: ATTEMPT_TIMEOUT_MS, signal };
    const stopWatching = watchDeadline(deadline, { clock: this.#clock }, () => bounded.abort());
    let error = '';
    let isFinal = false;
    try {
      for (const form of forms) {
        const probes = await this.#askAll(form, engine, bounded.signal);
        if (probes === undefined) continue;
        return this.#learnedOf(form, engine, probes);
      }
      // It stays so until the engine restarts.
      isFinal = true;
      error = 'the engine has no endpoint that returns tokens, or it is switched off';
    } catch (thrown) {
      error = thrown instanceof ProbeError ? thrown.message : describeError(thrown);
    } finally {
      stopWatching();
    }
    const origin = originOf(forms[0], engine);
    return {
      facts: [],
      probes: [{ probe: PROBE_NAME, origin, answered: false, factCount: 0, error }],
      isFinal,
    };
  }

  /** The answers; undefined where the engine cannot be asked in this form. Rejects when it does not answer. */
  async #askAll(
    form: TokenEndpoint,
    engine: ProbedEngine,
    signal: AbortSignal,
  ): Promise<readonly TokenProbe[] | undefined> {
    const probes: TokenProbe[] = [];
    let failure: ProbeError | undefined;
    let isDated: boolean | undefined;
    for (const prompt of PROBE_PROMPTS) {
      const url = `${engine.httpBaseUrl}${form.path(kindOf(prompt))}`;
      const answer = await this.#post(url, { ...prompt.body, model: engine.model }, signal);
      if (REFUSING.has(answer.status)) {
        probes.push(refusedProbe(prompt.name));
        continue;
      }
      // A name that the engine does not know is no missing address.
      if (LACKING.has(answer.status) && !answer.body.includes('"model"')) return undefined;
      if (answer.status !== 200) {
        failure = new ProbeError('bad_answer', askedUrl(url, 'POST'), `status ${answer.status}`);
        continue;
      }
      const ids = readTokenAnswer(tryParseJson(answer.body), form.tokenField);
      if (ids === undefined) {
        if (form.mayDiffer) return undefined;
        failure = new ProbeError('bad_answer', askedUrl(url, 'POST'), `no tokens in ${excerpt(answer.body)}`);
        continue;
      }
      if (kindOf(prompt) !== 'chat') {
        probes.push(probeOf(prompt.name, ids));
        continue;
      }
      const text = isDated === false ? undefined : await this.#textOf(form, engine, ids, signal);
      if (text === undefined && isDated !== false) continue; // whether it holds a date is not known
      isDated ??= holdsDate(text ?? '', this.#clock.wallMs());
      if (!isDated || text === undefined) probes.push(probeOf(prompt.name, ids));
      else probes.push(undatedProbe(prompt.name, withoutDates(text, this.#clock.wallMs()), ids.length));
    }
    if (probes.length === 0)
      throw failure ?? new ProbeError('bad_answer', originOf(form, engine), 'no answer');
    return probes;
  }

  /** The text behind token ids; undefined where the engine does not say. */
  async #textOf(
    { detokenize }: TokenEndpoint,
    { httpBaseUrl, model }: ProbedEngine,
    ids: Uint32Array,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (detokenize === undefined) return undefined;
    const body = { model, tokens: [...ids], skip_special_tokens: false };
    const answer = await this.#post(`${httpBaseUrl}${detokenize.path}`, body, signal);
    const text =
      answer.status === 200 ? readAnswerField(tryParseJson(answer.body), detokenize.textField) : undefined;
    return typeof text === 'string' ? text : undefined;
  }

  #post(url: string, body: object, signal: AbortSignal): Promise<HttpAnswer> {
    return this.#postJson(url, body, { signal, timeoutMs: ATTEMPT_TIMEOUT_MS });
  }

  #learnedOf(form: TokenEndpoint, engine: ProbedEngine, probes: readonly TokenProbe[]): LearnAttempt {
    const origin = originOf(form, engine);
    const raw = probes.map(
      ({ name, isRefused, tokenCount }) => `${name} ${isRefused ? 'refused' : tokenCount}`,
    );
    const fact = fieldFact('model.token_probes', probes, {
      source: EvidenceSource.ENGINE_HTTP,
      origin,
      raw: `tokens: ${raw.join(', ')}`,
      observedAtMs: this.#clock.wallMs(),
    });
    return {
      facts: [fact],
      probes: [{ probe: PROBE_NAME, origin, answered: true, factCount: 1, error: '' }],
      isFinal: true,
    };
  }
}

const PROBE_NAME = 'token-probes';

function originOf(form: TokenEndpoint | undefined, { httpBaseUrl }: ProbedEngine): string {
  const [first] = PROBE_PROMPTS;
  return askedUrl(`${httpBaseUrl}${first === undefined ? '' : (form?.path(kindOf(first)) ?? '')}`, 'POST');
}

function probeOf(name: string, ids: Uint32Array): TokenProbe {
  const packed = Buffer.from(packTokenIds(ids));
  return {
    name,
    sha256: sha256Of(packed),
    tokenCount: ids.length,
    tokenIds: packed.subarray(0, MAX_PROBE_ID_BYTES),
    isRefused: false,
    isUndated: false,
  };
}

function undatedProbe(name: string, text: string, tokenCount: number): TokenProbe {
  const sha256 = sha256Of(new TextEncoder().encode(text));
  return { name, sha256, tokenCount, tokenIds: Buffer.alloc(0), isRefused: false, isUndated: true };
}

function refusedProbe(name: string): TokenProbe {
  const none = Buffer.alloc(0);
  return { name, sha256: none, tokenCount: 0, tokenIds: none, isRefused: true, isUndated: false };
}

function sha256Of(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
