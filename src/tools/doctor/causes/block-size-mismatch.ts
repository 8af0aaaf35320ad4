import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import type { Finding } from '../../manifests/lint/findings/finding.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import type { ProposedFix } from '../diagnosis.js';
import { agreeFixes, alignFixes, registrationFixes } from '../fixes/align-block-size.js';
import { blindWorkers } from '../measurements/blind-workers.js';
import { blindness, engineReuses, noneFound, percent } from '../measurements/cache-hits.js';
import { courseOf } from '../measurements/log-sums.js';
import type { Measurements } from '../measurements/measurements.js';
import { basisRank, basisText, ownerOf, type SizeConflict } from '../sizes.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, findingClue, when } from './clues.js';
import {
  blindRouter,
  missingParentsClue,
  missingShare,
  routersNumber,
  sameSize,
  silentIndex,
  workingRouter,
} from './routing-clues.js';
import { type Numbers, numbersOf, pairOf } from './size-numbers.js';
import { hitsOfAllConcerned, isOfOthers } from './whose-hits.js';

/** Stores that fail from this share on are no accident. */
const DOMINATING = 0.25;
const SIZE_RULES = [
  'block-size-mismatch',
  'block-size-unset',
  'router-block-size-default',
  'indexer-block-size',
];

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
    return {
      headline:
        numbers === undefined
          ? isSilent
            ? 'Block-size mismatch: KV events arrive and engines reuse prefixes, and the index of the router finds none'
            : (inFiles(measurements) ??
              `Block-size mismatch${ofSome(measurements)}${routersNumber(measurements)}: stores have parents that the router does not know, and nothing is found`)
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
      // An engine that set its number itself says which one it is.
      ...(numbers === undefined ? { yieldsTo: ['hybrid_block_size'] } : {}),
      fixes: fixesFor(measurements, conflicts, numbers),
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

function contradictions(measurements: Measurements, conflicts: readonly SizeConflict[]): readonly ClueFor[] {
  const reported = (['accord_mismatch', 'accord_conflict'] as const).map((name) => measurements.signal(name));
  return [
    ...when(measurements.signal('block_not_published'), ({ count, first, values }) =>
      [...values.keys()].flatMap((value) => {
        const [wanted, real] = pairOf(value) ?? [];
        return when(wanted !== real && wanted, () =>
          clueFor(
            'proof',
            `A publisher uses a block size of ${wanted} tokens and drops its engine's blocks of ${real}. Dynamo warns of it three times per listener and never again (here ${countOf(count, 'time')}).`,
            first,
          ),
        );
      }),
    ),
    ...when(measurements.signal('router_size_mismatch'), ({ first, values }) => {
      const [ours, theirs] = [...values.keys()].flatMap((value) => pairOf(value) ?? []);
      const numbers =
        ours === undefined ? 'another block size than it has' : `${theirs} tokens, and it has ${ours}`;
      return clueFor(
        'proof',
        `The router itself reports that a worker asks it for ${numbers}. It goes on with its own, and finds nothing of this worker.`,
        first,
      );
    }),
    ...conflicts
      .filter(({ isProof }) => isProof)
      .flatMap(({ between, ours, theirs }) => [
        clueFor(
          'proof',
          `${capitalised(ownerOf(ours))} has a block size of ${ours.tokensPerBlock} tokens (${basisText(ours)}), and ${between === 'own' ? 'its engine' : ownerOf(theirs)} ${theirs.tokensPerBlock} (${basisText(theirs)}).`,
          ours.origin,
        ),
        clueFor(
          'sign',
          `${capitalised(ownerOf(theirs))} has ${theirs.tokensPerBlock} (${basisText(theirs)}).`,
          theirs.origin,
        ),
      ]),
    ...reported.flatMap((sum) =>
      when(sum, ({ count, first }) =>
        clueFor(
          'proof',
          `kv-accord itself reported different block sizes (${countOf(count, 'time')}).`,
          first,
        ),
      ),
    ),
  ];
}

/** Numbers that stand in files, or nowhere: a signature only together with what happens at run time. */
function unprovenNumbers(measurements: Measurements, conflicts: readonly SizeConflict[]): readonly ClueFor[] {
  const isBroken =
    blindness(measurements) !== undefined ||
    (noneFound(measurements) !== undefined && hasWarnings(measurements));
  const { decides } = measurements.dynamo;
  return [
    ...conflicts
      .filter(({ isProof }) => !isProof)
      // Where the card decides, the frontend's own number is of no consequence, unless something is wrong.
      .filter(({ ours }) => ours.side !== 'frontend' || decides !== 'card' || isBroken)
      .map(({ ours, theirs }) =>
        clueFor(
          isBroken || isHeavy(measurements, ours, theirs) ? 'signature' : 'sign',
          `${capitalised(ownerOf(ours))} has a block size of ${ours.tokensPerBlock} tokens ${basisText(ours)}, and ${ownerOf(theirs)} ${theirs.tokensPerBlock} ${basisText(theirs)}.`,
          ours.origin,
        ),
      ),
    ...sizeFindings(measurements)
      .filter(({ severity }) => severity !== 'note' || isBroken)
      .map((finding) =>
        findingClue(finding, isBroken || finding.severity === 'error' ? 'signature' : 'sign'),
      ),
  ];
}

/** A router whose number is known to decide, before workers whose number is configured. */
function isHeavy(
  { dynamo }: Measurements,
  ours: SizeConflict['ours'],
  theirs: SizeConflict['theirs'],
): boolean {
  if (ours.side === 'frontend' && dynamo.decides === 'variable') return true;
  return (
    theirs.basis !== 'default' && (ours.side !== 'frontend' || basisRank(ours.basis) >= basisRank('in_use'))
  );
}

function sizeFindings({ evidence }: Measurements): readonly Finding[] {
  return evidence.findings.filter(({ ruleId }) => SIZE_RULES.includes(ruleId));
}

function hasWarnings(measurements: Measurements): boolean {
  return (
    measurements.signal('parent_block_not_found') !== undefined ||
    measurements.signal('block_to_remove_not_found') !== undefined ||
    measurements.decisions?.largestTreeSize === 0
  );
}

/** The one reliable counter: stores that had blocks before the publisher compared their size. */
function emptiedStores({ published }: Measurements): readonly ClueFor[] {
  return when(
    published !== undefined && published.emptied > 0 && published,
    ({ emptied, received, origin }) =>
      clueFor(
        'signature',
        `A worker's publisher left ${emptied} of ${countOf(received, 'store')} without any block, as it does with blocks of another size than its own.`,
        origin,
      ),
  );
}

function missingParents(measurements: Measurements): readonly ClueFor[] {
  const { stores } = measurements;
  const share = missingShare(measurements);
  const isReusedBlindly = engineReuses(measurements) !== undefined && blindness(measurements) !== undefined;
  // Hits that end while stores lose their parents are no prompts that share nothing.
  const hasEnded = measurements.ended !== undefined;
  return [
    ...when((share ?? 0) >= DOMINATING && stores, (counts) =>
      missingParentsClue(
        counts,
        isReusedBlindly ? 'signature' : 'sign',
        isReusedBlindly ? ', found nothing, and the engines had prompts in their caches' : '',
      ),
    ),
    ...when(measurements.signal('parent_block_not_found'), ({ count, first }) =>
      clueFor(
        hasEnded || (isReusedBlindly && (share ?? 1) >= DOMINATING) ? 'signature' : 'sign',
        `${countOf(count, 'warning')} "Failed to find parent block".`,
        first,
        'parents_missing',
      ),
    ),
    ...when(
      noneFound(measurements) !== undefined && measurements.signal('block_to_remove_not_found'),
      ({ count, first }) =>
        clueFor(
          'sign',
          `${countOf(count, 'warning')} "Failed to find block to remove": engines drop blocks that the router never had.`,
          first,
          'parents_missing',
        ),
    ),
  ];
}

/** Of some workers nothing is ever found, of the others much. */
function missingParentsOfSome(measurements: Measurements): readonly ClueFor[] {
  const { decisions } = measurements;
  return blindWorkers(measurements).map(({ worker, decisions: count, warnings, others }) =>
    clueFor(
      'signature',
      `Worker ${worker} was chosen ${count} times, never with a block, while ${percent(others)} of the decisions for the others found some; ${countOf(warnings, 'warning')} of missing parents are its own.`,
      decisions?.origin,
      'parents_missing',
    ),
  );
}

/** ` of worker 11`, where the others are found. */
function ofSome(measurements: Measurements): string {
  const blind = blindWorkers(measurements).map(({ worker }) => worker);
  const names = blind.slice(0, MAX_NAMED).join(', ');
  return blind.length === 0 ? '' : ` of worker${blind.length === 1 ? '' : 's'} ${names}`;
}

const MAX_NAMED = 4;

function emptyTree({ decisions }: Measurements): readonly ClueFor[] {
  return when(decisions?.largestTreeSize === 0 && decisions, ({ reporting, origin }) =>
    clueFor(
      'sign',
      `"tree size: 0" in all of ${countOf(reporting, 'decision')}: the router holds no block of any worker.`,
      origin,
      'empty_tree',
    ),
  );
}

/** A mismatch does not pass by itself. */
function onlyAtFirst(measurements: Measurements): readonly ClueAgainst[] {
  const missing = measurements.signal('parent_block_not_found');
  const courses = missing?.logs.map((entry) => courseOf(entry)) ?? [];
  // Warnings end as well when requests do: only a router that then finds something has got over it.
  const hasPassed =
    blindness(measurements) === undefined &&
    courses.length > 0 &&
    courses.every((course) => course !== undefined && course.late === 0 && course.early >= 0.8);
  const isRare = (missingShare(measurements) ?? 1) < 0.05;
  return [
    ...when(hasPassed && missing, ({ first }) =>
      clueAgainst(
        'weakens',
        'The warnings of missing parents stand at the beginning of the log and have ended; those of a mismatch go on.',
        first,
      ),
    ),
    ...when(isRare && measurements.stores, ({ applied, parentMissing, origin }) =>
      clueAgainst(
        'weakens',
        `The router applied ${applied} stores and missed the parents of ${parentMissing}.`,
        origin,
      ),
    ),
  ];
}

/** What a frontend's own number is worth in this version. */
function inertNumber(
  { dynamo, evidence }: Measurements,
  conflicts: readonly SizeConflict[],
): readonly ClueAgainst[] {
  const unset = evidence.findings.find(({ ruleId }) => ruleId === 'block-size-unset');
  const isProven = conflicts.some(({ isProof }) => isProof);
  return when(dynamo.decides === 'card' && !isProven && unset, ({ file, line, column }) =>
    clueAgainst(
      'noted',
      `In Dynamo ${dynamo.version?.text} the worker's model card decides, and the frontend's own number changes nothing: what counts is whether the card has the block size of the engine. The frontend's gauge shows what the card said.`,
      { place: `${file}:${line}:${column}`, text: '' },
    ),
  );
}
