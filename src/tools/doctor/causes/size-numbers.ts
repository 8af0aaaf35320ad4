import { sizeOf } from '../../../engines/diagnosis/log-fields.js';
import type { Side } from '../../../engines/diagnosis/sighting-words.js';
import { FRONTEND_DEFAULT_TOKENS } from '../../../engines/dynamo/default-sizes.js';
import { isOfAnyListener } from '../measurements/any-listener.js';
import { enginesNumber } from '../measurements/known-sizes.js';
import type { Measurements } from '../measurements/measurements.js';
import { pairOf } from '../measurements/size-pairs.js';
import { ownerOf, type SizeConflict } from '../measurements/sizes.js';
import { emptiedStoreWarnings } from './parent-clues.js';

/** The two numbers of a mismatch. */
export interface Numbers {
  /** What the engines use; undefined when it is not known. */
  readonly engines: number | undefined;
  /** Who uses the other number. */
  readonly side: Side;
  /** True when the worker itself declares or publishes another number than its engine's. */
  readonly isWorkersOwn: boolean;
  /** True when the other number is of no consequence in the version that the files name. */
  readonly isInert?: boolean;
  /** `frontend 16 by default, worker 32`. */
  readonly text: string;
}

/** The numbers of the conflict that explains most, of a warning that has both, or of `lint`. */
export function numbersOf(
  measurements: Measurements,
  conflicts: readonly SizeConflict[],
): Numbers | undefined {
  const conflict =
    conflicts.find(({ isProof, between }) => isProof && between === 'sides') ??
    conflicts.find(({ isProof }) => isProof) ??
    conflicts[0];
  if (conflict === undefined)
    return (
      unpublishedNumbers(measurements) ??
      inertNumbers(measurements) ??
      unsetNumbers(measurements) ??
      emptiedNumbers(measurements)
    );
  const { ours, theirs, between } = conflict;
  return {
    engines: theirs.tokensPerBlock,
    side: between === 'sides' ? ours.side : 'worker',
    isWorkersOwn: between !== 'sides' || isCardsNumber(measurements, conflict),
    text: conflictText(conflict),
  };
}

function conflictText({ ours, theirs, between, ofModel }: SizeConflict): string {
  switch (between) {
    case 'sides':
      return `${sizeText(ours.side, ours)}, ${sizeText('worker', theirs)}${ofModel === undefined ? '' : ` (model ${ofModel})`}`;
    case 'own':
      return `${ownerOf(theirs)} publishes with a block size of ${ours.tokensPerBlock} and its engine uses ${theirs.tokensPerBlock}`;
    case 'workers':
      return `${ownerOf(ours)} has ${ours.tokensPerBlock}, ${ownerOf(theirs)} ${theirs.tokensPerBlock}`;
  }
}

/** What the warning itself says. */
function unpublishedNumbers(measurements: Measurements): Numbers | undefined {
  const [value = ''] = measurements.signal('block_not_published')?.values.keys() ?? [];
  const pair = pairOf(value);
  if (pair === undefined) return undefined;
  const [wanted, real] = pair;
  const text = isOfAnyListener(measurements)
    ? `who reads an engine's events uses ${wanted}, the engine uses ${real}`
    : `the publisher of a worker uses ${wanted}, its engine uses ${real}`;
  return { engines: sizeOf(real), side: 'worker', isWorkersOwn: true, text };
}

/** Two numbers of files of which one is said to be of no consequence, while the router behaves as if it were. */
function inertNumbers(measurements: Measurements): Numbers | undefined {
  const { evidence, sizes, dynamo } = measurements;
  const finding = evidence.findings.find(({ ruleId }) => ruleId === 'block-size-mismatch');
  const [worker, ...others] = sizes.rows.filter(({ side }) => side === 'worker');
  const isOne = others.every(({ tokensPerBlock }) => tokensPerBlock === worker?.tokensPerBlock);
  if (dynamo.decides !== 'card' || finding === undefined || worker === undefined || !isOne) return undefined;
  const { tokensPerBlock: engines } = worker;
  return { engines, side: 'frontend', isWorkersOwn: false, isInert: true, text: finding.message };
}

/** A frontend without a number, of which only `lint` knows: where cards decide it is no number of its own. */
function unsetNumbers(measurements: Measurements): Numbers | undefined {
  const { evidence, sizes } = measurements;
  const isUnset = evidence.findings.some(({ ruleId }) => ruleId === 'block-size-unset');
  const workers = sizes.rows.filter(({ side }) => side === 'worker');
  const [worker] = workers;
  const isOne = workers.every(({ tokensPerBlock }) => tokensPerBlock === worker?.tokensPerBlock);
  if (!isUnset || worker === undefined || !isOne) return undefined;
  const { decides, version } = measurements.dynamo;
  if (decides === 'card')
    return {
      engines: worker.tokensPerBlock,
      side: 'frontend',
      isWorkersOwn: false,
      text: `in Dynamo ${version?.text} the workers' cards decide, and have to say ${worker.tokensPerBlock} as their engines do`,
    };
  return {
    engines: worker.tokensPerBlock,
    side: 'frontend',
    isWorkersOwn: false,
    text: `frontend ${FRONTEND_DEFAULT_TOKENS} by default, ${sizeText('worker', worker)}`,
  };
}

/** A publisher that leaves stores without their blocks registers another number than its engine's, whichever that is. */
function emptiedNumbers(measurements: Measurements): Numbers | undefined {
  const engines = enginesNumber(measurements);
  const isEmptied =
    (measurements.published?.emptied ?? 0) > 0 || emptiedStoreWarnings(measurements) !== undefined;
  if (engines === undefined || !isEmptied) return undefined;
  const text = `the engines use ${engines}, and what their workers publish by is another number`;
  return { engines, side: 'worker', isWorkersOwn: true, text };
}

/** Whether the frontend has its number from a card: it runs with it, and its version does not use a variable. */
function isCardsNumber({ dynamo }: Measurements, { ours }: SizeConflict): boolean {
  return ours.side === 'frontend' && ours.basis === 'in_use' && dynamo.decides !== 'variable';
}

function sizeText(side: Side, { tokensPerBlock, basis }: SizeConflict['ours']): string {
  return `${side} ${tokensPerBlock}${basis === 'default' ? ' by default' : ''}`;
}
