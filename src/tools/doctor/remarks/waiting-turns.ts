import type { Measurements } from '../measurements/measurements.js';
import type { Remark } from './remark.js';

/** Readings of an engine from which on a queue is no moment of a start. */
const MIN_READINGS = 5;
/** Requests that wait on the mean, from which on a queue is worth a word. */
const MIN_WAITING = 4;
/** Below this use of the cache it is not room that they wait for. */
const ROOMY = 0.7;
/** What vLLM and SGLang run at most where nothing is set: powers of two from 128 on. */
const DEFAULTS = [128, 256, 512, 1024, 2048];

/** Requests that wait although the cache has room, as an engine runs no more of them at a time. Undefined where nothing waits, or where it waits for room, or where it was not seen how many may run. */
export function turnsWaitedFor({ evidence, seen, settings }: Measurements): Remark | undefined {
  const set = settings('max_num_seqs').map(({ value }) => Number(value));
  for (const { engine } of evidence.logs) {
    const { runningRequests, waitingRequests, usageWhileWaiting } = engine ?? {};
    if (runningRequests === undefined || waitingRequests === undefined || usageWhileWaiting === undefined)
      continue;
    const most = runningRequests.max;
    const isLimit = set.length > 0 ? set.includes(most) : DEFAULTS.includes(most);
    const isQueue = waitingRequests.count >= MIN_READINGS && waitingRequests.mean >= MIN_WAITING;
    if (!isLimit || !isQueue || usageWhileWaiting.max >= ROOMY) continue;
    const waiting = Math.round(waitingRequests.mean);
    const flags = seen.engines.flatMap(({ displayName, launch }) =>
      launch === undefined ? [] : [{ name: displayName, flag: launch.tuning.maxSequencesFlag }],
    );
    const [only] = flags;
    const start =
      only === undefined || flags.length > 1
        ? `Let each engine run more than ${most} requests at a time`
        : `Start each ${only.name} worker with ${only.flag} ${2 * most} or more (now ${most})`;
    return {
      headline: `Nothing wrong was seen with caches: ${waiting} requests wait for a turn, as the engine runs ${most} at a time and no more, while its KV cache is ${Math.round(100 * usageWhileWaiting.max)} % full at most`,
      says: `Whether more would run well at a time: ${engine?.last.place ?? 'the log'} has ${most} running at most, and a queue behind them.`,
      ask: `${start}, or add workers: time to first token is the time in that queue`,
    };
  }
  return undefined;
}
