import { countOf } from '../../../core/text/lists.js';
import { reviveListener } from '../fixes/transfers.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';
import { failedTransfers, transfersArrive } from './transfer-clues.js';

/** The thread that says how blocks are fetched has ended; the engine serves on. */
export const sideChannelDead: Cause = {
  id: 'side_channel_dead',
  concerns: () => true,
  contradictedBy: transfersArrive,
  suspect(measurements: Measurements): Suspicion | undefined {
    const ended = measurements.signal('transfer_listener_ended');
    if (ended === undefined) return undefined;
    const reasons = [...ended.values.keys()];
    const named = reasons.find((reason) => reason !== 'an exception') ?? reasons[0] ?? 'its traceback';
    const isPort = named === 'its port is in use' || (named === 'an exception' && hasPortInUse(measurements));
    const count = ended.values.get(named) ?? ended.count;
    return {
      headline: isPort
        ? "A prefill engine's side channel could not begin: its port is in use"
        : "A prefill engine's side channel has ended, and the engine serves on",
      explanation: isPort
        ? 'Two engines on one host were given the same port for what decode engines ask before a transfer. The second has no such thread, and what asks there meets the other engine.'
        : 'The thread that answers decode engines reads one form of message and ends for good at any other: one of an older version, of a port scan, of a health check. The engine goes on to answer requests and health checks, and every transfer from it fails until it restarts.',
      cluesFor: [
        clueFor(
          'proof',
          `${countOf(count, 'traceback')} of the thread that answers decode engines (${named}).`,
          ended.first,
        ),
        ...when(measurements.signal('transfer_unreachable'), ({ first }) =>
          clueFor('sign', 'A decode engine waits for it in vain.', first, 'transfers_fail'),
        ),
        ...failedTransfers(measurements),
      ],
      cluesAgainst: [],
      explains: ['transfers_fail', 'prompts_recomputed'],
      fixes: reviveListener(measurements, isPort),
    };
  },
};

/** Whether an error beside it says that an address is taken. */
function hasPortInUse({ failures }: Measurements): boolean {
  return failures.some(({ sentence }) => sentence !== undefined && /ddress already in use/.test(sentence));
}
