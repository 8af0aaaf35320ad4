import { countOf } from '../../../core/text/lists.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import { giveOwnHost, repairBefore, repairTransfers, setAdvised } from '../fixes/failed-transfers.js';
import { advisedVariable } from '../logs/general/refused-settings.js';
import { quotedLine } from '../logs/quoted-line.js';
import { ownHostOf, type TransferStep, transferStepOf } from '../logs/transfer-steps.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';
import { transfersArrive } from './transfer-clues.js';

/** Signs that say why transfers fail. */
const BETTER: readonly Signal[] = [
  'transfer_refused',
  'transfer_unreachable',
  'transfer_listener_ended',
  'transfer_path_broken',
  'connector_crashed',
  'library_missing',
  'ucx_differs',
];

/** Successes for each failure from which on it may be clients that went away. */
const MANY_SUCCESSES = 20;

const WORDS: Readonly<Record<TransferStep, string>> = {
  not_taken_up: 'no decode engine took them up in time',
  not_received: 'decode engines did not get the blocks in time',
  too_slow: 'they do not end within the time limit of the library',
  handshake: 'the handshake of the two engines fails',
  unknown: 'what failed is not in what was given',
};

/** Steps of which the lines do not have the reason. */
const UNSAID: readonly TransferStep[] = ['handshake', 'unknown'];

/** Transfers fail, and no line says why: what is known is the step at which they ended. */
export const transfersFail: Cause = {
  id: 'transfers_fail',
  concerns: () => true,
  contradictedBy: transfersArrive,
  suspect(measurements: Measurements): Suspicion | undefined {
    const failed = measurements.signal('transfer_failed');
    const small = measurements.signal('transfer_buffer_small');
    if (failed === undefined && small === undefined) return undefined;
    if (BETTER.some((sign) => measurements.signal(sign) !== undefined)) return undefined;
    const step = transferStepOf(failed?.values.keys() ?? []);
    const advised = [...(failed?.values.keys() ?? [])].find(
      (reason) => advisedVariable(reason) !== undefined,
    );
    const before = failed?.logs.flatMap(({ tally }) => tally.before ?? [])[0];
    const ownHost = ownHostOf(failed?.values.keys() ?? []);
    const isOfBefore = before !== undefined && advised === undefined && UNSAID.includes(step);
    const done = measurements.signal('transfer_done');
    const isRare = (done?.count ?? 0) > (failed?.count ?? 0) * MANY_SUCCESSES;
    return {
      headline:
        small === undefined
          ? `Transfers of KV blocks between prefill and decode engines fail: ${ownHost !== undefined ? `decode asks for prefill at ${ownHost}, which is decode itself` : isOfBefore ? `the error right before says "${quotedLine(before.text)}"` : (advised ?? WORDS[step])}`
          : 'Prompts are longer than the buffer by which KV blocks are sent: their transfers may fail',
      explanation:
        'A request that is divided needs both engines: the decode engine says where the blocks go, the prefill engine computes and sends them. Where one of them is full, hangs or is gone, the other waits and gives the request up. Its line names the step, and the reason is in the log of the other engine.',
      cluesFor: [
        ...when(failed, ({ count, first, values }) => {
          const reason = advised ?? [...values.keys()][0];
          return clueFor(
            isRare ? 'sign' : 'signature',
            `${countOf(count, 'line')} of transfers that failed${reason === undefined ? '' : ` (${reason})`}.`,
            first,
            'transfers_fail',
          );
        }),
        ...when(before, (origin) =>
          clueFor(
            'sign',
            `The error right before one of them, which no rule knows: "${quotedLine(origin.text)}".`,
            origin,
            'transfers_fail',
          ),
        ),
        ...when(small, ({ count, first }) =>
          clueFor('sign', `${countOf(count, 'line')} of prompts that do not fit the buffer.`, first),
        ),
      ],
      cluesAgainst: when(done, ({ count, first }) => ({
        weight: 'noted',
        says: `${countOf(count, 'transfer')} came true.`,
        origin: first,
      })),
      explains: [],
      fixes: [
        ...when(advised !== undefined && advisedVariable(advised), setAdvised),
        ...when(ownHost, giveOwnHost),
        ...when(isOfBefore && before, repairBefore),
        ...repairTransfers(measurements, step, small !== undefined),
      ],
    };
  },
};
