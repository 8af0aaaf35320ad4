import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, sleep } from '../../../edge/platform/clock.js';
import type { EngineRun } from './engine-surface.js';
import type { ComputedPrompt } from './kv-cache.js';
import { type EngineUsage, OpenAiAnswers } from './openai-answers.js';
import { type EngineRequest, modelOf, readEngineRequest } from './openai-request.js';
import { tokensOfText } from './word-tokens.js';

/** Simulated time for a token of a prompt that is not in the KV cache: 2,500 in a second, as a large model on one GPU. */
const PREFILL_MS_PER_TOKEN = 0.4;
/** Simulated time for a token of an answer. */
const DECODE_MS_PER_TOKEN = 4;

/** Longest body. Nobody has a longer prompt for an engine that only pretends. */
const MAX_BODY_BYTES = 1024 * 1024;

/** What it answers, over and over. */
const WORDS = 'This answer is simulated, and only the time that it takes depends on what was cached.'.split(
  ' ',
);

/** The engine behind the API. */
export interface ComputingEngine {
  readonly run: EngineRun;
  /** Computes what its KV cache does not hold yet. */
  compute(tokenIds: readonly number[]): ComputedPrompt;
}

/** vLLM's OpenAI server: its answers take the time that a prefill would, and say how much of the prompt was cached. */
export class SimulatedOpenAi {
  readonly #clock: Clock;
  #answers = 0;

  constructor(modules: { readonly clock: Clock }) {
    this.#clock = modules.clock;
  }

