import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Clock, sleep } from '../../edge/platform/clock.js';
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
    const { reusedBlocks } = engine.compute(tokenIds);
    const cachedTokens = cachedOf(reusedBlocks, tokenIds.length, engine.run.tokensPerBlock);
    await sleep(this.#clock, PREFILL_MS_PER_TOKEN * (tokenIds.length - cachedTokens), gone.signal);
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
    else response.writeHead(200, { 'content-type': type }).end(answers.whole(text, usage));
  }

  #answersTo(asked: EngineRequest, { model }: EngineRun): OpenAiAnswers {
    this.#answers += 1;
    const id = `${asked.kind === 'chat' ? 'chatcmpl' : 'cmpl'}-${this.#answers}`;
    return new OpenAiAnswers(asked, { id, created: Math.floor(this.#clock.wallMs() / 1_000), model });
  }
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
