import { isBefore } from '../../../../engines/descriptor/default-size.js';
import type { Gateway } from '../launches/launch.js';

/** How KV events can reach llm-d's picker. */
export interface PickerSockets {
  /** Whether it connects to the pods that it finds; undefined where that is not known. */
  readonly connects: boolean | undefined;
  /** The port of the pods that it connects to, where that is known. */
  readonly podPort: string | undefined;
  /** Where it waits for workers that connect. */
  readonly endpoint: string | undefined;
}

/** From here on the picker finds pods by itself, and its keys are its own (`kvevents.DefaultConfig` and `token_processor.go` of llm-d-kv-cache 0.4 and 0.5). */
const DISCOVERING = { major: 0, minor: 5 };

/**
 * From here on blocks of another size than the engine's are divided or joined. Before, an event is refused as a whole where its tokens make
 * another number of keys than it has hashes (`kvblock/in_memory.go` of llm-d-kv-cache 0.5 to 0.7.1, and of 0.8).
 */
const DIVIDING = { major: 0, minor: 9 };

/** What it takes where nothing is written, in all releases: 0.2 to 0.4 wait there, later ones connect to that port. */
const DEFAULT_PORT = '5557';

/** How topics begin that it subscribes to, where nothing is written: in all releases. */
export const DEFAULT_TOPIC = 'kv@';

/** Whether the keys of a picker's index are the hashes of its engines (0.2 to 0.4); undefined where its release is not known. */
export function usesEngineKeys({ kind, release }: Gateway): boolean | undefined {
  if (kind !== 'llm-d-scorer') return false;
  return release === undefined ? undefined : isBefore(release, DISCOVERING);
}

/** Whether a picker finds blocks of engines with another size (from 0.9 on), as far as the two divide; undefined where its release is not known. */
export function dividesBlocks({ kind, release }: Gateway): boolean | undefined {
  if (kind !== 'llm-d-scorer') return true;
  return release === undefined ? undefined : !isBefore(release, DIVIDING);
}

/** What is written, and what its release takes without. */
export function socketsOf({ reception, release }: Gateway): PickerSockets {
  const { endpoint, discoversPods, podPort } = reception ?? {};
  if (release !== undefined && isBefore(release, DISCOVERING))
    return {
      connects: false,
      podPort: undefined,
      endpoint: endpoint === undefined ? `tcp://*:${DEFAULT_PORT}` : endpoint.value,
    };
  const connects = discoversPods ?? (podPort !== undefined || release !== undefined ? true : undefined);
  return {
    connects,
    podPort: podPort === undefined && release !== undefined ? DEFAULT_PORT : podPort?.value,
    endpoint: endpoint?.value,
  };
}
