import type { ClueFor } from '../confidence.js';
import { alignFixes } from '../fixes/align-block-size.js';
import { noneFound } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';
import { sameSize, workingRouter } from './routing-clues.js';

/** Characters of a value that a clue quotes. */
const MAX_QUOTED_CHARS = 80;

/** A hybrid model's effective size is another than the one that is configured. */
export const hybridBlockSize: Cause = {
  id: 'hybrid_block_size',
  concerns: ({ router, dynamo, kvAccord }) => router || dynamo || kvAccord,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const { sizes } = measurements;
    const changed = measurements.signal('block_size_changed_by_engine');
    const [kind] = measurements.settings('attention_kinds').filter(({ value }) => isMixed(value));
    const effective = effectiveSize(changed?.values);
    const router = sizes.rows.find(
      ({ side, basis }) => side !== 'worker' && (basis === 'in_use' || basis === 'configured'),
    );
    const isBlind = noneFound(measurements) !== undefined;
    const differs = effective !== undefined && router !== undefined && router.tokensPerBlock !== effective;
    const cluesFor: readonly ClueFor[] = [
      ...when(changed, ({ first }) =>
        clueFor(
          differs ? 'proof' : isBlind ? 'signature' : 'sign',
          `The engine set its block size itself${effective === undefined ? '' : ` to ${effective} tokens`}, as it does for hybrid models and for attention backends that take one size alone.`,
          first,
        ),
      ),
      ...when(differs && router, ({ side, tokensPerBlock, origin }) =>
        clueFor('proof', `The ${side} uses ${tokensPerBlock}.`, origin),
      ),
      ...when(isBlind && kind, ({ value, origin }) =>
        clueFor(
          'sign',
          `The model has several kinds of attention (${value.slice(0, MAX_QUOTED_CHARS)}): its blocks need not have the size that is configured.`,
          origin,
        ),
      ),
    ];
    if (cluesFor.length === 0) return undefined;
    const numbers =
      effective === undefined
        ? ''
        : ` (${effective}${differs ? `, and the ${router.side} uses ${router.tokensPerBlock}` : ''})`;
    const isConcerned = effective === undefined || sizes.agreed?.tokensPerBlock === effective;
    return {
      headline: `The engine's effective block size is not the one that is configured${numbers}`,
      explanation:
        'Models that mix attention with state-space layers or windows need blocks whose pages have one size in bytes, and some attention backends (FlashMLA, CUTLASS MLA) take one block size alone. The engine raises the number by itself as it starts; a program that uses the flag, or the default, splits prompts differently.',
      cluesFor,
      cluesAgainst: [...workingRouter(measurements), ...(isConcerned ? sameSize(measurements) : [])],
      explains: ['router_blind', 'parents_missing', 'empty_tree'],
      fixes: alignFixes(measurements, {
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
