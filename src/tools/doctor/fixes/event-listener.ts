import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import { sizeChecks } from './confirm.js';
import { argumentsOf, environmentOf } from './lines.js';

/** Of a program that reads the events of an engine and is not known by name: each has a place of its own for the number. */
export function listenerFix(measurements: Measurements, engines: number): ProposedFix {
  return {
    says: `Give the program that wrote the line the engine's ${engines}: DYN_KV_CACHE_BLOCK_SIZE=${engines} for an endpoint picker (EPP), --block-size ${engines} for dynamo.indexer, kv_cache_block_size=${engines} of register_model for a worker of your own`,
    why: `The engine's number is the right one: its events have blocks of ${engines} tokens. Publishers of workers, indexers and Dynamo's endpoint picker write this line in the same words, and each drops all blocks of another size, so that nothing is ever found.`,
    disturbs: 'frontend',
    files: [],
    commands: [
      environmentOf('the endpoint picker', `DYN_KV_CACHE_BLOCK_SIZE=${engines}`),
      argumentsOf('dynamo.indexer', `--block-size ${engines}`, 'there is no variable'),
      argumentsOf(
        'register_model',
        `kv_cache_block_size=${engines}`,
        'in a worker of your own, and kv_block_size of its KvEventPublisher',
      ),
    ],
    verify: sizeChecks(measurements, engines),
  };
}
