import type { Finding } from '../../manifests/lint/finding.js';
import { counted } from '../counted.js';
import type { ProposedFix } from '../diagnosis.js';
import type { Side } from '../evidence.js';
import { agreeFixes, alignFixes } from '../fixes/align-block-size.js';
import { blindness, courseOf, engineReuses, noneFound, type Picture } from '../picture.js';
import { basisRank, basisWords, ownerOf, type SizeConflict } from '../sizes.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { blindRouter, missingShare, percent, routersNumber, workingRouter } from './shared-clues.js';

/** What a frontend takes when it is told nothing, where its number decides. */
const FRONTEND_DEFAULT = 16;
/** Stores that fail from this share on are no accident. */
const DOMINATING = 0.25;
const SIZE_RULES = [
  'block-size-mismatch',
  'block-size-unset',
  'router-block-size-default',
  'indexer-block-size',
];

/** What is known of the two numbers. */
interface Numbers {
  readonly router: number | undefined;
  readonly engines: number | undefined;
  readonly side: Side;
  readonly isWorkersOwn: boolean;
  /** `frontend 16 by default, worker 32`. */
  readonly words: string;
}

/** Router and engines cut by different numbers. */
export const blockSizeMismatch: Cause = {
  id: 'block_size_mismatch',
  suspect(picture: Picture): Suspicion | undefined {
    const conflicts = conflictsOf(picture);
    const cluesFor: readonly ClueFor[] = [
      ...contradictions(picture, conflicts),
      ...unprovenNumbers(picture, conflicts),
      ...emptiedStores(picture),
      ...missingParents(picture),
      ...emptyTree(picture),
      ...blindRouter(picture, 'sign'),
    ];
    if (!cluesFor.some(({ symptom }) => symptom !== 'router_blind' && symptom !== 'empty_tree'))
      return undefined;
    const numbers = numbersOf(picture, conflicts);
    return {
      headline:
        numbers === undefined
          ? (inFiles(picture) ??
            `Block-size mismatch${routersNumber(picture)}: stores have parents that the router does not know, and nothing is found`)
          : `Block-size mismatch: ${numbers.words}`,
      explanation:
        'Router and engines cut prompts into blocks independently of each other. With different sizes no block hash of one is ever a block hash of the other: stores have parents that the router never saw, nothing is ever found, and requests go by load alone. All of them complete, and no message names the block size.',
      cluesFor,
      cluesAgainst: [
        ...agreeing(picture, conflicts),
        ...workingRouter(picture),
        ...onlyAtFirst(picture),
        ...inertNumber(picture, conflicts),
      ],
      explains: ['parents_missing', 'router_blind', 'empty_tree', 'own_number', 'no_stores'],
      fixes: fixesFor(picture, conflicts, numbers),
    };
  },
};

/** The first that `lint` tells, where nothing was seen at run time. */
function inFiles(picture: Picture): string | undefined {
  const [finding] = sizeFindings(picture);
  const isSeen = picture.stores !== undefined || picture.signal('parent_block_not_found') !== undefined;
  return finding === undefined || isSeen ? undefined : `Block-size mismatch: ${finding.message}`;
}

/** In a fleet of kv-accord's own, whoever differs from what the others agreed on has to change. */
function fixesFor(
  picture: Picture,
  conflicts: readonly SizeConflict[],
  numbers: Numbers | undefined,
): readonly ProposedFix[] {
  const isOwnFleet =
    picture.evidence.fleets.length > 0 ||
    picture.signal('accord_mismatch') !== undefined ||
    picture.signal('accord_conflict') !== undefined;
  const differing = conflicts.find(({ isProof, between }) => isProof && between !== 'own');
  if (isOwnFleet && differing !== undefined) return agreeFixes(picture, differing.ours, differing.theirs);
  return alignFixes(picture, numbers ?? { engines: undefined, side: 'frontend', isWorkersOwn: false });
}

