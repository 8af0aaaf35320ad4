import { firstDifferentToken, PROBE_PROMPTS } from '../../core/contract/tokens/token-probes.js';
import type { PromptRequest } from '../../engines/descriptor/token-endpoint.js';
import type { CatalogueWorker } from '../../fleet/catalogue/catalogue.js';
import type { EngineTokenizer } from './engine-tokenizer.js';
import type { LocalTokenizer } from './local-tokenizer.js';
import { DEFAULT_PROMPT_LIMITS, readPrompt } from './read-prompt.js';

/** What became of comparing the tokens made here with an engine's. */
export type CheckResult =
  | { readonly kind: 'same' /** Probes that both tokenised. */; readonly probes: number }
  /** The engine has no `/tokenize`, or no probe could be compared. */
  | { readonly kind: 'unknown' }
  /** It did not answer; it is asked again. */
  | { readonly kind: 'failed' }
  | {
      readonly kind: 'different';
      readonly probe: string;
      /** Where they part. */
      readonly position: number;
      /** Undefined where one side has no more. */
      readonly ours: number | undefined;
      readonly engines: number | undefined;
    };

/**
 * Compares the tokens of some prompts. What one side will not take (a template
 * without system messages, say) is left out: of such requests the engine is
 * asked anyway.
 */
export async function checkTokenizer(
  local: LocalTokenizer,
  engine: EngineTokenizer,
  worker: CatalogueWorker,
  model: string,
  signal: AbortSignal,
): Promise<CheckResult> {
  let probes = 0;
  for (const { name: probe, body } of PROBE_PROMPTS) {
    // SGLang's chat endpoint has no such field, and renders its prompt with it.
    if ('add_generation_prompt' in body) continue;
    const prompt = readPrompt(
      { kind: 'messages' in body ? 'chat' : 'completion', body },
      DEFAULT_PROMPT_LIMITS,
    ) as PromptRequest;
    const engines = await engine.askWorker(worker, prompt, model, signal);
    if (engines.reason === 'no_tokenizer') return { kind: 'unknown' };
    if (engines.reason === 'failed' || engines.reason === 'timeout') return { kind: 'failed' };
    if (engines.tokens === undefined) continue;
    const { tokens: ours, reason } = await local.tokensOf(prompt, signal);
    if (reason === 'timeout') return { kind: 'failed' };
    if (ours === undefined) continue;
    probes += 1;
    const position = firstDifferentToken(ours, engines.tokens);
    if (position !== undefined)
      return { kind: 'different', probe, position, ours: ours[position], engines: engines.tokens[position] };
  }
  return probes > 0 ? { kind: 'same', probes } : { kind: 'unknown' };
}
