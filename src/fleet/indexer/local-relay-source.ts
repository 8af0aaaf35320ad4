import type { Relay, RelayPosition, RelayReader } from '../../core/relay/relay.js';
import type { RelayListener, RelaySource } from './relay-source.js';

/** The events of an engine that is read in this process: nothing lies between, so nothing breaks. */
export class LocalRelaySource implements RelaySource {
  readonly #relay: Relay;

  constructor(relay: Relay) {
    this.#relay = relay;
  }

  open(position: RelayPosition | undefined, listener: RelayListener): RelayReader {
    return this.#relay.open(position, () => listener.onReadable());
  }
}
