import { countOf } from '../../../core/text/lists.js';
import { repairPath } from '../fixes/paths.js';
import { readPathFault, type SeenPathFault, seenPathFaultSays } from '../logs/general/seen-path-faults.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { faultBehind } from './path-behind.js';
import { failedTransfers, transfersArrive } from './transfer-clues.js';

/** Lines from which on the same card is no chance. */
const REPEATED = 3;

/** What lies below a transfer of KV blocks fails. */
export const transferPathBroken: Cause = {
  id: 'transfer_path_broken',
  concerns: () => true,
  contradictedBy: transfersArrive,
  suspect(measurements: Measurements): Suspicion | undefined {
    const broken = measurements.signal('transfer_path_broken');
    const values = broken?.values ?? new Map<string, number>();
    const said = broken === undefined ? undefined : seenFault(measurements, values, broken.first.text);
    const behind = faultBehind(measurements, said);
    const seen = behind?.seen ?? broken;
    const fault = behind?.fault ?? said;
    if (seen === undefined || fault === undefined) return undefined;
    // A library that is not there at all passes such errors on too.
    if (fault.isPlain && measurements.signal('library_missing') !== undefined) return undefined;
    // Files that a store refuses leave its memory without a backend as well.
    if (fault.id === 'no_common_backend' && measurements.signal('offload_failed') !== undefined)
      return undefined;
    const says = seenPathFaultSays(fault);
    return {
      headline: `KV blocks cannot be moved between engines or to their store: ${says}`,
      explanation:
        'NIXL, UCX, Mooncake, libfabric and HCCL move KV blocks past the engine, from device to device. Their errors are of the machine and the pod: devices that the pod does not see, memory that may not be locked, GPUs that cannot map each other, or an engine that has gone. Each request that is divided then fails or is computed again.',
      cluesFor: [
        clueFor(
          behind?.isAlone === true ? 'sign' : 'signature',
          behind?.says ?? `${countOf(seen.count, 'line')} of libraries below a transfer: ${says}.`,
          seen.first,
          'transfers_fail',
        ),
        ...failedTransfers(measurements),
      ],
      cluesAgainst: [],
      explains: ['transfers_fail', 'prompts_recomputed'],
      isVague: fault.isPlain,
      fixes: fixesOf(measurements, fault, values, seen.first.text),
    };
  },
};

/** The fault to repair: particular ones say more than the error that a backend passes on. */
function seenFault(
  measurements: Measurements,
  values: ReadonlyMap<string, number>,
  firstLine: string,
): SeenPathFault {
  const faults = [...values.keys()].map((value) => readPathFault(value));
  const fault =
    faults.find(({ isPlain, id }) => !isPlain && id !== 'poisoned') ?? faults[0] ?? readPathFault('');
  const same = faults.filter(({ id }) => id === fault.id);
  const ofGpus = fault.id === 'queues' ? faults.find(({ id }) => id === 'gpu_queues') : undefined;
  const library = [...same, ...faults, readPathFault('', firstLine)].find(
    (one) => one.library !== undefined,
  )?.library;
  // Where no card is left, the line about one that was left out has the reason.
  const [unfit] = measurements.signal('card_unfit')?.values.keys() ?? [];
  const leftOut = fault.id === 'no_device' && unfit !== undefined ? readPathFault(unfit) : undefined;
  return {
    ...fault,
    id: leftOut?.id ?? ofGpus?.id ?? fault.id,
    library,
    card:
      fault.id === 'peer_gone'
        ? sameCardOf(same, values)
        : [...(leftOut === undefined ? [] : [leftOut]), ...same, ...faults].find(
            ({ card }) => card !== undefined,
          )?.card,
    cards: same.find(({ cards }) => cards !== undefined)?.cards,
    hostAddress: same.find(({ hostAddress }) => hostAddress !== undefined)?.hostAddress,
  };
}

/** The card of this host over which each connection fails, where that is one alone. */
function sameCardOf(
  faults: readonly SeenPathFault[],
  values: ReadonlyMap<string, number>,
): string | undefined {
  const cards = new Set(faults.flatMap(({ cards }) => (cards === undefined ? [] : [cards[0]])));
  const count = [...values].reduce(
    (sum, [value, times]) => sum + (readPathFault(value).cards === undefined ? 0 : times),
    0,
  );
  const [card] = cards;
  return cards.size === 1 && count >= REPEATED ? card : undefined;
}

/** A buffer that is of no more use needs its restart, whatever broke the transfer off. */
function fixesOf(
  measurements: Measurements,
  fault: SeenPathFault,
  values: ReadonlyMap<string, number>,
  line: string,
): Suspicion['fixes'] {
  const poisoned = [...values.keys()]
    .map((value) => readPathFault(value))
    .find(({ id }) => id === 'poisoned');
  const repairs = repairPath(fault, measurements, line);
  return poisoned === undefined || fault.id === 'poisoned'
    ? repairs
    : [...repairPath(poisoned, measurements, line), ...repairs];
}
