import type { Relay, RelayPosition } from '../../worker/kv-events/relay.js';
import type { Feed, FeedListener, FeedReader } from './feed.js';

/** The events of an engine that is read in this process: nothing lies between, so nothing breaks. */
export class RelayFeed implements Feed {
  readonly #relay: Relay;

  constructor(relay: Relay) {
    this.#relay = relay;
  }

  open(position: RelayPosition | undefined, listener: FeedListener): FeedReader {
    return this.#relay.open(position, () => listener.onReadable());
  }
}
