import { expect, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import type { CatalogueGroup } from '../../../src/fleet/catalogue/catalogue.js';
import type { TokenSource } from '../../../src/frontend/tokens/prompt-tokens.js';
import { createTokenSource } from '../../../src/frontend/tokens/token-source.js';
import { bundledThread } from '../../frontend/tokens/support/thread-url.js';
import { plain } from '../../frontend/tokens/support/tokenizers.js';
import { RecordingLogger } from '../../support/recording-logger.js';

export type TokenRequest = Readonly<Record<string, unknown>>;

/** What an engine says that it computed: the tokens, or how many where it does not tell them, or that it refused. */
export type Truth = readonly number[] | { readonly count: number } | 'refused';

/** A source of tokens for the current test. */
export async function tokenSource(
  tokenizer: 'engine' | { readonly folder: string },
  logger: RecordingLogger = new RecordingLogger(),
): Promise<TokenSource> {
  const threadUrl = await bundledThread();
  const source = await createTokenSource(
    { tokenizer, engineTimeoutMs: 10_000 },
    { clock: systemClock, logger, threadUrl },
  );
  onTestFinished(() => source.close());
  return source;
}

/** Sends each request for one token of an answer. */
export async function truthsOf(
  url: string,
  model: string,
  requests: readonly TokenRequest[],
): Promise<ReadonlyMap<TokenRequest, Truth>> {
  const truths = new Map<TokenRequest, Truth>();
  for (const request of requests) truths.set(request, await truthOf(url, model, request));
  return truths;
}

async function truthOf(url: string, model: string, request: TokenRequest): Promise<Truth> {
  const answer = await fetch(`${url}/v1/${'messages' in request ? 'chat/' : ''}completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    // vLLM and SGLang each have a flag of their own for it.
    body: JSON.stringify({
      ...request,
      model,
      max_tokens: 1,
      return_token_ids: true,
      return_prompt_token_ids: true,
    }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await answer.text();
  if (!answer.ok) return 'refused';
  const body = JSON.parse(text) as {
    usage: { prompt_tokens: number };
    prompt_token_ids?: number[] | null;
    choices: { prompt_token_ids?: number[] | null }[];
  };
  const tokens = body.prompt_token_ids ?? body.choices[0]?.prompt_token_ids ?? undefined;
  if (tokens === undefined) return { count: body.usage.prompt_tokens };
  expect(tokens).toHaveLength(body.usage.prompt_tokens);
  return tokens;
}

/** Expects a source to have the very same tokens, or none; returns where it had none, with the reasons. */
export async function compareTokens(
  source: TokenSource,
  group: CatalogueGroup,
  model: string,
  truths: ReadonlyMap<TokenRequest, Truth>,
): Promise<[TokenRequest, string][]> {
  const missing: [TokenRequest, string][] = [];
  for (const [body, truth] of truths) {
    const kind = 'messages' in body ? 'chat' : 'completion';
    const made = plain(await source.tokensOf({ kind, body }, model, group, AbortSignal.timeout(30_000)));
    if (truth === 'refused') continue;
    if (typeof made === 'string') missing.push([body, made]);
    else if ('count' in truth) expect({ body, count: made.length }).toEqual({ body, count: truth.count });
    else expect({ body, made }).toEqual({ body, made: truth });
  }
  return missing;
}
