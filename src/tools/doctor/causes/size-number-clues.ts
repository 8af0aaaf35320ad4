import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import type { Finding } from '../../manifests/lint/findings/finding.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import { blindness, noneFound } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import { pairOf } from '../measurements/size-pairs.js';
import { basisRank, basisText, ownerOf, type SizeConflict } from '../measurements/sizes.js';
import { clueAgainst, clueFor, findingClue, when } from './clues.js';
import { hasParentWarnings } from './parent-clues.js';

const SIZE_RULES = [
  'block-size-mismatch',
  'block-size-unset',
  'router-block-size-default',
  'indexer-block-size',
];

/** Numbers that running programs contradict each other with. */
export function contradictions(
  measurements: Measurements,
  conflicts: readonly SizeConflict[],
): readonly ClueFor[] {
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
export function unprovenNumbers(
  measurements: Measurements,
  conflicts: readonly SizeConflict[],
): readonly ClueFor[] {
  const isBroken =
    blindness(measurements) !== undefined ||
    (noneFound(measurements) !== undefined && hasParentWarnings(measurements));
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

/** What `lint` reports of block sizes. */
export function sizeFindings({ evidence }: Measurements): readonly Finding[] {
  return evidence.findings.filter(({ ruleId }) => SIZE_RULES.includes(ruleId));
}

/** The one reliable counter: stores that had blocks before the publisher compared their size. */
export function emptiedStores({ published }: Measurements): readonly ClueFor[] {
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

/** What a frontend's own number is worth in this version. */
export function inertNumber(
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
