import { describe, expect, it } from 'vitest';
import type { RelayMessage, RelayPosition } from '../../../../src/core/relay/relay.js';
import { ConnectGate } from '../../../../src/edge/platform/net/connect-gate.js';
import { WorkQueue } from '../../../../src/fleet/indexer/groups/work-queue.js';
import { WorkerFollower } from '../../../../src/fleet/indexer/groups/worker-follower.js';
import { FleetIndex } from '../../../../src/fleet/indexer/index/fleet-index.js';
import { IndexTally } from '../../../../src/fleet/indexer/index/index-tally.js';
import {
  type RelayEnd,
  RelayError,
  type RelayListener,
  type RelaySource,
} from '../../../../src/fleet/indexer/relays/relay-source.js';
import { askedPrompt } from '../../../support/asked-prompt.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { pack } from '../../../support/kv-events.js';
import { strictRefusals } from '../../../support/strict-refusals.js';

/** A source that says what a test gives it, and keeps what it was asked. */
class ScriptedSource implements RelaySource {
  /** Where each opening was to begin. */
  readonly asked: (RelayPosition | undefined)[] = [];
  openReaders = 0;
  #queue: (RelayMessage | RelayError)[] = [];
  #listener: RelayListener | undefined;

  open(position: RelayPosition | undefined, listener: RelayListener): ReturnType<RelaySource['open']> {
    this.asked.push(position);
    this.#queue = [];
    this.#listener = listener;
    this.openReaders += 1;
    let isOpen = true;
    return {
      next: () => {
        const next = this.#queue.shift();
        if (next instanceof RelayError) throw next;
        return next;
      },
      close: () => {
        if (isOpen) this.openReaders -= 1;
        isOpen = false;
      },
    };
  }

  say(...messages: readonly (RelayMessage | RelayError)[]): void {
    this.#queue.push(...messages);
    this.#listener?.onReadable();
  }

  break(broken: Partial<RelayEnd> = {}): void {
    this.#listener?.onBroken({ reason: 'UNAVAILABLE "gone"', isUnsupported: false, ...broken });
  }
}

function start(sketch: { instance?: string; stream?: string; resumed?: boolean } = {}): RelayMessage {
  const { instance = 'i-1', stream = 's-1', resumed = false } = sketch;
  const ranks = [{ rank: 0, picture: 'exact' as const, reason: '', blockCount: 0 }];
  return { type: 'start', instanceId: instance, streamId: stream, resumed, reason: '', ranks };
}

const part = (...hashes: number[]): RelayMessage => ({
  type: 'snapshot_part',
  rank: 0,
  tier: 'device',
  tokensPerBlock: 32,
  sequenceHashes: pack(hashes),
});

const end: RelayMessage = { type: 'snapshot_end', sequence: 0 };

const stored = (sequence: number, ...hashes: number[]): RelayMessage => ({
  type: 'changes',
  sequence,
  rank: 0,
  changes: [{ type: 'stored', tier: 'device', tokensPerBlock: 32, sequenceHashes: pack(hashes) }],
});

interface Made {
  readonly follower: WorkerFollower;
  readonly source: ScriptedSource;
  readonly index: FleetIndex;
  readonly clock: FakeClock;
  readonly tally: IndexTally;
  /** Hashes of 1 to 9 that the worker is credited with. */
  held(): number[];
  /** Lets all that is ready be worked off. */
  settle(): Promise<void>;
}

