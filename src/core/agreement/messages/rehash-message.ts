import { countOf, nameSome } from '../../text/lists.js';

/** A15: `2 workers of "llama" have blocks of 1 token, re-hashed by their sidecars into the agreed 32 (…): sglang-0, sglang-1.` */
export function rehashMessage(
  group: string,
  own: string | number,
  targets: readonly string[],
  canonical: number,
): string {
  const [has, whose] = targets.length === 1 ? ['has', 'its sidecar'] : ['have', 'their sidecars'];
  const tokens = own === 1 ? '1 token' : `${own} tokens`;
  return (
    `${countOf(targets.length, 'worker')} of "${group}" ${has} blocks of ${tokens}, which ${whose} will re-hash into blocks of ` +
    `the agreed ${canonical} tokens, complete ones only (--block-size-policy=rehash): ${nameSome(targets)}.`
  );
}
