import type { ResultCounts } from './result-window.js';

/** Why a rank is doubted: the numbers, and the likeliest cause. A clause of a few hundred characters. */
export function doubtMessage(window: ResultCounts, rank: number | undefined): string {
  const { requests, predictedTokens, reportedTokens, overTokens, underTokens, contradictions } = window;
  return (
    `${rank === undefined ? '' : `rank ${rank}: `}${contradictions} of its last ${requests} results contradict its cache view: ` +
    `${predictedTokens} prompt tokens predicted, ${reportedTokens} reported by the engine ` +
    `(${overTokens} predicted that it had not, ${underTokens} that it had beyond); likeliest cause: ${causeOf(window)}`
  );
}

/** Why the KV events of a rank are doubted: those of the prompts that it computes do not come. */
export function storeDoubtMessage(
  {
    looks,
    missing,
    elsewhere,
  }: { readonly looks: number; readonly missing: number; readonly elsewhere: number },
  { reportedTokens }: ResultCounts,
  rank: number | undefined,
): string {
  const likeliest =
    elsewhere > 0
      ? `its KV events are those of another engine (swapped event endpoints): ${elsewhere} times another worker's events named them`
      : reportedTokens > 0
        ? 'its KV events are lost or those of another engine, or its chat template or tokenizer is not the one that the prompts were looked up with'
        : 'its prefix cache is off, its KV events are lost or those of another engine, or its tokenizer or chat template is another one';
  return (
    `${rank === undefined ? '' : `rank ${rank}: `}no KV event of it named the blocks of ${missing} of the last ${looks} prompts that it computed; ` +
    `likeliest cause: ${likeliest}`
  );
}

function causeOf({ overTokens, underTokens, otherPrompts, reportedTokens }: ResultCounts): string {
  if (otherPrompts > 0)
    return 'its tokenizer or chat template is not the one that the prompts were looked up with (it counts other prompt tokens)';
  if (underTokens > overTokens)
    return (
      'events of it are lost, removals are announced of blocks that stay, or its chat template or tokenizer is not ' +
      'the one that the prompts were looked up with'
    );
  if (reportedTokens === 0)
    return 'its prefix cache is off, or its KV events are those of another engine (swapped event endpoints)';
  return (
    'its KV events are those of another engine (swapped event endpoints), its evictions are not announced, it finds ' +
    'prefixes by other rules (several KV cache groups), or requests have LoRA names or cache salts that the router is not given'
  );
}
