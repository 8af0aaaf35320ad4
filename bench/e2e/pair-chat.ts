import { seededRandom } from '../../src/edge/platform/random.js';

/** Where a turn goes: to a router, or in two steps to the engines themselves, as a router would. */
export type Target =
  | { readonly type: 'router'; readonly url: string }
  | { readonly type: 'engines'; readonly prefill: string; readonly decode: string };

/** A turn to be played; `after` is the turn before it. */
export interface AskedTurn {
  readonly model: string;
  /** Words of its message, which the seed draws. */
  readonly words: number;
  readonly seed: number;
  readonly after?: PairTurn;
}

type Message = { readonly role: 'user' | 'assistant'; readonly content: string };

/** One turn as its client saw it. */
export interface PairTurn {
  readonly status: number;
  /** Of the answer; of a refusal its body. */
  readonly text: string;
  readonly firstMs: number;
  readonly wholeMs: number;
  readonly messages: readonly Message[];
}

/** Words that the tiny model knows. */
const WORDS = 2032;
const ANSWER_TOKENS = 8;
const LIMIT_MS = 60_000;

/** Asks for one streamed answer of a chat. */
export async function playPairChat(
  target: Target,
  { model, words, seed, after }: AskedTurn,
): Promise<PairTurn> {
  const random = seededRandom(seed);
  const content = Array.from({ length: words }, () => `w${Math.floor(random.fraction() * WORDS)}`).join(' ');
  const messages: readonly Message[] = [
    ...(after?.messages ?? []),
    ...(after === undefined ? [] : [{ role: 'assistant', content: after.text } as const]),
    { role: 'user', content },
  ];
  const body = { model, messages, max_tokens: ANSWER_TOKENS, temperature: 0, ignore_eos: true };
  const startedMs = performance.now();
  const [url, extra] =
    target.type === 'router' ? [target.url, {}] : [target.decode, await computed(target, body)];
  const answer = await post(url, { ...body, ...extra, stream: true });
  let firstMs: number | undefined;
  let raw = '';
  const decoder = new TextDecoder();
  for await (const piece of answer.body ?? []) {
    firstMs ??= performance.now() - startedMs;
    raw += decoder.decode(piece as Uint8Array, { stream: true });
  }
  const wholeMs = performance.now() - startedMs;
  const text = answer.ok ? textOf(raw) : raw;
  return { status: answer.status, text, firstMs: firstMs ?? wholeMs, wholeMs, messages };
}

/** What the prefill engine answers for the decode engine. */
async function computed({ prefill }: Extract<Target, { type: 'engines' }>, body: object): Promise<object> {
  const asked = { do_remote_decode: true, do_remote_prefill: false };
  const answer = await post(prefill, { ...body, max_tokens: 1, kv_transfer_params: asked });
  const { kv_transfer_params } = (await answer.json()) as { readonly kv_transfer_params?: unknown };
  return { kv_transfer_params };
}

function post(url: string, body: object): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(LIMIT_MS),
  });
}

function textOf(events: string): string {
  return events
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map(
      (line) => JSON.parse(line.slice(6)) as { choices?: readonly { delta?: { content?: string | null } }[] },
    )
    .map(({ choices }) => choices?.[0]?.delta?.content ?? '')
    .join('');
}
