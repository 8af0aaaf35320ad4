import { countOf } from '../../../core/text/lists.js';
import { repairPath } from '../fixes/paths.js';
import { PLAIN_PATH_FAULT } from '../logs/general/fault-classes.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { failedTransfers, transfersArrive } from './transfer-clues.js';

/** Faults that say that something failed, and not what. */
const GENERAL: ReadonlySet<string> = new Set([PLAIN_PATH_FAULT, 'the prefill engine could not send']);

/** What lies below a transfer of KV blocks fails. */
export const transferPathBroken: Cause = {
  id: 'transfer_path_broken',
  concerns: () => true,
  contradictedBy: transfersArrive,
  suspect(measurements: Measurements): Suspicion | undefined {
    const broken = measurements.signal('transfer_path_broken');
    if (broken === undefined) return undefined;
    // The particular faults say more than the error that the backend passes on.
    const faults = [...broken.values.keys()];
    const fault = faults.find((one) => !GENERAL.has(one)) ?? faults[0] ?? PLAIN_PATH_FAULT;
    return {
      headline: `KV blocks cannot be moved between engines or to their store: ${fault}`,
      explanation:
        'NIXL, UCX, Mooncake and libfabric move KV blocks past the engine, from device to device. Their errors are of the machine and the pod: devices that the pod does not see, memory that may not be locked, GPUs that cannot map each other, or an engine that has gone. Each request that is divided then fails or is computed again.',
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(broken.count, 'line')} of libraries below a transfer: ${fault}.`,
          broken.first,
          'transfers_fail',
        ),
        ...failedTransfers(measurements),
      ],
      cluesAgainst: [],
      explains: ['transfers_fail', 'prompts_recomputed'],
      fixes: [repairPath(fault)],
    };
  },
};