function follow(instanceId = 'i-1'): Made {
  const clock = new FakeClock();
  const turns = { soon: (run: () => void) => clock.setTimer(0, run) };
  const tally = new IndexTally();
  const refusals = strictRefusals();
  const queue = new WorkQueue({ clock, turns, refusals });
  const index = new FleetIndex(
    { tokensPerBlock: 32 },
    { tally, onOtherWidth: () => undefined, onRefused: () => undefined, onSweepDue: () => undefined },
  );
  const follower = new WorkerFollower(
    { target: 'w-1', instanceId },
    {
      clock,
      random: { fraction: () => 0.999_999, uniqueId: () => '0' },
      index,
      queue,
      gate: new ConnectGate({}, { clock }),
      tally,
      refusals,
      onLag: () => undefined,
      onCacheView: () => undefined,
    },
  );
  const source = new ScriptedSource();
  follower.setSource(source);
  return {
    follower,
    source,
    index,
    clock,
    tally,
    held: () =>
      [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((hash) => index.find(askedPrompt(pack([hash]))).length > 0),
    settle: () => clock.advanceMs(1),
  };
}

describe('who follows a worker', () => {
  it('applies the snapshot and each change, and is exact when the snapshot is complete', async () => {
    const { follower, source, held, settle } = follow();
    source.say(start(), part(1, 2));
    await settle();
    expect([follower.state, follower.cacheView.level, held()]).toEqual(['applying', 'partial', [1, 2]]);
    source.say(end, stored(1, 3));
    await settle();
    expect([follower.cacheView.level, held()]).toEqual(['exact', [1, 2, 3]]);
  });

  it('G5: keeps what it holds while the connection is away, and goes on where it left off', async () => {
    const { follower, source, held, settle, tally } = follow();
    source.say(start(), part(1), end, stored(1, 2));
    await settle();
    follower.setSource(undefined);
    expect([follower.state, follower.cacheView.level, held()]).toEqual(['unconnected', 'stale', [1, 2]]);
    follower.setSource(source);
    expect(source.asked).toEqual([undefined, { streamId: 's-1', sequence: 1 }]);
    source.say(start({ resumed: true }), stored(2, 3));
    await settle();
    expect([follower.cacheView.level, held(), tally.gapsOf('resumed')]).toEqual(['exact', [1, 2, 3], 1]);
    expect(source.openReaders).toBe(1);
  });

  it('takes a snapshot in place of what it holds when the sidecar cannot go on', async () => {
    const { follower, source, held, settle, tally, clock } = follow();
    source.say(start(), part(1, 2), end);
    await settle();
    source.break();
    expect(follower.cacheView).toEqual({
      level: 'stale',
      reason: 'its KV event stream broke: UNAVAILABLE "gone"',
    });
    await clock.advanceMs(250);
    source.say(start({ stream: 's-2' }), part(2, 3), end);
    await settle();
    expect([held(), tally.gapsOf('snapshot')]).toEqual([[2, 3], 1]);
  });

  it('says of half a snapshot, which it goes on to credit after a break, that it is a part', async () => {
    const { follower, source, held, settle } = follow();
    source.break();
    expect([follower.cacheView.level, held()]).toEqual(['none', []]);
    await settle();
    const other = follow();
    other.source.say(start(), part(1));
    await other.settle();
    other.source.break();
    expect([other.follower.cacheView.level, other.held()]).toEqual(['stale', [1]]);
  });

  it('waits longer and longer for a sidecar that breaks again and again', async () => {
    const { source, clock } = follow();
    for (const waitMs of [250, 500, 1_000]) {
      const before = source.asked.length;
      source.break();
      await clock.advanceMs(waitMs - 2);
      expect(source.asked.length).toBe(before);
      await clock.advanceMs(2);
      expect(source.asked.length).toBe(before + 1);
    }
  });

  it('asks a sidecar that knows nothing of KV events only now and then, and says so in words', async () => {
    const { follower, source, clock } = follow();
    source.break({ reason: 'its sidecar serves no KV events', isUnsupported: true });
    expect(follower.cacheView).toEqual({ level: 'none', reason: 'its sidecar serves no KV events' });
    await clock.advanceMs(4 * 60_000);
    expect(source.asked).toHaveLength(1);
    await clock.advanceMs(60_000);
    expect(source.asked).toHaveLength(2);
  });

  it('G3: lets the events of an instance wait that no report has named, and applies them when one does', async () => {
    const { follower, source, held, settle } = follow('i-0');
    source.say(start(), part(1), end, stored(1, 2));
    await settle();
    expect([follower.state, follower.cacheView.level, held()]).toEqual(['held', 'none', []]);
    follower.setInstance('i-1');
    await settle();
    expect([follower.state, follower.cacheView.level, held()]).toEqual(['applying', 'exact', [1, 2]]);
  });

  it('does not wait for ever for a report that never comes', async () => {
    const { follower, source, clock } = follow('i-0');
    source.say(start());
    await clock.advanceMs(15_001);
    expect([follower.state, source.openReaders]).toEqual(['waiting', 0]);
    expect(follower.cacheView.reason).toContain('instance i-1, which no report named');
  });

  it('A8: drops what an instance held that is over, applies nothing more of it, and takes the next from its start', async () => {
    const { follower, source, held, settle } = follow();
    source.say(start(), part(1), end);
    await settle();
    follower.forget('i-1');
    expect([follower.state, held()]).toEqual(['outdated', []]);
    source.say(stored(1, 2));
    await settle();
    expect(held()).toEqual([]);
    follower.setInstance('i-2');
    source.say(start({ instance: 'i-2', stream: 's-2' }), part(3), end);
    await settle();
    expect([follower.cacheView.level, held()]).toEqual(['exact', [3]]);
  });

  it('does not wait for the name that a restarted sidecar had for its engine before it asked it', async () => {
    const { follower, source, held, settle } = follow();
    source.say(start({ instance: 'i-unseen', stream: 's-0' }), end);
    await settle();
    expect(follower.state).toBe('held');
    source.say(start(), part(1), end);
    await settle();
    expect([follower.cacheView.level, held()]).toEqual(['exact', [1]]);
  });

  it('begins again immediately where an instance was not over: a restarted sidecar names it when it has asked its engine', async () => {
    const { follower, source, held, settle } = follow();
    source.say(start(), part(1), end);
    await settle();
    follower.setSource(undefined);
    follower.setSource(source);
    follower.setInstance('i-unseen');
    source.say(start({ stream: 's-2' }), part(2), end);
    await settle();
    expect([follower.state, held()]).toEqual(['outdated', []]);
    follower.setInstance('i-1');
    source.say(start({ stream: 's-2' }), part(2), end);
    await settle();
    expect([follower.cacheView.level, held(), source.openReaders]).toEqual(['exact', [2], 1]);
  });

  it('drops what the old instance held as soon as the stream names the next, before any report', async () => {
    const { follower, source, held, settle } = follow();
    source.say(start(), part(1), end);
    await settle();
    source.say(start({ instance: 'i-2', stream: 's-2' }), part(2), end);
    await settle();
    expect([follower.state, held()]).toEqual(['held', []]);
    follower.forget('i-1');
    follower.setInstance('i-2');
    await settle();
    expect(held()).toEqual([2]);
  });

  it('keeps what is held when the same engine start has got another name', async () => {
    const { follower, source, held, settle } = follow();
    source.say(start(), part(1), end);
    await settle();
    source.say(start({ instance: 'i-2', resumed: true }), stored(1, 2));
    await settle();
    expect([follower.state, follower.cacheView.level, held()]).toEqual(['held', 'stale', [1]]);
    follower.forget('i-1');
    follower.setInstance('i-2');
    await settle();
    expect([follower.state, held(), source.asked.length]).toEqual(['applying', [1, 2], 1]);
  });

  it('begins again, from nothing, where the stream makes no sense', async () => {
    const { follower, source, clock, settle } = follow();
    source.say(start(), part(1), end, stored(5, 2));
    await settle();
    expect(follower.state).toBe('waiting');
    expect(follower.cacheView.reason).toContain('changes 1 to 4 are missing');
    await clock.advanceMs(250);
    expect(source.asked).toEqual([undefined, undefined]);
  });

  it('begins again where a message cannot be read, or comes before any start', async () => {
    for (const nonsense of [new RelayError('has a message that cannot be read'), end]) {
      const { follower, source, settle } = follow();
      source.say(nonsense);
      await settle();
      expect([follower.state, source.openReaders]).toEqual(['waiting', 0]);
    }
  });

  it('leaves nothing behind when it is closed', async () => {
    const { follower, source, clock, settle } = follow();
    source.say(start(), part(1), end);
    await settle();
    source.break();
    follower.close();
    expect([source.openReaders, clock.pendingTimers]).toEqual([0, 0]);
    follower.setSource(source);
    expect(source.asked).toHaveLength(1);
  });
});

describe('the work queue', () => {
  it('gives everybody a turn, and the process its own between two slices', async () => {
    const clock = new FakeClock();
    let slices = 0;
    const turns = {
      soon: (run: () => void) => {
        slices += 1;
        return clock.setTimer(1, run);
      },
    };
    let nowMs = 0;
    const queue = new WorkQueue({
      clock: { ...clock, monotonicMs: () => nowMs } as never,
      turns,
      refusals: strictRefusals(),
    });
    const order: string[] = [];
    const worker = (name: string, steps: number): { step(): boolean } => {
      let left = steps;
      return {
        step: () => {
          if (left === 0) return false;
          left -= 1;
          nowMs += 1;
          if (order.at(-1) !== name) order.push(name);
          return true;
        },
      };
    };
    queue.add(worker('long', 40));
    queue.add(worker('short', 2));
    await clock.advanceMs(20);
    expect(order).toEqual(['long', 'short', 'long']);
    expect(slices).toBeGreaterThan(2);
    queue.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
