import { PassThrough } from 'node:stream';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { RelayMessage, RelayReader } from '../../../../src/core/relay/relay.js';
import { parseAddress } from '../../../../src/edge/platform/address.js';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { SilenceWatch } from '../../../../src/edge/platform/streams/silence-watch.js';
import { type RpcChannel, RpcDialer } from '../../../../src/edge/rpc/channel.js';
import { createPlaintextSecurity } from '../../../../src/edge/security/security.js';
import type { RelayEnd } from '../../../../src/fleet/indexer/relays/relay-source.js';
import { SidecarRelaySource } from '../../../../src/fleet/indexer/relays/sidecar-relay-source.js';
import { Changes } from '../../../support/changes.js';
import { FakeClock } from '../../../support/fake-clock.js';
import type { FakeSidecar, FakeSidecarOptions } from '../../../support/fake-sidecar.js';
import { say } from '../../../support/kv-events.js';
import { OpenThings } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

interface Opened {
  readonly sidecar: FakeSidecar;
  readonly reader: RelayReader;
  readonly messages: RelayMessage[];
  readonly breaks: RelayEnd[];
  /** How often it was said that something can be read. */
  readonly arrivals: () => number;
  /** Moves the silence watch alone. */
  readonly clock: FakeClock;
  readonly watch: SilenceWatch;
  until(holds: () => boolean): Promise<void>;
}

/** Opens the relay of a sidecar; `reads`: messages are taken as they come. */
async function subscribe(
  kvEvents: FakeSidecarOptions['kvEvents'],
  { reads = true, rehashTo }: { reads?: boolean; rehashTo?: number } = {},
): Promise<Opened> {
  const sidecar = await open.sidecar('w-1', {}, kvEvents === undefined ? {} : { kvEvents });
  const address = parseAddress(sidecar.address);
  if (address === undefined) throw new Error('no address');
  const dialer = new RpcDialer({}, { clock: systemClock, security: createPlaintextSecurity() });
  const channel = dialer.dial(address);
  open.add(() => channel.close());
  await channel.waitForReady();
  const clock = new FakeClock();
  const watch = new SilenceWatch({ clock });
  const messages: RelayMessage[] = [];
  const breaks: RelayEnd[] = [];
  const changes = new Changes();
  let arrivals = 0;
  const reader = new SidecarRelaySource({ channel, silence: watch }).open(
    { streamId: 's-1', sequence: 7 },
    {
      onReadable: () => {
        arrivals += 1;
        for (let next = reads ? reader.next() : undefined; next !== undefined; next = reader.next()) {
          messages.push(next);
        }
        changes.notify();
      },
      onBroken: (broken) => {
        breaks.push(broken);
        changes.notify();
      },
    },
    rehashTo,
  );
  const until = (holds: () => boolean): Promise<void> => changes.until(holds);
  return { sidecar, reader, messages, breaks, arrivals: () => arrivals, clock, watch, until };
}

