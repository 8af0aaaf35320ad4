import type { Relay, RelayPosition, RelayReader } from '../../../core/relay/relay.js';
import type { RelayListener, RelaySource } from './relay-source.js';

const NOT_REHASHED = 'blocks of an engine that is read without a sidecar are not re-hashed';

/** The events of an engine that is read in this process: nothing lies between, so nothing breaks. */
export class LocalRelaySource implements RelaySource {
  readonly #relay: Relay;

  constructor(relay: Relay) {
    this.#relay = relay;
  }

  open(position: RelayPosition | undefined, listener: RelayListener, rehashTo?: number): RelayReader {
    if (rehashTo !== undefined) {
      // Its report says so already, so that an agreement asks only by mistake.
      queueMicrotask(() => listener.onBroken({ reason: NOT_REHASHED, isUnsupported: true }));
      return { next: () => undefined, close: () => {} };
    }
    return this.#relay.open(position, () => listener.onReadable());
  }
}
