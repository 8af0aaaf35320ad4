import { LRUCache } from 'lru-cache';
import { type MediaItem, mediaProblem } from '../../core/blocks/media-identity.js';
import { workerName } from '../../core/text/worker-name.js';
import type { Clock } from '../../edge/platform/clock.js';
import { isJsonObject } from '../../edge/platform/data/json-object.js';
import { describeError } from '../../edge/platform/describe-error.js';
import type { Logger } from '../../edge/platform/logger.js';
import { withDeadline } from '../../edge/platform/time/deadline.js';
import { engineOfOwner } from '../../engines/catalogue/engines.js';
import type { EngineDescriptor } from '../../engines/descriptor/engine-descriptor.js';
import { readTokenAnswer } from '../../engines/descriptor/token-answer.js';
import type {
  AgentRequest,
  ChatRequest,
  PromptRequest,
  TokenEndpoint,
} from '../../engines/descriptor/token-endpoint.js';
import { OTHER } from '../../engines/other/descriptor.js';
import type { CatalogueGroup, CatalogueWorker } from '../../fleet/catalogue/catalogue.js';
import { EngineHttp } from '../engine-access/engine-http.js';
import type { MayHaveKeys } from '../engine-access/key-hosts.js';
import { parseEngineAnswer } from '../json/engine-answer.js';
import { EngineHealth } from './engine-health.js';
import { type NoTokensReason, noTokens, type PromptTokens, type RawBody } from './prompt-tokens.js';
import { TokenQuery } from './token-query.js';

/** Bounds of asking engines. */
export interface EngineTokenizerOptions {
  /** Longest that one prompt waits, in milliseconds, whatever is asked on its behalf. */
  readonly timeoutMs: number;
  /** Prompts that are asked about or wait for their turn at a time; for further ones there are no tokens. */
  readonly maxConcurrent: number;
  /** Longest answer. A token is some seven bytes of it. */
  readonly maxAnswerBytes: number;
  /** Memory for tokens that are remembered; 0 remembers nothing. */
  readonly maxRememberedBytes: number;
}

/** The bounds that hold unless settings name others. */
export const DEFAULT_ENGINE_TOKENIZER_OPTIONS: EngineTokenizerOptions = {
  timeoutMs: 2_000,
  maxConcurrent: 1_024,
  maxAnswerBytes: 16 * 1024 * 1024,
  maxRememberedBytes: 64 * 1024 * 1024,
};

/** Instances of engines of which something is remembered. */
const MAX_ENGINES = 8_192;
/** Workers that are asked on behalf of one prompt before it is given up. */
const MAX_TRIES = 2;
/** What one entry costs beside its tokens, and each of its media. */
const ENTRY_BYTES = 256;
/** Models and adapters of one engine, in the form of OpenAI. */
const MAX_MODELS_BYTES = 1024 * 1024;

/** Why an answer is no longer waited for, as opposed to a client that went away. */
const LATE = new Error('the worker took too long');

/** No such address, not allowed, or switched off: it stays so as long as the engine runs. */
const LACKING: ReadonlySet<number> = new Set([401, 403, 404, 405, 501]);
/** The engine has looked at the prompt and will not take it. */
const REFUSING: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Asks the engines themselves for a prompt's tokens, so that they are exactly
 * those which the request will have: template, special tokens and all.
 */
export class EngineTokenizer {
  readonly #options: EngineTokenizerOptions;
  readonly #maxTokens: number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #http: EngineHttp;
  readonly #mayHaveKey: (worker: CatalogueWorker) => boolean;
  readonly #healths = new LRUCache<string, EngineHealth>({ max: MAX_ENGINES });
  /** Parsing one takes longer than all else that is done to ask. */
  readonly #urls = new LRUCache<string, URL>({ max: MAX_ENGINES });
  readonly #remembered: LRUCache<string, KnownTokens> | undefined;
  #turn = 0;
  #asking = 0;