describe('the relay of a sidecar', () => {
  it('asks where to go on, and gives what comes in order', async () => {
    const { sidecar, reader, messages, until, watch } = await subscribe(() => [
      say.start(),
      say.part([1]),
      say.end(7),
    ]);
    await until(() => messages.length === 3);
    expect(messages.map(({ type }) => type)).toEqual(['start', 'snapshot_part', 'snapshot_end']);
    expect(sidecar.subscriptionRequests).toEqual([
      { resumeStreamId: 's-1', resumeSequence: 7n, tokensPerBlock: 0 },
    ]);
    reader.close();
    await sidecar.until(() => sidecar.openSubscriptions === 0);
    expect(watch.size).toBe(0);
  });

  it('asks for blocks of another size, and takes them where the start confirms it', async () => {
    const confirmed = say.start();
    if (confirmed.payload?.$case === 'start') confirmed.payload.value.tokensPerBlock = 64;
    const { sidecar, messages, breaks, until } = await subscribe(() => [confirmed, say.end(7)], {
      rehashTo: 64,
    });
    await until(() => messages.length === 2);
    expect(messages[0]).toMatchObject({ type: 'start', tokensPerBlock: 64 });
    expect(sidecar.subscriptionRequests[0]).toMatchObject({ tokensPerBlock: 64 });
    expect(breaks).toEqual([]);
  });

  it('is broken by a sidecar that answers in its own size: of that nothing may be applied', async () => {
    const { messages, breaks, until } = await subscribe(() => [say.start(), say.part([1])], { rehashTo: 64 });
    await until(() => breaks.length === 1);
    expect(messages).toEqual([]);
    expect(breaks[0]).toMatchObject({ isUnsupported: true });
    expect(breaks[0]?.reason).toContain('does not re-hash blocks');
  });

  it('is left in peace by what its stream says after it was closed, which is not always an answer', () => {
    const stream = Object.assign(new PassThrough({ objectMode: true }), { cancel: () => undefined });
    const client = { makeServerStreamRequest: () => stream };
    const channel = { createClient: () => client } as unknown as RpcChannel;
    const breaks: RelayEnd[] = [];
    const reader = new SidecarRelaySource({
      channel,
      silence: new SilenceWatch({ clock: new FakeClock() }),
    }).open(undefined, { onReadable: () => undefined, onBroken: (broken) => breaks.push(broken) });
    reader.close();
    // As grpc-js does when a message was on its way to a stream that is cancelled.
    stream.emit('error', new Error('stream.push() after EOF'));
    expect(breaks).toEqual([]);
  });

  it('is broken after 15 seconds in which nothing is heard, and a heartbeat is enough', async () => {
    const heartbeat = { sentAt: new Date(0), instanceId: 'i', revision: 1n };
    const { sidecar, breaks, clock, messages, until } = await subscribe(() => [say.start()]);
    await until(() => messages.length === 1);
    await clock.advanceMs(15_000);
    expect(breaks).toEqual([]);
    sidecar.sendEvents({ payload: { $case: 'heartbeat', value: heartbeat } }, say.end());
    await until(() => messages.length === 2);
    await clock.advanceMs(15_000);
    expect(breaks).toEqual([]);
    await clock.advanceMs(1_000);
    expect(breaks).toEqual([{ reason: 'nothing was heard on it for 15 s', isUnsupported: false }]);
    await sidecar.until(() => sidecar.openSubscriptions === 0);
  });

  it('does not take its own slowness for silence, and leaves the rest with the sidecar', async () => {
    const parts = Array.from({ length: 200 }, () => say.part(Array<number>(8_192).fill(1)));
    const { reader, breaks, arrivals, clock, until } = await subscribe(() => [say.start(), ...parts], {
      reads: false,
    });
    await until(() => arrivals() === 1);
    expect(reader.next()).toMatchObject({ type: 'start' });
    while (reader.next() !== undefined);
    // What comes now waits.
    await until(() => arrivals() === 2);
    await clock.advanceMs(60_000);
    expect(breaks).toEqual([]);
    reader.close();
  });

  it('says of an older sidecar that it knows nothing of KV events', async () => {
    const { breaks, until } = await subscribe(undefined);
    await until(() => breaks.length === 1);
    expect(breaks[0]).toMatchObject({ isUnsupported: true });
    expect(breaks[0]?.reason).toContain('serves no KV events');
  });

  it('says how it ended: in order, cut off, refused, or with a message that is too large', async () => {
    const ended = await subscribe(() => [say.start()]);
    await ended.until(() => ended.messages.length === 1);
    ended.sidecar.endSubscriptions();
    await ended.until(() => ended.breaks.length === 1);
    expect(ended.breaks[0]?.reason).toBe('the sidecar ended it in order');

    const cut = await subscribe(() => [say.start()]);
    await cut.until(() => cut.messages.length === 1);
    cut.sidecar.cutConnections();
    await cut.until(() => cut.breaks.length === 1);
    expect(cut.breaks[0]?.reason).toContain(status[status.UNAVAILABLE]);

    const large = await subscribe(() => [say.start(), say.part(Array<number>(200_000).fill(1))]);
    await large.until(() => large.breaks.length === 1);
    expect(large.breaks[0]?.reason).toContain('at most 1048576');
  });
});
