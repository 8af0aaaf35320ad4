import { noneFound } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Remark } from './remark.js';

/** A router that found nothing where no prompt has a whole block. Undefined where prompts are longer, or a block was found. */
export function nothingToFindIn(measurements: Measurements): Remark | undefined {
  const { short } = measurements;
  if (short === undefined || noneFound(measurements) === undefined) return undefined;
  const { tokensPerBlock } = short;
  const size = tokensPerBlock === undefined ? '' : ` of ${tokensPerBlock} tokens`;
  const than = `a block${size}`;
  return {
    headline: `Nothing wrong was seen: prompts are shorter than ${than}, and there is nothing to find`,
    says: `Whether the router finds blocks: ${short.says}, less than ${than}, and blocks that are not whole are neither stored nor found.`,
    ask: `Send two equal prompts that are longer than ${than}, one after the other, and run this command again`,
  };
}
