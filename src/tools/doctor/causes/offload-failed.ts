import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import type { CauseId } from '../cause-ids.js';
import { repairCache } from '../fixes/caches.js';
import { type CacheFaultKind, cacheFaultKind } from '../logs/general/cache-fault-kinds.js';
import {
  LMCACHE_OFF,
  LMCACHE_OFF_UNSAID,
  LMCACHE_UNREACHED,
  SERVER_COMES_BACK,
} from '../logs/general/lmcache-rules.js';
import { REMOTE_STORE } from '../logs/general/remote-store.js';
import { readPathFault } from '../logs/general/seen-path-faults.js';
import { CLIENTS_DO_NOT_MOVE } from '../logs/general/store-faults.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { unreadCaches } from './unread-caches.js';

/** Faults that a program states of itself in so many words: nothing else can be the reason. */
const STATED = ['switched_off', 'store_switched_off', 'batch_too_large', 'direct_storage'] as const;
/** Faults that heal by themselves as a rule where they come once, or whose sentence is not of a release. */
const PASSING = [
  'name_unresolved',
  'disk_unknown',
  'out_of_step',
  'connection_closed',
  'lookup_late',
  'part_fails',
] as const;
/** A wait that is over in a moment where it comes once or twice. */
const WAITS = ['transfer_buffer_full', 'no_room_for_peers'] as const;
/** What follows of faults that do not only cost hits. */
const FOLLOWS: readonly (readonly [kinds: readonly CacheFaultKind[], follows: string])[] = [
  [['lookup_unanswered', 'lookup_late', 'lookup_stuck'], 'every prompt counts as not cached'],
  [WAITS, 'requests wait until there is room'],
];
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
    if (failed === undefined) return unreadCaches(measurements);
    const faults = namedOf([...failed.values.keys()].sort());
    if (faults.length === 0 && failed.values.size > 0) return undefined;
    if (faults.every((fault) => fault === CLIENTS_DO_NOT_MOVE) && namesPath(measurements)) return undefined;
    if (failed.count < LASTING && faults.every((fault) => isOf(WAITS, fault))) return undefined;
    const isStated = faults.some((fault) => isOf(STATED, fault));
    const reasons = faults.some((fault) => isOf(['switched_off'], fault)) ? reasonsOf(measurements) : [];
    const isPassing = failed.count < LASTING && faults.every((fault) => isOf(PASSING, fault));
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
    FOLLOWS.find(([kinds]) => faults.some((fault) => isOf(kinds, fault))) ?? [];
  return follows;
}

/** What says why a store is not reached. */
const EXPLAINING = ['master_late', 'store_late', 'name_unresolved'] as const;

function isOf(kinds: readonly CacheFaultKind[], fault: string): boolean {
  const kind = cacheFaultKind(fault);
  return kind !== undefined && kinds.includes(kind);
}

/** Without those that only follow from another: what answers too late is there, and what has no address is not reached. */
function namedOf(faults: readonly string[]): readonly string[] {
  const wasAway = faults.includes(LMCACHE_UNREACHED);
  const isExplained = faults.some((fault) => isOf(EXPLAINING, fault));
  const named = isExplained
    ? faults.filter((fault) => !isOf(['unreached', 'remote_unreached'], fault))
    : faults;
  const isOff = named.some((fault) => isOf(['switched_off'], fault));
  return named.filter(
    (fault) =>
      !isSaidBetter(fault, named) &&
      !(isOff && isOf(['unhealthy'], fault)) &&
      !(fault === SERVER_COMES_BACK && !wasAway),
  );
}

/** `Mooncake does not move its blocks` beside what keeps it from that; `is not reached` beside what says how. */
function isSaidBetter(fault: string, faults: readonly string[]): boolean {
  const program = isOf(['moves_nothing'], fault) ? /^\w+/.exec(fault)?.[0] : undefined;
  const isOff = fault === LMCACHE_OFF || fault === LMCACHE_OFF_UNSAID;
  return faults.some(
    (other) =>
      other !== fault &&
      ((isOff && (other.startsWith(`${LMCACHE_OFF}: `) || other === LMCACHE_OFF_UNSAID)) ||
        (program !== undefined && other.startsWith(program)) ||
        other.startsWith(`${fault} (`) ||
        (fault === LMCACHE_UNREACHED && other === SERVER_COMES_BACK) ||
        (fault === `${REMOTE_STORE} is not reached` && other.startsWith(`${REMOTE_STORE} `))),
  );
}
