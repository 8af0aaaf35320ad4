import { describe, expect, it } from 'vitest';
import { summaryOf } from './summaries.js';

/** The signals of lines of AIBrix's gateway, with their workers. */
async function signals(...messages: readonly string[]): Promise<Readonly<Record<string, readonly string[]>>> {
  const lines = messages.map((message) => `E1031 06:10:26.175809       1 zmq_client.go:214] ${message}\n`);
  const summary = await summaryOf(lines.join(''));
  return Object.fromEntries(
    [...summary.signals].map(([signal, { byWorker }]) => [signal, [...byWorker.keys()]]),
  );
}

describe("lines of AIBrix's gateway", () => {
  it('distinguish events that cannot be read and a connection that ends', async () => {
    const pod = 'Event consumption error for ns/pod-1';
    expect(await signals(`${pod}: failed to process message: failed to decode event batch: x`)).toEqual({
      events_unreadable: ['ns/pod-1'],
    });
    expect(await signals(`${pod}: poll error: interrupted`)).toEqual({ events_unreachable: ['ns/pod-1'] });
  });

  it('name the pod of every other failure', async () => {
    expect(
      await signals(
        'Failed to handle event from ns/pod-1: no such model',
        'Reconnection failed for ns/pod-2: failed to connect to tcp://10.0.0.2:5557: refused',
        'Missed 12 events for ns/pod-3 (last=3, current=16)',
      ),
    ).toEqual({
      events_unreadable: ['ns/pod-1'],
      events_unreachable: ['ns/pod-2'],
      events_lost: ['ns/pod-3'],
    });
  });

  it('are those of no other program', async () => {
    const summary = await summaryOf(
      'W1 other.go:1] Reconnection failed for db: refused\nMissed events for x\n',
    );
    expect([...summary.signals.keys()]).toEqual([]);
  });
});
