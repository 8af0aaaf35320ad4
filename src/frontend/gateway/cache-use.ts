import { isGiven } from '../../edge/platform/data/json-object.js';
import type { CacheUse } from '../../fleet/router/routing.js';

type Body = Readonly<Record<string, unknown>>;

/**
 * What an engine does with its prefix cache for a request. vLLM 0.32 does not
 * read it where the prompt's log probabilities are wanted
 * (`SamplingParams.skip_reading_prefix_cache`): by `prompt_logprobs`, or by
 * `echo` together with `logprobs` (`top_logprobs` of a chat); SGLang 0.5.23
 * computes them from the prompt's beginning for `echo` with `logprobs`. Of
 * several answers (`n`, `best_of`) only the first has to compute the prompt.
 */
export function cacheUseOf(body: Body): CacheUse {
  if (isGiven(body['prompt_logprobs']) || isGiven(body['prompt_logprob_token_ids'])) return 'unread';
  if (body['echo'] === true && wantsLogprobs(body)) return 'unread';
  const samples = [body['n'], body['best_of']].some((count) => typeof count === 'number' && count > 1);
  return samples || body['use_beam_search'] === true ? 'several' : 'plain';
}

/** A number of them, 0 as well, or in a chat whether there are to be any. */
function wantsLogprobs(body: Body): boolean {
  const { logprobs, top_logprobs: top } = body;
  return typeof logprobs === 'number' || logprobs === true || isGiven(top);
}
