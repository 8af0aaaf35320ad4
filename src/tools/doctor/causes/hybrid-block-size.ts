import { alignFixes } from '../fixes/align-block-size.js';
import { noneFound, type Picture } from '../picture.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { workingRouter } from './shared-clues.js';

/** A hybrid model's effective size is another than the one that is told. */
export const hybridBlockSize: Cause = {
  id: 'hybrid_block_size',
  suspect(picture: Picture): Suspicion | undefined {
    const changed = picture.signal('block_size_changed_by_engine');
    const kinds = picture.settings('attention_kinds').filter(({ value }) => isMixed(value));
    const [kind] = kinds;
    const effective = effectiveSize(changed?.values);
    const router = picture.sizes.rows.find(
      ({ side, basis }) => side !== 'worker' && (basis === 'in_use' || basis === 'configured'),
    );
    const isBlind = noneFound(picture) !== undefined;
    const differs = effective !== undefined && router !== undefined && router.tokensPerBlock !== effective;
    const cluesFor: readonly ClueFor[] = [
      ...(changed === undefined
        ? []
        : [
            {
              says: `The engine set its block size itself${effective === undefined ? '' : ` to ${effective} tokens`}, as it does for hybrid models.`,
              origin: changed.first,
              weight: differs ? ('proof' as const) : isBlind ? ('signature' as const) : ('sign' as const),
            },
          ]),
      ...(differs
        ? [
            {
              says: `The ${router.side} goes by ${router.tokensPerBlock}.`,
              origin: router.origin,
              weight: 'proof' as const,
            },
          ]
        : []),
      ...(kind !== undefined && isBlind
        ? [
            {
              says: `The model has several kinds of attention (${kind.value.slice(0, 80)}): its blocks need not have the size that is configured.`,
              origin: kind.origin,
              weight: 'sign' as const,
            },
          ]
        : []),
    ];
    if (cluesFor.length === 0) return undefined;
    const numbers =
      effective === undefined
        ? ''
        : ` (${effective}${differs ? `, and the ${router.side} goes by ${router.tokensPerBlock}` : ''})`;
    return {
      headline: `Hybrid model: the engine's effective block size is not the one that is configured${numbers}`,
      explanation:
        'Models that mix attention with state-space layers or windows need blocks whose pages have one size in bytes. The engine raises the number by itself as it starts; who goes by the flag, or by the default, cuts prompts differently.',
      cluesFor,
      cluesAgainst: [...workingRouter(picture), ...sameNumber(picture, effective)],
      explains: ['router_blind', 'parents_missing', 'empty_tree'],
      fixes: alignFixes(picture, {
        engines: effective,
        side: router?.side ?? 'worker',
        isWorkersOwn: router?.side === 'frontend' || router === undefined,
      }),
    };
  },
};

function isMixed(value: string): boolean {
  return /mamba|linear|ssm|hybrid|swa|sliding/i.test(value) || value.split(/[,+]/).length > 1;
}

/** `16 -> 528` or `528`: the last number. */
function effectiveSize(values: ReadonlyMap<string, number> | undefined): number | undefined {
  const sizes = [...(values?.keys() ?? [])].flatMap((value) => /(\d{1,7})$/.exec(value)?.[1] ?? []);
  const [first] = sizes;
  return first !== undefined && sizes.every((size) => size === first) ? Number(first) : undefined;
}

function sameNumber({ sizes }: Picture, effective: number | undefined): readonly ClueAgainst[] {
  const { agreed } = sizes;
  return agreed === undefined || (effective !== undefined && agreed.tokensPerBlock !== effective)
    ? []
    : [
        {
          says: `Router and engines run with the same number, ${agreed.tokensPerBlock}.`,
          origin: agreed.origins[0],
          weight: 'refutes',
        },
      ];
}
