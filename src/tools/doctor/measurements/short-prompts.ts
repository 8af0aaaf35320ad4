import type { Evidence, Origin } from '../evidence.js';
import { trafficOf } from '../memory/traffic.js';
import { MIN_DECISIONS } from './cache-hits.js';
import type { SizeTable } from './sizes.js';

/** Sequences that are shorter than a block: engines store none of them, and a router finds none. */
export interface ShortPrompts {
  /** Of a block; undefined where it was not seen. */
  readonly tokensPerBlock: number | undefined;
  /** `Prompts and answers have 612 tokens on average`. */
  readonly says: string;
  readonly origin: Origin;
}

/** By what a page or a log counts of their tokens, beside the smallest block size of a running program; else by a router's own load. */
export function shortPromptsOf(evidence: Evidence, { rows }: SizeTable): ShortPrompts | undefined {
  const sizes = rows.flatMap(({ basis, tokensPerBlock }) =>
    basis === 'in_use' || basis === 'observed' ? [tokensPerBlock] : [],
  );
  const tokensPerBlock = sizes.length === 0 ? undefined : Math.min(...sizes);
  const mean = meanTokens(evidence);
  if (mean !== undefined && tokensPerBlock !== undefined)
    return mean.tokens < tokensPerBlock
      ? {
          tokensPerBlock,
          says: `${mean.what} have ${Math.round(mean.tokens)} tokens on average`,
          origin: mean.origin,
        }
      : undefined;
  return byLoad(evidence.logs, tokensPerBlock);
}

function meanTokens(
  evidence: Evidence,
): { readonly tokens: number; readonly what: string; readonly origin: Origin } | undefined {
  const { sequenceTokens } = trafficOf(evidence);
  if (sequenceTokens !== undefined)
    return { tokens: sequenceTokens.value, what: 'Prompts and answers', origin: sequenceTokens.origin };
  const tally = evidence.logs
    .flatMap(({ decisions }) => decisions ?? [])
    .find(({ prompts, promptTokens }) => prompts >= MIN_DECISIONS && promptTokens > 0);
  if (tally === undefined) return undefined;
  return { tokens: tally.promptTokens / tally.prompts, what: 'Prompts', origin: tally.last };
}

/** The load of a chosen worker has the blocks of the request in it: where it never is one, no prompt has a whole one. */
function byLoad(logs: Evidence['logs'], tokensPerBlock: number | undefined): ShortPrompts | undefined {
  const loads = logs.flatMap(({ decisions, costs }) =>
    decisions?.loadBlocks === undefined || weighsLess(costs)
      ? []
      : [{ load: decisions.loadBlocks, decisions }],
  );
  const [first] = loads;
  const isShort = loads.every(({ load }) => load.max < 1 && load.mean > 0 && load.count >= MIN_DECISIONS);
  if (first === undefined || !isShort) return undefined;
  return {
    tokensPerBlock,
    says: `The load of the chosen worker with the request on it is never one block (logit ${first.load.max} at most)`,
    origin: first.decisions.last,
  };
}

/** Whether a router counts less than a whole block for one that is to be computed. */
function weighsLess(costs: Evidence['logs'][number]['costs']): boolean {
  return [...(costs?.overlapWeights.keys() ?? [])].some((weight) => !(Number(weight) >= 1));
}
