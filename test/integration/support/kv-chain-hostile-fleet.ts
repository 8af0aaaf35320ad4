import type { MemberView } from '../../../src/core/agreement/view/snapshot.js';
import { ConnectGate } from '../../../src/edge/platform/net/connect-gate.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { EpochIndex } from '../../../src/fleet/indexer/groups/epoch-index.js';
import { WorkQueue } from '../../../src/fleet/indexer/groups/work-queue.js';
import { IndexTally } from '../../../src/fleet/indexer/index/index-tally.js';
import { readResponse } from '../../../src/fleet/indexer/relays/read-response.js';
import type { RelayListener, RelaySource } from '../../../src/fleet/indexer/relays/relay-source.js';
import { SubscribeResponse } from '../../../src/gen/kvaccord/v1/kv_events.js';
import { askedPrompt } from '../../support/asked-prompt.js';
import { FakeClock } from '../../support/fake-clock.js';
import { pack, say } from '../../support/kv-events.js';
import { strictRefusals } from '../../support/strict-refusals.js';

/** Tokens per block of the fleet. */
export const WIDTH = 32;

/** Hashes that only the honest worker holds. */
const HONEST = [1_001, 1_002, 1_003, 1_004];

/** The bytes of a sidecar, as a test says them. */
class SpokenSource implements RelaySource {
  readonly #said: Buffer[] = [];
  #listener: RelayListener | undefined;

  say(bytes: Buffer): void {
    this.#said.push(bytes);
    this.#listener?.onReadable();
  }

  open(_position: unknown, listener: RelayListener): ReturnType<RelaySource['open']> {
    this.#listener = listener;
    return {
      next: () => {
        for (;;) {
          const bytes = this.#said.shift();
          if (bytes === undefined) return undefined;
          const message = readResponse(bytes);
          if (message !== undefined) return message;
        }
      },
      close: () => {
        this.#listener = undefined;
      },
    };
  }
}

/** An index of two workers: one that says what is right, and one that says anything. */
export class HostileFleet {
  readonly maxBytes: number = 4 * 1024 * 1024;
  readonly #clock = new FakeClock();
  readonly #due = new Set<() => void>();
  readonly #queue = new WorkQueue({
    clock: this.#clock,
    refusals: strictRefusals(),
    turns: {
      soon: (run) => {
        this.#due.add(run);
        return { clear: () => this.#due.delete(run) };
      },
    },
  });
  readonly #sources = { honest: new SpokenSource(), hostile: new SpokenSource() };
  readonly #index: EpochIndex;

  constructor() {
    this.#index = new EpochIndex(
      { epoch: 1, tokensPerBlock: WIDTH, hashUnit: 'token', maxBytes: this.maxBytes },
      {
        clock: this.#clock,
        random: systemRandom,
        queue: this.#queue,
        gate: new ConnectGate({}, { clock: this.#clock }),
        refusals: strictRefusals(),
        tally: new IndexTally(),
        listener: { cacheViewChanged: () => {}, mismatchedEvents: () => {} },
        sourceOf: (target) => (target === 'honest' ? this.#sources.honest : this.#sources.hostile),
        hashUnitOf: () => 'token',
        contractOf: () => undefined,
        onLag: () => {},
      },
    );
    this.#setMembers('honest', 'hostile');
    for (const message of [
      say.start({ instance: 'i-1' }),
      say.part(HONEST.slice(0, 3)),
      say.end(),
      say.stored(1, HONEST.slice(3)),
    ])
      this.#sources.honest.say(Buffer.from(SubscribeResponse.encode(message).finish()));
    this.#takeTurns();
  }

  get memoryBytes(): number {
    return this.#index.memoryBytes;
  }

  get blocks(): number {
    return this.#index.blocks;
  }

  /** The hostile worker says something. When its stream was given up, the next is said on another. */
  async say(bytes: Buffer): Promise<void> {
    this.#sources.hostile.say(bytes);
    this.#takeTurns();
    if (this.#index.followerStates.includes('waiting')) await this.#clock.advanceMs(16_000);
    this.#takeTurns();
  }

  async leave(): Promise<void> {
    this.#setMembers('honest');
    this.#takeTurns();
  }

  /** Who holds the prompt of the honest worker. */
  answer(): string[] {
    return this.#index.find(askedPrompt(pack(HONEST))).map(({ target, blocks }) => `${target} ${blocks[0]}`);
  }

  /** Who holds anything. */
  holders(): string[] {
    return this.#index.holdings().map(({ target }) => target);
  }

  close(): void {
    this.#index.close();
    this.#queue.close();
  }

  #setMembers(...targets: readonly string[]): void {
    const members = targets.map((target) => ({ target, offer: 'full', instanceId: 'i-1' }));
    this.#index.setMembers(members as unknown as readonly MemberView[]);
  }

  #takeTurns(): void {
    for (const run of this.#due) {
      this.#due.delete(run);
      run();
    }
  }
}
