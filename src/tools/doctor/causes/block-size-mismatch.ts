import type { ClueFor } from '../confidence.js';
import type { ProposedFix } from '../diagnosis.js';
import { agreeFixes, alignFixes, registrationFixes } from '../fixes/align-block-size.js';
import { impossibleSizeIn, laterDynamo } from '../fixes/impossible-size.js';
import type { Measurements } from '../measurements/measurements.js';
import type { SizeConflict } from '../measurements/sizes.js';
import type { Cause, Suspicion } from './cause.js';
import { emptyTree, missingParents, missingParentsOfSome, ofSome, onlyAtFirst } from './parent-clues.js';
import { blindRouter, knownNumber, sameSize, silentIndex, workingRouter } from './routing-clues.js';
import {
  contradictions,
  emptiedStores,
  inertNumber,
  sizeFindings,
  unprovenNumbers,
} from './size-number-clues.js';
import { type Numbers, numbersOf } from './size-numbers.js';
import { hitsOfAllConcerned, isOfOthers } from './whose-hits.js';

/** Router and engines use different block sizes. */
export const blockSizeMismatch: Cause = {
  id: 'block_size_mismatch',
  concerns: ({ router, dynamo, kvAccord }) => router || dynamo || kvAccord,
  contradictedBy: (measurements) => hitsOfAllConcerned(measurements, conflictsOf(measurements)),
  suspect(measurements: Measurements): Suspicion | undefined {
    const conflicts = conflictsOf(measurements);
    const cluesFor: readonly ClueFor[] = [
      ...contradictions(measurements, conflicts),
      ...unprovenNumbers(measurements, conflicts),
      ...emptiedStores(measurements),
      ...missingParents(measurements),
      ...missingParentsOfSome(measurements),
      ...emptyTree(measurements),
      ...silentIndex(measurements),
      ...blindRouter(measurements, 'sign'),
    ];
    const isSilent = silentIndex(measurements).length > 0;
    if (!isSilent && !cluesFor.some(({ symptom }) => symptom !== 'router_blind' && symptom !== 'empty_tree'))
      return undefined;
    const numbers = numbersOf(measurements, conflicts);
    const impossible = impossibleSizeIn(measurements);
    return {
      headline:
        impossible !== undefined
          ? `Block-size mismatch: ${impossible.whose} has ${impossible.size}, which is no block size (the other side has ${impossible.other})`
          : numbers === undefined
            ? isSilent
              ? 'Block-size mismatch: KV events arrive and engines reuse prefixes, and the index of the router finds none'
              : (inFiles(measurements) ??
                `Block-size mismatch${ofSome(measurements)}${knownNumber(measurements)}: stores have parents that the router does not know, and nothing is found`)
            : `Block-size mismatch: ${numbers.text}`,
      explanation:
        'Router and engines split prompts into blocks independently of each other. With different sizes no block hash of one is ever a block hash of the other: stores have parents that the router never saw, nothing is ever found, and requests go by load alone. All of them complete, and no message names the block size.',
      cluesFor,
      cluesAgainst: [
        ...(conflicts.length > 0 ? [] : sameSize(measurements)),
        ...(isOfOthers(measurements, conflicts) ? [] : workingRouter(measurements)),
        ...onlyAtFirst(measurements),
        ...inertNumber(measurements, conflicts),
      ],
      explains: ['parents_missing', 'router_blind', 'empty_tree', 'own_number', 'no_stores'],
      // An engine that set its number itself says which one it is, and so does a file beside which a card has another.
      ...(numbers === undefined ? { yieldsTo: ['hybrid_block_size', 'wrong_model_card'] } : {}),
      fixes:
        impossible === undefined ? fixesFor(measurements, conflicts, numbers) : [laterDynamo(impossible)],
    };
  },
};

/** The first that `lint` reports, where nothing was seen at run time. */
function inFiles(measurements: Measurements): string | undefined {
  const [finding] = sizeFindings(measurements);
  const isSeen =
    measurements.stores !== undefined || measurements.signal('parent_block_not_found') !== undefined;
  return finding === undefined || isSeen ? undefined : `Block-size mismatch: ${finding.message}`;
}

/** In a fleet of kv-accord's own, the worker that differs from what the others agreed on has to change. */
function fixesFor(
  measurements: Measurements,
  conflicts: readonly SizeConflict[],
  numbers: Numbers | undefined,
): readonly ProposedFix[] {
  const isOwnFleet =
    measurements.evidence.fleets.length > 0 ||
    measurements.signal('accord_mismatch') !== undefined ||
    measurements.signal('accord_conflict') !== undefined;
  const differing = conflicts.find(({ isProof, between }) => isProof && between !== 'own');
  if (isOwnFleet && differing !== undefined)
    return agreeFixes(measurements, differing.ours, differing.theirs);
  if (measurements.signal('router_size_mismatch') !== undefined) return registrationFixes(measurements);
  return alignFixes(measurements, numbers ?? { engines: undefined, side: 'frontend', isWorkersOwn: false });
}

/** A card that differs from its engine in silence, and workers that are rejected, are causes of their own. */
function conflictsOf(measurements: Measurements): readonly SizeConflict[] {
  const { sizes } = measurements;
  const isRejected = measurements.signal('workers_rejected') !== undefined;
  const isLoud = measurements.signal('block_not_published') !== undefined;
  const changed = [...(measurements.signal('block_size_changed_by_engine')?.values.keys() ?? [])];
  const own = sizes.conflicts.filter(({ between }) => between === 'own');
  const isOfCard = ({ ours, theirs }: SizeConflict): boolean =>
    own.some((card) => card.theirs.who === theirs.who && card.ours.tokensPerBlock === ours.tokensPerBlock);
  return sizes.conflicts.filter((conflict) => {
    // A number that the engine set itself has a cause of its own: a hybrid model.
    if (changed.some((value) => value.split(' ').at(-1) === String(conflict.theirs.tokensPerBlock)))
      return false;
    if (conflict.between === 'own') return isLoud;
    if (conflict.between === 'workers') return !isRejected;
    if (conflict.ours.side === 'frontend' && isRejected && servesSome(measurements, conflict)) return false;
    return isLoud || !isOfCard(conflict);
  });
}

/** Some workers have the frontend's number: those that differ are rejected, and the others work. */
function servesSome({ sizes }: Measurements, { ours }: SizeConflict): boolean {
  return sizes.rows.some(
    ({ side, tokensPerBlock }) => side === 'worker' && tokensPerBlock === ours.tokensPerBlock,
  );
}
