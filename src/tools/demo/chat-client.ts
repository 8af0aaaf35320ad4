import type { Clock } from '../../edge/platform/clock.js';
import type { ChatMessage } from './engines/word-tokens.js';

/** An answer as the client sees it. */
export interface ChatAnswer {
  readonly text: string;
  /** Who computed it, as the frontend says. */
  readonly worker: string;
  /** Tokens of the prompt, and those of them that were cached, as the engine says. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  /** Milliseconds from the question to the first token. */
  readonly firstTokenMs: number;
}

/** A question of a client that waits for the answer. */
export interface ChatQuestion {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly maxTokens: number;
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
  };
}

/** Asks an OpenAI server and reads its answer as it comes. Rejects with what it says instead of an answer, or with `signal.reason`. */
export async function askChat(
  url: string,
  { maxTokens, ...question }: ChatQuestion,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<ChatAnswer> {
  const askedMs = clock.monotonicMs();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...question,
      max_tokens: maxTokens,
      stream: true,
      stream_options: { include_usage: true },
    }),
    signal,
  });
  if (!response.ok || response.body === null)
    throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  let text = '';
  let firstTokenMs: number | undefined;
  let usage: Chunk['usage'];
  for await (const chunk of chunksOf(response.body)) {
    const content = chunk.choices[0]?.delta.content ?? '';
    if (content !== '') firstTokenMs ??= clock.monotonicMs() - askedMs;
    text += content;
    usage = chunk.usage ?? usage;
  }
  if (firstTokenMs === undefined || usage === undefined) throw new Error(`${url} broke its answer off`);
  return {
    text,
    worker: response.headers.get('x-kv-accord-worker') ?? '',
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    firstTokenMs,
  };
}

/** The events of a stream of our own engines: each is one line of data. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Chunk> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of body) {
    const events = (rest + decoder.decode(piece, { stream: true })).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = event.replace(/^data: /, '');
      if (data !== '[DONE]') yield JSON.parse(data) as Chunk;
    }
  }
}
