/** An engine with an OpenAI API; the model that it serves is `tiny`. */
interface Engine {
  readonly url: string;
}

/** A prompt that is sent to an engine. */
export interface SentPrompt {
  /** Token ids, so that both sides know them. */
  readonly tokens: readonly number[];
  /** The name of a LoRA adapter. */
  readonly adapter?: string;
  /** The `cache_salt` of the request. */
  readonly salt?: string;
}

/** Sends a prompt, for one token of an answer; resolves with how many of its tokens the engine had in its cache. */
export async function prefill(
  { url }: Engine,
  { tokens, adapter = 'tiny', salt }: SentPrompt,
): Promise<number> {
  const answer = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: adapter, prompt: tokens, max_tokens: 1, cache_salt: salt }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${body}`);
  return JSON.parse(body).usage.prompt_tokens_details?.cached_tokens ?? 0;
}

/** `count` tokens of the tiny model's words, from the `first` on; others for another `step`. */
export function words(count: number, first = 0, step = 1): number[] {
  return Array.from({ length: count }, (_, i) => 16 + ((first + i * step) % 2032));
}
