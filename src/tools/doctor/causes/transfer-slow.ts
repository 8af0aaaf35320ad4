import { countOf } from '../../../core/text/lists.js';
import type { Clue } from '../diagnosis.js';
import { fasterPath } from '../fixes/transfers.js';
import type { Measurements } from '../measurements/measurements.js';
import { slowestTransfers, type TransferSpeed } from '../measurements/transfers.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';

/** Below it a link shows its latency, not its speed. */
const MIN_BYTES = 1_048_576;
/** Far below NVLink (hundreds of GB/s), PCIe 4 (25 GB/s) and a NIC of 400 Gb/s (50 GB/s); about a NIC of 10 Gb/s. */
const SLOW_BYTES_PER_SECOND = 1.5e9;
/** What neither TCP nor a copy through host memory reaches. */
const FAST_BYTES_PER_SECOND = 10e9;
/** Cards that have NVLink between them. */
const WITH_NVLINK = /SXM|HBM3|\bH100 80GB\b|\bGB\d{3}\b|\bB[123]00\b|NVL/;

/** KV blocks move far slower than the links between the GPUs allow. */
export const transferSlow: Cause = {
  id: 'transfer_slow',
  concerns: () => true,
  contradictedBy: ({ evidence }): readonly Clue[] =>
    when(speedOf(evidence.metrics), (speed) =>
      speed.bytesPerSecond < FAST_BYTES_PER_SECOND
        ? []
        : [
            {
              says: `Transfers moved ${rate(speed)} over ${countOf(speed.transfers, 'transfer')}: that is no TCP.`,
              origin: speed.origin,
            },
          ],
    ),
  suspect(measurements: Measurements): Suspicion | undefined {
    const { evidence } = measurements;
    const said = measurements.signal('accord_transfer_slow');
    const overTcp = measurements.signal('transfer_over_tcp');
    const speed = speedOf(evidence.metrics);
    const isSlow = speed !== undefined && speed.bytesPerSecond < SLOW_BYTES_PER_SECOND;
    const card = evidence.gpus.find(({ product }) => WITH_NVLINK.test(product));
    if (said === undefined && overTcp === undefined && !(isSlow && card !== undefined)) return undefined;
    return {
      headline: `KV blocks move over TCP or through host memory where NVLink is${speed === undefined ? '' : `: ${rate(speed)}`}`,
      explanation:
        'UCX, below NIXL, chooses the path of a transfer by what it sees: without the GPUs of both engines in both containers, without a shared IPC and PID namespace, with UCX_TLS that leaves cuda_ipc out, or for memory that cannot be exported, TCP is left. All transfers succeed; the first token of each divided request waits ten to a hundred times longer for its blocks.',
      cluesFor: [
        ...when(said, ({ count, first, values }) => {
          const [moved] = values.keys();
          return clueFor(
            'proof',
            `${countOf(count, 'line')} of a pair that moves far less than its topology promises${moved === undefined ? '' : ` (${moved})`}.`,
            first,
          );
        }),
        ...when(overTcp, ({ count, first, values }) => {
          const [lane] = values.keys();
          return clueFor(
            'signature',
            `${countOf(count, 'line')} of UCX that moves device memory within a host over ${lane ?? 'another path than NVLink'}.`,
            first,
          );
        }),
        ...when(isSlow && speed, (slow) =>
          clueFor(
            'sign',
            `Engines moved ${rate(slow)} over ${countOf(slow.transfers, 'transfer')} of ${(slow.bytesPerTransfer / MIN_BYTES).toFixed(1)} MiB.`,
            slow.origin,
          ),
        ),
        ...when(card, ({ product, origin }) => clueFor('sign', `${product} has NVLink.`, origin)),
      ],
      cluesAgainst: [],
      explains: [],
      fixes: [fasterPath()],
    };
  },
};

function speedOf(pages: Measurements['evidence']['metrics']): TransferSpeed | undefined {
  return slowestTransfers(pages, MIN_BYTES);
}

function rate({ bytesPerSecond }: TransferSpeed): string {
  return `${(bytesPerSecond / 1e9).toFixed(2)} GB/s`;
}