  constructor(
    options: EngineTokenizerOptions & {
      readonly maxTokens: number;
      readonly apiKey?: string | undefined;
      readonly ca?: () => string | undefined;
      /** Which engines are shown the key. */
      readonly mayHaveKeys: MayHaveKeys;
    },
    modules: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#options = options;
    this.#maxTokens = options.maxTokens;
    this.#clock = modules.clock;
    this.#logger = modules.logger;
    this.#mayHaveKey = (worker) =>
      options.apiKey !== undefined && options.mayHaveKeys(worker, worker.baseUrl ?? '');
    this.#http = new EngineHttp({
      maxAnswerBytes: options.maxAnswerBytes,
      connectTimeoutMs: options.timeoutMs,
      apiKey: options.apiKey,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    });
    if (options.maxRememberedBytes > 0)
      this.#remembered = new LRUCache({
        maxSize: options.maxRememberedBytes,
        sizeCalculation: ({ tokens, media = [] }) => tokens.byteLength + ENTRY_BYTES * (1 + media.length),
      });
  }

  /** Never rejects; comes back at the latest when `signal` aborts. `raw`: the text of all of `prompt.body`, where that is known. */
  async tokensOf(
    prompt: PromptRequest,
    model: string,
    group: CatalogueGroup,
    signal: AbortSignal,
    raw?: RawBody,
  ): Promise<PromptTokens> {
    const [first, second] = this.#workersOf(group);
    if (first === undefined) return noTokens(this.#whyNoWorker(group));
    const query = new TokenQuery(prompt, model, raw);
    const key = this.#remembered && query.keyFor(group.group, first);
    const known = key === undefined ? undefined : this.#remembered?.get(key);
    if (known !== undefined) return known;
    const answer = await this.#within(signal, async (bounded) => {
      const answer = await this.#askOne(first, query, bounded);
      if (answer.reason !== 'failed' || second === undefined || bounded.aborted) return answer;
      return this.#askOne(second, query, bounded);
    });
    if (isKnown(answer) && key !== undefined) this.#remembered?.set(key, answer);
    return answer;
  }

  /** The chat that a group's engines make of a request of another API; undefined where that is not known, or not yet. */
  chatOf(prompt: AgentRequest, { workers }: CatalogueGroup): ChatRequest | undefined {
    for (const { instanceId } of workers) {
      const engine = this.#healths.get(instanceId)?.engine;
      if (engine !== undefined) return engine.asChat?.(prompt);
    }
    return undefined;
  }

  /** Asks this one worker, and remembers nothing of the answer. Never rejects. */
  askWorker(
    worker: CatalogueWorker,
    prompt: PromptRequest,
    model: string,
    signal: AbortSignal,
  ): Promise<PromptTokens> {
    const query = new TokenQuery(prompt, model);
    return this.#within(signal, (bounded) => this.#askOne(worker, query, bounded));
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #within(
    signal: AbortSignal,
    ask: (bounded: AbortSignal) => Promise<PromptTokens>,
  ): Promise<PromptTokens> {
    if (signal.aborted || this.#asking >= this.#options.maxConcurrent) return noTokens('timeout');
    const { timeoutMs } = this.#options;
    this.#asking += 1;
    try {
      return await withDeadline({ timeoutMs, signal, late: () => LATE }, { clock: this.#clock }, ask);
    } finally {
      this.#asking -= 1;
    }
  }

  /** Those that can be asked, beginning with another one each time. */
  #workersOf(group: CatalogueGroup): readonly CatalogueWorker[] {
    const nowMs = this.#clock.monotonicMs();
    const { workers } = group;
    const found: CatalogueWorker[] = [];
    this.#turn = (this.#turn + 1) % Number.MAX_SAFE_INTEGER;
    for (let i = 0; i < workers.length && found.length < MAX_TRIES; i += 1) {
      const worker = workers[(this.#turn + i) % workers.length];
      if (worker === undefined || !worker.isOffered || worker.baseUrl === undefined) continue;
      const health = this.#healths.get(worker.instanceId);
      if (health?.isPaused(nowMs) !== true && health?.endpoints.length !== 0) found.push(worker);
    }
    return found;
  }

  #whyNoWorker({ workers }: CatalogueGroup): NoTokensReason {
    const canAnswer = ({ isOffered, baseUrl, instanceId }: CatalogueWorker): boolean =>
      isOffered && baseUrl !== undefined && this.#healths.get(instanceId)?.endpoints.length !== 0;
    return workers.some(canAnswer) ? 'failed' : 'no_tokenizer';
  }

  async #askOne(worker: CatalogueWorker, query: TokenQuery, signal: AbortSignal): Promise<PromptTokens> {
    const { prompt } = query;
    const health = this.#healths.get(worker.instanceId) ?? new EngineHealth();
    this.#healths.set(worker.instanceId, health);
    try {
      health.engine ??= await this.#engineOf(worker, signal);
      const own = await this.#askAll(worker, health, query, signal);
      if (own !== undefined) return own;
      const isText = prompt.media === undefined;
      const chat = isText && isAgents(prompt) ? health.engine.asChat?.(prompt) : undefined;
      if (chat === undefined) return noTokens('no_tokenizer');
      const ofChat = await this.#askAll(worker, health, new TokenQuery(chat, query.model), signal);
      return ofChat ?? noTokens('no_tokenizer');
    } catch (error) {
      const isOfThisPrompt = signal.aborted || error instanceof WrongAnswerError;
      // A request that its client gave up says nothing about the worker.
      if (!isOfThisPrompt) health.gone(this.#clock.monotonicMs());
      // One that cannot make anything of an image may well make tokens of texts.
      else if (prompt.media === undefined && (!signal.aborted || signal.reason === LATE))
        health.strike(this.#clock.monotonicMs());
      this.#logger.debug(
        { worker: workerName(worker), error: describeError(error) },
        'A worker gave no tokens.',
      );
      return noTokens(signal.aborted ? 'timeout' : 'failed');
    }
  }

  /** Asks in turn where the engine takes such a prompt; undefined where nothing is had of any. */
  async #askAll(
    worker: CatalogueWorker,
    health: EngineHealth,
    query: TokenQuery,
    signal: AbortSignal,
  ): Promise<PromptTokens | undefined> {
    const { prompt } = query;
    for (const endpoint of health.endpoints) {
      if (!endpoint.kinds.includes(prompt.kind)) continue;
      if (prompt.media !== undefined && endpoint.readMedia === undefined) continue;
      const answer = await this.#askIn(endpoint, worker, health, query, signal);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  /** Tokens or a reason; undefined when the engine has no such endpoint, or it cannot be asked this there. */
  async #askIn(
    endpoint: TokenEndpoint,
    worker: CatalogueWorker,
    health: EngineHealth,
    query: TokenQuery,
    signal: AbortSignal,
  ): Promise<PromptTokens | undefined> {
    const { prompt } = query;
    if (!endpoint.takesAll && !prompt.isPlain) return undefined;
    const body = query.bodyFor(endpoint);
    if (body === undefined) return noTokens('bad_prompt');
    const url = this.#urlOf(`${worker.baseUrl}${endpoint.path(prompt.kind)}`);
    const mayHaveKey = this.#mayHaveKey(worker);
    const answered = await this.#http.ask(url, { body, mayHaveKey }, signal);
    const { status } = answered;
    if (REFUSING.has(status) || (status === 404 && answered.read(isOfModel))) {
      health.answered();
      return noTokens('bad_prompt');
    }
    if (LACKING.has(status)) {
      health.lacks(endpoint);
      this.#logger.debug(
        { worker: workerName(worker), url: url.href, status },
        'A worker returns no tokens there.',
      );
      return undefined;
    }
    if (status !== 200) throw new WrongAnswerError(`${url.href} answered ${status}`);
    const answer = answered.read((bytes) => parseEngineAnswer(bytes, endpoint.tokenField));
    const tokens = readTokenAnswer(answer, endpoint.tokenField, this.#maxTokens);
    if (tokens === undefined) {
      if (!endpoint.mayDiffer) throw new WrongAnswerError(`${url.href} answered without tokens`);
      health.lacks(endpoint);
      return undefined;
    }
    health.answered();
    if (prompt.media === undefined) return { tokens };
    const media = endpoint.readMedia?.(answer);
    // An older vLLM does not say which images they are.
    if (media === undefined || media.length === 0 || mediaProblem(media, tokens.length) !== undefined)
      return noTokens('media');
    return { tokens, media };
  }

  #urlOf(text: string): URL {
    const url = this.#urls.get(text) ?? new URL(text);
    this.#urls.set(text, url);
    return url;
  }

  /** What it is, by the owner of its models; one that is not known is asked as any other engine is. */
  async #engineOf(worker: CatalogueWorker, signal: AbortSignal): Promise<EngineDescriptor> {
    const url = new URL(`${worker.baseUrl}/v1/models`);
    const ask = { mayHaveKey: this.#mayHaveKey(worker), maxBytes: MAX_MODELS_BYTES };
    const answered = await this.#http.ask(url, ask, signal);
    if (answered.status >= 500) throw new Error(`${url.href} answered ${answered.status}`);
    const models = answered.read(parseEngineAnswer);
    const list = isJsonObject(models) && Array.isArray(models['data']) ? models['data'] : [];
    const owners = list.map((model) => (isJsonObject(model) ? model['owned_by'] : undefined));
    return owners.map(engineOfOwner).find((engine) => engine !== undefined) ?? OTHER;
  }
}

/** All tokens of a prompt. */
interface KnownTokens {
  readonly tokens: Uint32Array;
  readonly media?: readonly MediaItem[];
}

function isKnown(answer: PromptTokens): answer is KnownTokens {
  return answer.tokens !== undefined && answer.reason === undefined;
}

/** Whether a prompt is one of an API that engines make a chat of. */
export function isAgents(prompt: PromptRequest): prompt is AgentRequest {
  return prompt.kind === 'messages' || prompt.kind === 'responses';
}

/** Whether 404 is said of the model, not of the address. */
function isOfModel(body: Buffer): boolean {
  const answer = parseEngineAnswer(body);
  const error = isJsonObject(answer) ? answer['error'] : undefined;
  return isJsonObject(error) && error['param'] === 'model';
}

/** An answer that came, and is none: it may be the prompt's fault. */
class WrongAnswerError extends Error {
  override readonly name = 'WrongAnswerError';
}
