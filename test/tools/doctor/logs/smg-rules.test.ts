import { describe, expect, it } from 'vitest';
import { summaryOf } from './summaries.js';

/** The signals of lines of the gateway, with their workers. */
async function signals(...messages: readonly string[]): Promise<Readonly<Record<string, readonly string[]>>> {
  const lines = messages.map((message) => `2026-05-22 10:02:41  WARN smg::worker: src/a.rs:1: ${message}\n`);
  const summary = await summaryOf(lines.join(''));
  return Object.fromEntries(
    [...summary.signals].map(([signal, { byWorker }]) => [signal, [...byWorker.keys()]]),
  );
}

describe('lines of Shepherd Model Gateway', () => {
  it('distinguish a worker without events and one whose subscription has ended', async () => {
    const url = 'worker_url=grpc://worker-1:50051';
    expect(
      await signals(
        `Backend does not implement SubscribeKvEvents, disabling KV event subscription for this worker ${url}`,
        `KV event subscription task panicked; KV events from this worker no longer feed cache-aware routing ${url}`,
      ),
    ).toEqual({
      events_disabled: ['grpc://worker-1:50051'],
      events_unreachable: ['grpc://worker-1:50051'],
    });
  });

  it('name a worker that is not reached as a known fault, as its events come over its gRPC port', async () => {
    const { knownFaults } = await summaryOf(
      '2026-05-22 10:02:41  WARN smg::worker: src/a.rs:1: Failed to subscribe to KV events, retrying worker_url=grpc://worker-1:50051 error=refused delay_ms=100\n',
    );
    expect(knownFaults?.map(({ fault }) => fault.id)).toEqual(['smg_events_not_reached']);
  });

  it('say which program they are of', async () => {
    const { settings } = await summaryOf(
      "Warning: No string tree found for model 'm', using random worker selection\n",
    );
    expect(settings.map(({ name, side, value }) => [name, side, value])).toEqual([
      ['program', 'router', 'smg'],
    ]);
  });

  it('are no sign while events arrive', async () => {
    expect(await signals('KV event stream connected worker_url=grpc://worker-1:50051 start_seq=0')).toEqual(
      {},
    );
  });
});
