import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import type { CauseId } from '../cause-ids.js';
import { repairCache } from '../fixes/caches.js';
import { SERVER_COMES_BACK } from '../logs/general/lmcache-rules.js';
import { readPathFault } from '../logs/general/seen-path-faults.js';
import { CLIENTS_DO_NOT_MOVE } from '../logs/general/store-faults.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';

/** Faults that a program states of itself in so many words: nothing else can be the reason. */
const STATED = /switched (?:itself|its store) off|at a time than its buffer|GPUDirect Storage refuses/;
/** A cache that is off from its start on, and what it says of each request then. */
const SWITCHED_OFF = /switched itself off/;
const FOLLOWS_OFF = /skips everything while its health check fails/;
/** Faults that heal by themselves as a rule where they come once, or whose sentence is not of a release. */
const PASSING =
  /does not resolve|know the disk of this client|out of step|has closed the connection|no answer in time/;
/** A wait that is over in a moment where it comes once or twice. */
const WAITS = /buffer_size\) is full|for the blocks of its peers/;
/** What follows of faults that do not only cost hits. */
const FOLLOWS: readonly (readonly [fault: RegExp, follows: string])[] = [
  [/LMCache's lookup /, 'every prompt counts as not cached'],
  [WAITS, 'requests wait until there is room'],
];
/** A server that is healthy again was away only where another line says so: as an engine starts it is there for the first time. */
const NOT_REACHED = 'LMCache is not reached';
/** Lines from which on a fault does not pass. */
const LASTING = 3;
/** Faults that are named; further ones are in the lines. */
const MAX_NAMED = 3;

/** A cache behind the engine says that it has blocks, and does not give them. */
export const offloadFailed: Cause = {
  id: 'offload_failed',
  concerns: () => true,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const failed = measurements.signal('offload_failed');
    if (failed === undefined) return undefined;
    const faults = namedOf([...failed.values.keys()].sort());
    if (faults.length === 0 && failed.values.size > 0) return undefined;
    if (faults.every((fault) => fault === CLIENTS_DO_NOT_MOVE) && namesPath(measurements)) return undefined;
    if (failed.count < LASTING && faults.every((fault) => WAITS.test(fault))) return undefined;
    const isStated = faults.some((fault) => STATED.test(fault));
    const reasons = SWITCHED_OFF.test(faults.join()) ? reasonsOf(measurements) : [];
    const isPassing = failed.count < LASTING && faults.every((fault) => PASSING.test(fault));
    return {
      headline: `${capitalised(faults.slice(0, MAX_NAMED).join(', ')) || 'The cache behind the engine fails'}: ${followsOf(faults)}`,
      explanation:
        'A cache behind the engine keeps what the GPU drops. Where it has no room, blocks are not stored; where the load gets fewer than the lookup named, they were evicted in between, one of several ranks lacks them, or the storage fails. Hits that it counts are higher then than what was really reused.',
      cluesFor: [
        clueFor(
          isStated && reasons.length === 0 ? 'proof' : isPassing ? 'sign' : 'signature',
          `${countOf(failed.count, 'line')} of a cache behind an engine that fails.`,
          failed.first,
        ),
      ],
      cluesAgainst: [],
      // Errors of transfers below it are of the store, and not of another engine.
      explains: isStated ? ['transfers_fail'] : [],
      ...(reasons.length === 0 ? {} : { yieldsTo: reasons }),
      fixes: [repairCache(faults)],
    };
  },
};

/** Causes of sentences that have their own cure: what an exception says that switched a cache off. */
function reasonsOf(measurements: Measurements): readonly CauseId[] {
  const rows = measurements.knownFaults().filter(({ fault }) => fault.isSign !== true);
  return [...new Set(rows.map(({ fault }) => fault.cause))];
}

/** Whether a line below the store says what kept two of its clients from moving blocks. */
function namesPath(measurements: Measurements): boolean {
  const values = measurements.signal('transfer_path_broken')?.values.keys() ?? [];
  return [...values].some((value) => !readPathFault(value).isPlain);
}

function followsOf(faults: readonly string[]): string {
  const [, follows = 'prompts that it should have are computed again, or fail'] =
    FOLLOWS.find(([pattern]) => faults.some((fault) => pattern.test(fault))) ?? [];
  return follows;
}

/** Without those that only follow from another: what answers too late is there, and what has no address is not reached. */
function namedOf(faults: readonly string[]): readonly string[] {
  const wasAway = faults.includes(NOT_REACHED);
  const isExplained = faults.some((fault) => /answers too late|does not resolve/.test(fault));
  const named = isExplained ? faults.filter((fault) => !fault.endsWith(' is not reached')) : faults;
  const isOff = named.some((fault) => SWITCHED_OFF.test(fault));
  return named.filter(
    (fault) =>
      !isSaidBetter(fault, named) &&
      !(isOff && FOLLOWS_OFF.test(fault)) &&
      !(fault === SERVER_COMES_BACK && !wasAway),
  );
}

/** What LMCache says of its store in lines without an address or a reason. */
const STORE = "LMCache's remote store ";

/** `Mooncake does not move its blocks` beside what keeps it from that; `is not reached` beside what says how. */
function isSaidBetter(fault: string, faults: readonly string[]): boolean {
  const [, program] = /^(\w+)(?:'s \S+)? does not move its blocks$/.exec(fault) ?? [];
  const off = /^(\w+ switched itself off at its start)(?: by an exception)?$/.exec(fault)?.[1];
  return faults.some(
    (other) =>
      other !== fault &&
      ((off !== undefined && (other.startsWith(`${off}: `) || other === `${off} by an exception`)) ||
        (program !== undefined && other.startsWith(program)) ||
        other.startsWith(`${fault} (`) ||
        (fault === NOT_REACHED && other === SERVER_COMES_BACK) ||
        (fault === `${STORE}is not reached` && other.startsWith(STORE))),
  );
}