/** A card that differs from its engine in silence, and workers that are rejected, are causes of their own. */
function conflictsOf(picture: Picture): readonly SizeConflict[] {
  const { sizes } = picture;
  const isRejected = picture.signal('workers_rejected') !== undefined;
  const isLoud = picture.signal('block_not_published') !== undefined;
  const changed = [...(picture.signal('block_size_changed_by_engine')?.values.keys() ?? [])];
  const own = sizes.conflicts.filter(({ between }) => between === 'own');
  const isOfCard = ({ ours, theirs }: SizeConflict): boolean =>
    own.some((card) => card.theirs.who === theirs.who && card.ours.tokensPerBlock === ours.tokensPerBlock);
  return sizes.conflicts.filter((conflict) => {
    // A number that the engine set itself has a cause of its own: a hybrid model.
    if (changed.some((value) => value.split(' ').at(-1) === String(conflict.theirs.tokensPerBlock)))
      return false;
    if (conflict.between === 'own') return isLoud;
    if (conflict.between === 'workers') return !isRejected;
    if (conflict.ours.side === 'frontend' && isRejected && servesSome(picture, conflict)) return false;
    return isLoud || !isOfCard(conflict);
  });
}

/** Some workers have the frontend's number: those that differ are rejected, and the others work. */
function servesSome({ sizes }: Picture, { ours }: SizeConflict): boolean {
  return sizes.rows.some(
    ({ side, tokensPerBlock }) => side === 'worker' && tokensPerBlock === ours.tokensPerBlock,
  );
}

function contradictions(picture: Picture, conflicts: readonly SizeConflict[]): readonly ClueFor[] {
  const unpublished = picture.signal('block_not_published');
  const told = picture.signal('accord_mismatch');
  const conflict = picture.signal('accord_conflict');
  return [
    ...[...(unpublished?.values.keys() ?? [])].flatMap((value) => {
      const [wanted, real] = pairOf(value) ?? [];
      return unpublished === undefined || wanted === undefined || wanted === real
        ? []
        : [
            {
              says: `A publisher goes by blocks of ${wanted} tokens and drops its engine's blocks of ${real}. Dynamo says so three times per listener and never again (here ${counted(unpublished.count, 'time')}).`,
              origin: unpublished.first,
              weight: 'proof' as const,
            },
          ];
    }),
    ...conflicts
      .filter(({ isProof }) => isProof)
      .flatMap(({ between, ours, theirs }) => [
        {
          says: `${upper(ownerOf(ours))} has blocks of ${ours.tokensPerBlock} tokens (${basisWords(ours)}), and ${between === 'own' ? 'its engine' : ownerOf(theirs)} ${theirs.tokensPerBlock} (${basisWords(theirs)}).`,
          origin: ours.origin,
          weight: 'proof' as const,
        },
        {
          says: `${upper(ownerOf(theirs))} cuts ${theirs.tokensPerBlock} (${basisWords(theirs)}).`,
          origin: theirs.origin,
          weight: 'sign' as const,
        },
      ]),
    ...[told, conflict].flatMap((sum) =>
      sum === undefined
        ? []
        : [
            {
              says: `kv-accord itself told of different block sizes (${counted(sum.count, 'time')}).`,
              origin: sum.first,
              weight: 'proof' as const,
            },
          ],
    ),
  ];
}

/** Numbers that stand in files, or nowhere: a signature only together with what happens at run time. */
function unprovenNumbers(picture: Picture, conflicts: readonly SizeConflict[]): readonly ClueFor[] {
  const isBroken =
    blindness(picture) !== undefined || (noneFound(picture) !== undefined && hasWarnings(picture));
  const { decides } = picture.dynamo;
  const unproven = conflicts.filter(({ isProof }) => !isProof);
  const findings = sizeFindings(picture);
  return [
    ...unproven
      // Where the card decides, the frontend's own number is of no consequence, unless something is wrong.
      .filter(({ ours }) => ours.side !== 'frontend' || decides !== 'card' || isBroken)
      .map(({ ours, theirs }) => ({
        says: `${upper(ownerOf(ours))} has blocks of ${ours.tokensPerBlock} tokens ${basisWords(ours)}, and ${ownerOf(theirs)} ${theirs.tokensPerBlock} ${basisWords(theirs)}.`,
        origin: ours.origin,
        weight: isBroken || isHeavy(picture, ours, theirs) ? ('signature' as const) : ('sign' as const),
      })),
    ...findings
      .filter(({ severity }) => severity !== 'note' || isBroken)
      .map(({ message, severity, file, line, column }) => ({
        says: `${message}.`,
        origin: { place: `${file}:${line}:${column}`, text: '' },
        weight: isBroken || severity === 'error' ? ('signature' as const) : ('sign' as const),
      })),
  ];
}

