import { countOf } from '../../../core/text/lists.js';
import { hostMemoryForCache } from '../fixes/host-memory.js';
import { roomForCache } from '../fixes/programs.js';
import { isOfHost } from '../logs/general/fault-classes.js';
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
      headline: `An engine has no room for its KV cache: ${fault}`,
      explanation: isOfHost(fault)
        ? 'A cache behind the GPU takes memory of the host as the engine starts, for each rank, and pins it. Where the host or the pod has less, or may not pin as much, the engine does not start; an error of CUDA there is of the host, and of no kernel.'
        : 'What weights, activations and other processes leave of a GPU is the KV cache. Where that is less than one longest sequence, an engine does not start, or ends as soon as such a batch comes.',
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
