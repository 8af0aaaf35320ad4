import { describe, expect, it } from 'vitest';
import type { RankSource } from '../../../../src/core/relay/rank-source.js';
import type { RelayMessage, RelayReader } from '../../../../src/core/relay/relay.js';
import { RehashedRelays } from '../../../../src/worker/sidecar/kv-events/rehashed-relays.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { turns } from '../../../support/turns.js';
import { FakeEventReader, stored } from '../support/fake-event-reader.js';

const SOURCE: RankSource = { rank: 0, endpoint: 'tcp://127.0.0.1:5557', topic: '' };

function setUp() {
  const readers = new Map<number, FakeEventReader>();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  let streams = 0;
  const rehashed = new RehashedRelays(
    { type: 'nothing', instanceId: 'unseen', reason: 'the engine has not been asked yet' },
    {
      clock,
      logger,
      makeStreamId: () => `silent-${++streams}`,
      loadReader: async (rehashTo) => {
        if (rehashTo === 13) throw new Error('no room');
        const eventReader = new FakeEventReader();
        readers.set(rehashTo, eventReader);
        return eventReader;
      },
    },
  );
  const read = (sources: readonly RankSource[] = [SOURCE], instanceId = 'i-1'): void =>
    rehashed.follow({ type: 'read', instanceId, sources, capacityBlocks: 7 });
  const open = (size: number): { got: RelayMessage[]; reader: RelayReader | undefined } => {
    const got: RelayMessage[] = [];
    const take = (): void => {
      for (let next = reader?.next(); next !== undefined; next = reader?.next()) got.push(next);
    };
    const reader = rehashed.open(size, undefined, () => take());
    take();
    return { got, reader };
  };
  return { rehashed, readers, clock, logger, read, open };
}

describe('blocks that are re-hashed for those who ask', () => {
  it('are read from the same sources by a relay of their own for each size, and every start names the size', async () => {
    const { readers, read, open } = setUp();
    read();
    const [small, large] = [open(32), open(64)];
    await turns();
    expect([...readers.keys()]).toEqual([32, 64]);
    expect(readers.get(32)?.calls).toEqual(['instance i-1', 'sources tcp://127.0.0.1:5557']);
    expect(readers.get(32)?.capacityBlocks).toBe(7);
    readers.get(32)?.change(stored(1));
    expect(small.got.flatMap((each) => (each.type === 'start' ? [each.tokensPerBlock] : []))).toEqual([
      32, 32,
    ]);
    expect(small.got.at(-1)?.type).toBe('changes');
    expect(large.got.some(({ type }) => type === 'changes')).toBe(false);
  });

  it('follow the engine as its own blocks do, and fall silent with them', async () => {
    const { rehashed, readers, read, open } = setUp();
    read();
    const { got } = open(32);
    await turns();
    read([SOURCE], 'i-2');
    expect(readers.get(32)?.instanceId).toBe('i-2');
    rehashed.setCaveat('the canary failed');
    expect(got.at(-2)).toMatchObject({ type: 'start', ranks: [{ picture: 'approximate' }] });
    rehashed.follow({ type: 'nothing', instanceId: 'i-2', reason: 'the engine names no source' });
    expect(got.filter(({ type }) => type === 'start').at(-1)).toMatchObject({
      reason: 'the engine names no source',
      ranks: [],
    });
    expect(readers.get(32)?.sources).toEqual([]);
  });

  it('are none of a source that can be read once only, and the reason says which', async () => {
    for (const [source, words] of [
      [{ kind: 'trtllm-drain', rank: 0, url: 'http://127.0.0.1:8000/kv_cache_events' }, 'loses what is read'],
      [{ ...SOURCE, endpoint: '@tcp://*:5557' }, 'is bound by its sidecar'],
    ] as const) {
      const { readers, read, open } = setUp();
      read([source]);
      const { got } = open(32);
      await turns();
      expect(got.filter(({ type }) => type === 'start').at(-1)).toMatchObject({
        reason: expect.stringContaining(words),
        ranks: [],
      });
      expect(readers.get(32)?.sources).toEqual([]);
    }
  });

  it('are kept for ten minutes after their last reader, so that one who comes back finds all of them', async () => {
    const { rehashed, readers, clock, read, open } = setUp();
    read();
    const { reader } = open(32);
    await turns();
    reader?.close();
    reader?.close();
    await clock.advanceMs(9 * 60_000);
    const again = open(32);
    await clock.advanceMs(60 * 60_000);
    expect(rehashed.sizes).toEqual([32]);
    again.reader?.close();
    await clock.advanceMs(10 * 60_000);
    expect(rehashed.sizes).toEqual([]);
    expect(readers.get(32)?.isClosed).toBe(true);
  });

  it('are of four sizes at most: another one takes the place of one that nobody reads, or is refused', async () => {
    const { rehashed, read, open } = setUp();
    read();
    const readers = [32, 64, 96, 128].map((size) => open(size).reader);
    await turns();
    expect(open(160).reader).toBeUndefined();
    readers[1]?.close();
    expect(open(160).reader).toBeDefined();
    expect(rehashed.sizes).toEqual([32, 96, 128, 160]);
  });

  it('say why there are none where the reader cannot be made, and close with everything open', async () => {
    const { rehashed, readers, logger, read, open } = setUp();
    read();
    const { got } = open(13);
    open(32);
    await turns();
    expect(got.filter(({ type }) => type === 'start').at(-1)).toMatchObject({
      reason: 'blocks cannot be re-hashed: no room',
    });
    expect(logger.lines.some(({ level }) => level === 'error')).toBe(true);
    await rehashed.close();
    expect(readers.get(32)?.isClosed).toBe(true);
    expect(open(32).reader).toBeUndefined();
  });
});