/** A router whose number is known to decide, before workers whose number is written down. */
function isHeavy({ dynamo }: Picture, ours: SizeConflict['ours'], theirs: SizeConflict['theirs']): boolean {
  if (ours.side === 'frontend' && dynamo.decides === 'variable') return true;
  return (
    theirs.basis !== 'default' && (ours.side !== 'frontend' || basisRank(ours.basis) >= basisRank('in_use'))
  );
}

function sizeFindings({ evidence }: Picture): readonly Finding[] {
  return evidence.findings.filter(({ ruleId }) => SIZE_RULES.includes(ruleId));
}

function hasWarnings(picture: Picture): boolean {
  return (
    picture.signal('parent_block_not_found') !== undefined ||
    picture.signal('block_to_remove_not_found') !== undefined ||
    picture.decisions?.largestTreeSize === 0
  );
}

/** The one honest counter: stores that had blocks before the publisher compared their size. */
function emptiedStores({ published }: Picture): readonly ClueFor[] {
  return published === undefined || published.emptied === 0
    ? []
    : [
        {
          says: `A worker's publisher left ${published.emptied} of ${counted(published.received, 'store')} without any block, as it does with blocks of another size than its own.`,
          origin: published.origin,
          weight: 'signature',
        },
      ];
}

function missingParents(picture: Picture): readonly ClueFor[] {
  const { stores } = picture;
  const missing = picture.signal('parent_block_not_found');
  const removes = picture.signal('block_to_remove_not_found');
  const share = missingShare(picture);
  const isReused = engineReuses(picture) !== undefined;
  const isBlind = blindness(picture) !== undefined;
  const clues: ClueFor[] = [];
  if (stores !== undefined && share !== undefined && share >= DOMINATING) {
    clues.push({
      says: `The router did not know the parents of ${stores.parentMissing} of ${stores.parentMissing + stores.applied} stores (${percent(share)})${isBlind && isReused ? ', found nothing, and the engines had prompts in their caches' : ''}.`,
      origin: stores.origin,
      weight: isBlind && isReused ? 'signature' : 'sign',
      symptom: 'parents_missing',
    });
  }
  if (missing !== undefined) {
    clues.push({
      says: `${counted(missing.count, 'warning')} "Failed to find parent block".`,
      origin: missing.first,
      weight: isBlind && isReused && (share ?? 1) >= DOMINATING ? 'signature' : 'sign',
      symptom: 'parents_missing',
    });
  }
  if (removes !== undefined && noneFound(picture) !== undefined) {
    clues.push({
      says: `${counted(removes.count, 'warning')} "Failed to find block to remove": engines drop blocks that the router never had.`,
      origin: removes.first,
      weight: 'sign',
      symptom: 'parents_missing',
    });
  }
  return clues;
}

function emptyTree({ decisions }: Picture): readonly ClueFor[] {
  return decisions?.largestTreeSize === 0
    ? [
        {
          says: `"tree size: 0" in all of ${counted(decisions.told, 'decision')}: the router holds no block of anybody.`,
          origin: decisions.origin,
          weight: 'sign',
          symptom: 'empty_tree',
        },
      ]
    : [];
}

function agreeing({ sizes }: Picture, conflicts: readonly SizeConflict[]): readonly ClueAgainst[] {
  return sizes.agreed === undefined || conflicts.length > 0
    ? []
    : [
        {
          says: `Router and engines run with the same number, ${sizes.agreed.tokensPerBlock}.`,
          origin: sizes.agreed.origins[0],
          weight: 'refutes',
        },
      ];
}

/** A mismatch does not pass by itself. */
function onlyAtFirst(picture: Picture): readonly ClueAgainst[] {
  const missing = picture.signal('parent_block_not_found');
  const courses = missing?.logs.map((entry) => courseOf(entry)) ?? [];
  const hasPassed =
    courses.length > 0 &&
    courses.every((course) => course !== undefined && course.late === 0 && course.early >= 0.8);
  const few = (missingShare(picture) ?? 1) < 0.05;
  return [
    ...(missing !== undefined && hasPassed
      ? [
          {
            says: 'The warnings of missing parents stand at the begin of the log and have ended; those of a mismatch go on.',
            origin: missing.first,
            weight: 'weakens' as const,
          },
        ]
      : []),
    ...(few && picture.stores !== undefined
      ? [
          {
            says: `The router applied ${picture.stores.applied} stores and lacked the parents of ${picture.stores.parentMissing}.`,
            origin: picture.stores.origin,
            weight: 'weakens' as const,
          },
        ]
      : []),
  ];
}