  /** Answers a POST. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    engine: ComputingEngine,
  ): Promise<void> {
    const kinds = PATHS.get(path);
    if (kinds === undefined) return answerJson(response, 404, { detail: 'Not Found' });
    // What cannot be read is answered below, like every other bad request.
    const body = await readBody(request).catch(() => undefined);
    const asked = readEngineRequest(body);
    const { model, maxModelLen } = engine.run;
    if (asked === undefined || asked.tokenIds.length > maxModelLen || !kinds.has(asked.kind))
      return answerJson(response, 400, badRequest(maxModelLen));
    if (modelOf(body) !== model) return answerJson(response, 404, noModel(modelOf(body)));
    if (path !== '/tokenize') return this.#generate(asked, response, engine);
    const { tokenIds: tokens } = asked;
    answerJson(response, 200, { count: tokens.length, max_model_len: maxModelLen, tokens });
  }

  async #generate(asked: EngineRequest, response: ServerResponse, engine: ComputingEngine): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const { tokenIds, maxTokens, isStream } = asked;
    const received = await this.#receive(asked, engine, gone.signal);
    if (received.failure !== undefined) {
      answerFailure(response, isStream, received.failure);
      return;
    }
    const { reusedBlocks } = engine.compute(tokenIds);
    const cachedTokens =
      received.reportedTokens ?? cachedOf(reusedBlocks, tokenIds.length, engine.run.tokensPerBlock);
    const computed = received.isComputed ? 0 : tokenIds.length - cachedTokens;
    await sleep(this.#clock, PREFILL_MS_PER_TOKEN * computed, gone.signal);
    const handedOver = gone.signal.aborted ? undefined : handOver(asked, engine, cachedTokens);
    const answers = this.#answersTo(asked, engine.run);
    const words = Array.from({ length: maxTokens }, (_, index) => WORDS[index % WORDS.length] ?? '');
    const type = isStream ? 'text/event-stream; charset=utf-8' : 'application/json';
    for (const [index, word] of words.entries()) {
      if (index > 0) await sleep(this.#clock, DECODE_MS_PER_TOKEN, gone.signal);
      if (gone.signal.aborted) return;
      if (!isStream) continue;
      if (index === 0) response.writeHead(200, { 'content-type': type });
      const text = index === 0 ? word : ` ${word}`;
      response.write(answers.token(text, index === 0, index === words.length - 1));
    }
    // An engine keeps the blocks of what it generated as well: the next turn begins with them.
    const text = words.join(' ');
    engine.compute([...tokenIds, ...tokensOfText(text)]);
    const usage: EngineUsage = {
      promptTokens: tokenIds.length,
      cachedTokens,
      completionTokens: words.length,
    };
    if (isStream) response.end(answers.end(usage));
    else response.writeHead(200, { 'content-type': type }).end(answers.whole(text, usage, handedOver));
  }

  /** Waits for what another engine computed, where a request comes with the way to it. */
  async #receive(
    { transfer, bootstrapRoom, tokenIds }: EngineRequest,
    { run: { part } }: ComputingEngine,
    signal: AbortSignal,
  ): Promise<Received> {
    if (part?.role !== 'decode') return NOTHING_RECEIVED;
    const { network } = part;
    if (bootstrapRoom !== undefined) {
      const deadlineMs = this.#clock.monotonicMs() + MEETING_MS;
      while (!network.has(bootstrapRoom) && this.#clock.monotonicMs() < deadlineMs && !signal.aborted)
        await sleep(this.#clock, LOOK_EVERY_MS, signal);
    } else if (transfer?.['do_remote_prefill'] !== true) return NOTHING_RECEIVED;
    await sleep(this.#clock, network.msPerToken * tokenIds.length, signal);
    if (signal.aborted) return NOTHING_RECEIVED;
    try {
      network.fetch(bootstrapRoom ?? String(transfer?.['remote_request_id']));
    } catch (error) {
      return { isComputed: false, failure: (error as Error).message };
    }
    const reported = transfer?.['remote_prefill_cached_tokens'];
    return { isComputed: true, ...(typeof reported === 'number' ? { reportedTokens: reported } : {}) };
  }

  #answersTo(asked: EngineRequest, { model }: EngineRun): OpenAiAnswers {
    this.#answers += 1;
    const id = `${asked.kind === 'chat' ? 'chatcmpl' : 'cmpl'}-${this.#answers}`;
    return new OpenAiAnswers(asked, { id, created: Math.floor(this.#clock.wallMs() / 1_000), model });
  }
}

/** How long an engine waits for its partner, and how often it looks. */
const MEETING_MS = 5_000;
const LOOK_EVERY_MS = 2;

/** What came from another engine. */
interface Received {
  /** Whether the whole prompt came over. */
  readonly isComputed: boolean;
  /** What is reported as cached: what the other engine found. Absent: what this one has. */
  readonly reportedTokens?: number;
  readonly failure?: string;
}

const NOTHING_RECEIVED: Received = { isComputed: false };

/** Keeps the blocks of a prompt for another engine; comes back with vLLM's parameters for it, undefined where nobody asked. */
function handOver(
  { transfer, bootstrapRoom, tokenIds }: EngineRequest,
  { run }: ComputingEngine,
  cachedTokens: number,
): unknown {
  const { part, tokensPerBlock } = run;
  if (part?.role !== 'prefill') return undefined;
  const engineId = engineIdOf(run);
  if (bootstrapRoom !== undefined) {
    part.network.hold(engineId, tokenIds, bootstrapRoom);
    return undefined;
  }
  if (transfer?.['do_remote_decode'] !== true) return undefined;
  const blocks = Math.ceil(tokenIds.length / tokensPerBlock);
  return {
    do_remote_prefill: true,
    do_remote_decode: false,
    remote_block_ids: [Array.from({ length: blocks }, (_, id) => id)],
    remote_engine_id: engineId,
    remote_request_id: part.network.hold(engineId, tokenIds),
    remote_host: '127.0.0.1',
    remote_port: 5600,
    tp_size: 1,
    remote_num_tokens: tokenIds.length,
    transfer_mode: 'pull',
    remote_prefill_cached_tokens: cachedTokens,
  };
}

/** The name of one start of an engine among those it exchanges blocks with. */
export function engineIdOf({ startedAtMs, kvEventPorts }: EngineRun): string {
  return `${kvEventPorts?.live ?? 'engine'}-${startedAtMs}`;
}

/** As vLLM 0.32 answers where nothing came over: a stream has begun by then. */
function answerFailure(response: ServerResponse, isStream: boolean, message: string): void {
  const error = { message, type: 'InternalServerError', param: null, code: 500 };
  if (!isStream) {
    answerJson(response, 500, { error });
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.end(`data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`);
}

/** What can be asked where. */
const PATHS: ReadonlyMap<string, ReadonlySet<EngineRequest['kind']>> = new Map([
  ['/v1/chat/completions', new Set<EngineRequest['kind']>(['chat'])],
  ['/v1/completions', new Set<EngineRequest['kind']>(['completion'])],
  ['/tokenize', new Set<EngineRequest['kind']>(['chat', 'completion'])],
]);

/** Of a prompt that is cached to its end an engine computes the last block again: it needs what comes out of it. */
function cachedOf(reusedBlocks: number, promptTokens: number, tokensPerBlock: number): number {
  return Math.min(reusedBlocks, Math.floor((promptTokens - 1) / tokensPerBlock)) * tokensPerBlock;
}

/** Rejects for what is too long, or no JSON. */
async function readBody(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MAX_BODY_BYTES) throw new RangeError('the body is too long');
    pieces.push(piece);
  }
  return JSON.parse(Buffer.concat(pieces, size).toString('utf8'));
}

function noModel(model: unknown): unknown {
  const message = `The model \`${String(model)}\` does not exist.`;
  return { error: { message, type: 'NotFoundError', param: 'model', code: 404 } };
}

function badRequest(maxModelLen: number): unknown {
  const message = `A simulated engine takes a text of at most ${maxModelLen} tokens: messages or a prompt.`;
  return { error: { message, type: 'BadRequestError', param: null, code: 400 } };
}

function answerJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
