import { countOf } from '../../../core/text/lists.js';
import { longerLease } from '../fixes/transfers.js';
import { percent } from '../measurements/cache-hits.js';
import { totalOf } from '../measurements/measure.js';
import type { Measurements } from '../measurements/measurements.js';
import { transfersOn, transferTotal } from '../measurements/transfers.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';
import { transfersArrive } from './transfer-clues.js';

/** Part of the requests whose clients may well have gone away. */
const FEW = 0.01;
/** Lines below which it may be a client that went away. */
const FEW_LINES = 3;

/** Prefill engines keep blocks for decode engines that fetch them too late or never. */
export const leasesExpire: Cause = {
  id: 'leases_expire',
  concerns: () => true,
  contradictedBy: transfersArrive,
  suspect(measurements: Measurements): Suspicion | undefined {
    const logged = measurements.signal('transfer_expired');
    const counts = transfersOn(measurements.evidence.metrics);
    const counted = transferTotal(counts, 'expired');
    if (logged === undefined && (counted === undefined || counted.value === 0)) return undefined;
    const requests = totalOf(counts, (one) => (one.part === 'decode' ? 0 : one.requests));
    const isLate = ['fetched too late', 'asked for too late'].some((value) => logged?.values.has(value));
    const part = requests > 0 && counted !== undefined ? counted.value / requests : undefined;
    const isMuch = part === undefined ? (logged?.count ?? 0) >= FEW_LINES : part >= FEW;
    return {
      headline: isLate
        ? 'Decode engines fetch KV blocks after prefill engines gave them to others'
        : 'Prefill engines keep KV blocks that no decode engine fetches in time',
      explanation:
        'A prefill engine keeps the blocks of a request for its lease, in some versions 30 s, in older ones 480 s, and then gives them to other requests. Blocks that nobody fetches are memory that serves nothing; blocks that are fetched after their lease may be those of another prompt, and the answer is wrong with status 200. Decode engines that are full, and requests that never go on to one, are the usual reasons.',
      cluesFor: [
        ...when(logged, ({ count, first, values }) => {
          const [reason] = values.keys();
          return clueFor(
            isLate || isMuch ? 'signature' : 'sign',
            `${countOf(count, 'line')} of KV blocks whose lease ended${reason === undefined ? '' : ` (${reason})`}.`,
            first,
          );
        }),
        ...when(counted !== undefined && counted.value > 0 && counted, ({ value, origin }) =>
          clueFor(
            isMuch ? 'signature' : 'sign',
            `Prefill engines count ${countOf(value, 'request')} whose KV blocks expired${part === undefined ? '' : ` (${percent(part)} of all)`}.`,
            origin,
          ),
        ),
      ],
      cluesAgainst: [],
      explains: [],
      fixes: longerLease(isLate),
    };
  },
};
