import type { ExactFleet } from './exact-fleet.js';
import { type LoadKind, type LoadRequest, MixedLoad } from './mixed-load.js';

/** What was predicted of one request, and what its engine says. */
export interface SeenRequest {
  readonly number: number;
  readonly kind: LoadKind;
  readonly worker: string;
  /** What the router knew of the caches. */
  readonly mode: string;
  readonly promptTokens: number;
  readonly predictedTokens: number;
  readonly cachedTokens: number;
}

/** What came of many requests. */
export interface Exactness {
  readonly seen: readonly SeenRequest[];
  readonly predictedTokens: number;
  readonly cachedTokens: number;
  /** Requests of which more was predicted than there was. */
  readonly over: readonly SeenRequest[];
  /** Requests of which less was predicted. */
  readonly under: readonly SeenRequest[];
  /** How many were decided in each mode. */
  readonly modes: Readonly<Record<string, number>>;
}

const REQUEST_LIMIT_MS = 120_000;

/** Sends requests one by one, each when all that the one before has changed is known, and compares. */
export async function measureExactness(
  fleet: ExactFleet,
  options: {
    readonly model: string;
    readonly tokensPerBlock: number;
    readonly requests: number;
    readonly seed: number;
    readonly longestWords: number;
    readonly hasChats?: boolean;
  },
): Promise<Exactness> {
  const load = new MixedLoad(options);
  const seen: SeenRequest[] = [];
  for (let number = 0; number < options.requests; number += 1) {
    await fleet.settled();
    seen.push(await ask(fleet, load.next(), number, options));
  }
  return tally(seen);
}

async function ask(
  { frontend }: ExactFleet,
  { kind, path, body, answered }: LoadRequest,
  number: number,
  { model, tokensPerBlock }: { readonly model: string; readonly tokensPerBlock: number },
): Promise<SeenRequest> {
  const response = await fetch(`${frontend.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...body }),
    signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`request ${number}: ${response.status} ${text}`);
  const { choices, usage } = JSON.parse(text);
  answered(choices[0].message?.content ?? choices[0].text ?? '');
  const promptTokens = Number(usage.prompt_tokens);
  // The last token is always computed.
  const blocks = Math.floor((promptTokens - 1) / tokensPerBlock);
  const cachedBlocks = Number(response.headers.get('x-kv-accord-cached-blocks'));
  return {
    number,
    kind,
    worker: response.headers.get('x-kv-accord-worker') ?? '',
    mode: response.headers.get('x-kv-accord-routing-mode') ?? '',
    promptTokens,
    predictedTokens: Math.min(cachedBlocks, blocks) * tokensPerBlock,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
  };
}

function tally(seen: readonly SeenRequest[]): Exactness {
  const modes: Record<string, number> = {};
  for (const { mode } of seen) modes[mode] = (modes[mode] ?? 0) + 1;
  return {
    seen,
    predictedTokens: seen.reduce((sum, { predictedTokens }) => sum + predictedTokens, 0),
    cachedTokens: seen.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0),
    over: seen.filter(({ predictedTokens, cachedTokens }) => predictedTokens > cachedTokens),
    under: seen.filter(({ predictedTokens, cachedTokens }) => predictedTokens < cachedTokens),
    modes,
  };
}
