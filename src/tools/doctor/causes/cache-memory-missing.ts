import { countOf } from '../../../core/text/lists.js';
import { hostMemoryForCache } from '../fixes/host-memory.js';
import { roomForCache } from '../fixes/room.js';
import { isOfHost, ROOM } from '../logs/general/room-faults.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { transfersArrive } from './transfer-clues.js';

/** An engine has no room for the KV cache that it is asked for. */
export const cacheMemoryMissing: Cause = {
  id: 'cache_memory_missing',
  concerns: () => true,
  contradictedBy: (measurements) => [...findsWhatEnginesHave(measurements), ...transfersArrive(measurements)],
  suspect(measurements: Measurements): Suspicion | undefined {
    const full = measurements.signal('cache_memory_missing');
    if (full === undefined) return undefined;
    const [fault = 'nothing is left for the cache'] = full.values.keys();
    return {
      headline: `${beginningFor(fault)}: ${fault}`,
      explanation: explanationFor(fault),
      cluesFor: [
        clueFor(
          'signature',
          `${countOf(full.count, 'line')} of an engine without room: ${fault}.`,
          full.first,
        ),
      ],
      cluesAgainst: [],
      explains: ['no_stores'],
      fixes: [isOfHost(fault) ? hostMemoryForCache(fault) : roomForCache(measurements, fault)],
    };
  },
};

/** Faults of a cache that has its room, at the cost of what comes after it. */
const TOO_FULL = [ROOM.warmUp, ROOM.graphs, ROOM.graphsOfSglang, ROOM.cacheItself];

function beginningFor(fault: string): string {
  if (TOO_FULL.some((one) => fault.startsWith(one)))
    return 'An engine does not start, because its KV cache leaves no room';
  if ([ROOM.freed, ROOM.notLess, ROOM.executor, ROOM.weights].some((one) => fault.startsWith(one)))
    return 'An engine does not start';
  if (fault.startsWith(ROOM.locked)) return 'An engine drops a batch though its KV cache has room';
  return 'An engine has no room for its KV cache';
}

function explanationFor(fault: string): string {
  if (isOfHost(fault))
    return 'A cache behind the GPU takes memory of the host as the engine starts, for each rank, and pins it. Where the host or the pod has less, or may not pin as much, the engine does not start; an error of CUDA there is of the host, and of no kernel.';
  if (TOO_FULL.some((one) => fault.startsWith(one)))
    return 'The KV cache gets its part of the GPU before the engine warms up and captures CUDA graphs. What these need has to be left: the cache has to be smaller, and not larger.';
  return 'What weights, activations and other processes leave of a GPU is the KV cache. Where that is less than one longest sequence, an engine does not start, or ends as soon as such a batch comes.';
}
