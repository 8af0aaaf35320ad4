import type { Cause, Suspicion } from './causes/cause.js';
import { clueAgainst } from './causes/clues.js';
import {
  type ClueAgainst,
  type ClueFor,
  confidenceOf,
  confidenceRank,
  isContradicted,
} from './confidence.js';
import { type Assessment, CAUSES, type Clue, type Confidence } from './diagnosis.js';
import { withOwnChecks } from './fixes/own-checks.js';
import type { Measurements } from './measurements/measurements.js';

/** A suspicion with its weight. */
interface RatedCause {
  readonly cause: Cause;
  readonly suspicion: Suspicion;
  readonly cluesFor: readonly ClueFor[];
  readonly cluesAgainst: readonly ClueAgainst[];
  readonly confidence: Confidence;
}

/** From here on causes class errors in whatever words. */
const FIRST_GENERAL = CAUSES.indexOf('control_plane_unreachable');

/**
 * Ranks the causes: the surest first, equally sure ones in
 * the order of `CAUSES`, unless one says what another leaves open. What a surer cause accounts for is taken from those
 * that are less sure; one that has nothing left is dropped. What may be meant comes last.
 */
export function rankCauses(causes: readonly Cause[], measurements: Measurements): readonly Assessment[] {
  let open = causes.flatMap((cause) => {
    const isSaid = measurements.knownFaults(cause.id).length > 0;
    if (!isSaid && !cause.concerns(measurements.seen)) return [];
    const suspicion = cause.suspect(measurements);
    if (suspicion === undefined) return [];
    const contradictions = cause
      .contradictedBy(measurements)
      .map(({ says, origin }) => clueAgainst('contradicts', says, origin));
    const cluesAgainst = [...suspicion.cluesAgainst, ...contradictions];
    return rated({ cause, suspicion, cluesFor: suspicion.cluesFor, cluesAgainst });
  });
  const ranked: RatedCause[] = [];
  while (open.length > 0) {
    const [surest, ...rest] = [...open].sort(bySurenessAndOrder);
    if (surest === undefined) break;
    const first = rest.find((other) => isMoreExact(other, surest)) ?? surest;
    ranked.push(first);
    open = [surest, ...rest]
      .filter((other) => other !== first)
      .flatMap((other) => withoutExplained(other, first));
  }
  const found = ranked.map((one) => assessmentOf(one, measurements));
  return [
    ...found.filter((one) => one.mayBeMeant !== true),
    ...found.filter((one) => one.mayBeMeant === true),
  ];
}

function rated(parts: Omit<RatedCause, 'confidence'>): readonly RatedCause[] {
  const confidence = confidenceOf(parts.cluesFor, parts.cluesAgainst);
  return confidence === undefined ? [] : [{ ...parts, confidence }];
}

function bySurenessAndOrder(a: RatedCause, b: RatedCause): number {
  return confidenceRank(b.confidence) - confidenceRank(a.confidence) || placeOf(a) - placeOf(b);
}

/** Known faults stand before the causes that class what no row names. */
function placeOf({ cause, suspicion }: RatedCause): number {
  const place = CAUSES.indexOf(cause.id);
  const isBehind = suspicion.isKnownFault === true && place > FIRST_GENERAL;
  return isBehind ? FIRST_GENERAL - 1 + place / CAUSES.length : place;
}

function isMoreExact(other: RatedCause, surest: RatedCause): boolean {
  return (
    other.confidence === surest.confidence &&
    other.suspicion.isVague !== true &&
    surest.suspicion.yieldsTo?.includes(other.cause.id) === true
  );
}

/** A `possible` cause explains nothing away, and an equally sure one is an answer of its own. */
function withoutExplained(other: RatedCause, first: RatedCause): readonly RatedCause[] {
  const isSurer = confidenceRank(first.confidence) > confidenceRank(other.confidence);
  if (!isSurer) return [other];
  const { explains } = first.suspicion;
  const explained = other.cluesFor.filter(
    ({ symptom, weight }) => weight !== 'proof' && symptom !== undefined && explains.includes(symptom),
  );
  if (explained.length === 0) return [other];
  return rated({
    ...other,
    cluesFor: other.cluesFor.filter((clue) => !explained.includes(clue)),
    cluesAgainst: [
      ...other.cluesAgainst,
      ...explained.map(({ says, origin }) => ({
        says: `Accounted for by ${first.cause.id} already: ${says}`,
        origin,
        weight: 'noted' as const,
      })),
    ],
  });
}

function assessmentOf(
  { cause, suspicion, cluesFor, cluesAgainst, confidence }: RatedCause,
  { evidence }: Measurements,
): Assessment {
  const { headline, explanation, fixes } = suspicion;
  // What works is not to be changed by what a label says.
  const safe = isContradicted(cluesAgainst) ? fixes.filter(({ disturbs }) => disturbs === 'nothing') : fixes;
  const sorted = strongestFirst(cluesFor);
  const origins = sorted.flatMap(({ origin }) => origin ?? []);
  return {
    cause: cause.id,
    confidence,
    headline,
    explanation,
    cluesFor: sorted.map(plain),
    cluesAgainst: cluesAgainst.map(plain),
    fixes: withOwnChecks(safe, origins, evidence.logs),
    ...(suspicion.mayBeMeant === true && confidence === 'possible' ? { mayBeMeant: true } : {}),
  };
}

function strongestFirst(clues: readonly ClueFor[]): readonly ClueFor[] {
  const order = ['proof', 'signature', 'sign'];
  return [...clues].sort((a, b) => order.indexOf(a.weight) - order.indexOf(b.weight));
}

function plain({ says, origin }: Clue): Clue {
  return { says, origin };
}