/** Honest about what a frontend's own number is worth in this version. */
function inertNumber(
  { dynamo, evidence }: Picture,
  conflicts: readonly SizeConflict[],
): readonly ClueAgainst[] {
  const unset = evidence.findings.find(({ ruleId }) => ruleId === 'block-size-unset');
  const isProven = conflicts.some(({ isProof }) => isProof);
  if (unset === undefined || dynamo.decides !== 'card' || isProven) return [];
  const { file, line, column } = unset;
  return [
    {
      says: `In Dynamo ${dynamo.version?.text} the worker's model card decides, and the frontend's own number changes nothing: what counts is whether the card says what the engine cuts. The frontend's gauge tells what the card said.`,
      origin: { place: `${file}:${line}:${column}`, text: '' },
      weight: 'noted',
    },
  ];
}

function numbersOf(picture: Picture, conflicts: readonly SizeConflict[]): Numbers | undefined {
  const conflict =
    conflicts.find(({ isProof, between }) => isProof && between === 'sides') ??
    conflicts.find(({ isProof }) => isProof) ??
    conflicts[0];
  if (conflict !== undefined) {
    const { ours, theirs, between } = conflict;
    const words =
      between === 'sides'
        ? `${sideWords(ours)}, ${workerWords(theirs)}`
        : between === 'own'
          ? `${ownerOf(theirs)} publishes by ${ours.tokensPerBlock} and its engine cuts ${theirs.tokensPerBlock}`
          : `${ownerOf(ours)} has ${ours.tokensPerBlock}, ${ownerOf(theirs)} ${theirs.tokensPerBlock}`;
    return {
      router: ours.tokensPerBlock,
      engines: theirs.tokensPerBlock,
      side: between === 'sides' ? ours.side : 'worker',
      isWorkersOwn: between !== 'sides' || isCardsNumber(picture, conflict),
      words,
    };
  }
  return unpublishedNumbers(picture) ?? unsetNumbers(picture);
}

/** What the warning itself says. */
function unpublishedNumbers(picture: Picture): Numbers | undefined {
  const [value] = picture.signal('block_not_published')?.values.keys() ?? [];
  const [wanted, real] = value === undefined ? [] : (pairOf(value) ?? []);
  return wanted === undefined || real === undefined
    ? undefined
    : {
        router: wanted,
        engines: real,
        side: 'worker',
        isWorkersOwn: true,
        words: `the publisher of a worker goes by ${wanted}, its engine cuts ${real}`,
      };
}

/** A frontend without a number, of which only `lint` tells: where cards decide it is no number of its own. */
function unsetNumbers({ evidence, sizes }: Picture): Numbers | undefined {
  const isUnset = evidence.findings.some(({ ruleId }) => ruleId === 'block-size-unset');
  const workers = sizes.rows.filter(({ side }) => side === 'worker');
  const [worker] = workers;
  const isOne = workers.every(({ tokensPerBlock }) => tokensPerBlock === worker?.tokensPerBlock);
  if (!isUnset || worker === undefined || !isOne) return undefined;
  return {
    router: FRONTEND_DEFAULT,
    engines: worker.tokensPerBlock,
    side: 'frontend',
    isWorkersOwn: false,
    words: `frontend ${FRONTEND_DEFAULT} by default, ${workerWords(worker)}`,
  };
}

/** Whether the frontend has its number from a card: it runs with it, and its version does not go by a variable. */
function isCardsNumber({ dynamo }: Picture, { ours }: SizeConflict): boolean {
  return ours.side === 'frontend' && ours.basis === 'in_use' && dynamo.decides !== 'variable';
}

function sideWords({ side, tokensPerBlock, basis }: SizeConflict['ours']): string {
  return `${side} ${tokensPerBlock}${basis === 'default' ? ' by default' : ''}`;
}

function workerWords({ tokensPerBlock, basis }: SizeConflict['theirs']): string {
  return `worker ${tokensPerBlock}${basis === 'default' ? ' by default' : ''}`;
}

function pairOf(value: string): readonly [number, number] | undefined {
  const match = /^(\d{1,9}) -> (\d{1,9})$/.exec(value);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
