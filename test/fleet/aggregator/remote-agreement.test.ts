import { createServer } from 'node:net';
import type { ServerWritableStream, StatusObject } from '@grpc/grpc-js';
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../../src/edge/platform/address.js';
import { RpcDialer } from '../../../src/edge/rpc/channel.js';
import { RpcError, toStatus } from '../../../src/edge/rpc/errors.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import { RemoteAgreement } from '../../../src/fleet/aggregator/remote-agreement.js';
import type { WatchAgreementRequest, WatchAgreementResponse } from '../../../src/gen/kvaccord/v1/fleet.js';
import { Agreement, AgreementState, FleetService } from '../../../src/gen/kvaccord/v1/fleet.js';
import { Changes } from '../../support/changes.js';
import { FakeClock } from '../../support/fake-clock.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { until } from '../../support/turns.js';

const open = new OpenThings();
afterEach(() => open.close());

type Watch = ServerWritableStream<WatchAgreementRequest, WatchAgreementResponse>;

const agreed = (tokensPerBlock: number, group = 'tiny'): Agreement =>
  Agreement.fromPartial({
    group,
    state: AgreementState.AGREED,
    contract: { tokensPerBlock },
  });
const collecting = Agreement.fromPartial({ state: AgreementState.COLLECTING });

/** An aggregator that says what the test says. */
class FakeAggregator {
  readonly changes = new Changes();
  readonly asked: string[] = [];
  /** Streams that are open. */
  readonly watches = new Set<Watch>();
  /** What a new watch receives. */
  greet: (watch: Watch) => void = () => undefined;
  readonly #server = new Server();
  address = '';

  static async start(): Promise<FakeAggregator> {
    const made = new FakeAggregator();
    made.#server.addService(FleetService, {
      watchAgreement: (watch: Watch) => {
        made.asked.push(watch.request.group);
        made.watches.add(watch);
        const leave = (): void => {
          made.watches.delete(watch);
          made.changes.notify();
        };
        watch.once('cancelled', leave);
        watch.once('close', leave);
        made.greet(watch);
        made.changes.notify();
      },
    });
    const port = await new Promise<number>((resolve, reject) =>
      made.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      ),
    );
    made.address = `127.0.0.1:${port}`;
    open.add(() => made.#server.forceShutdown());
    return made;
  }

  say(agreement: Agreement): void {
    for (const watch of this.watches) watch.write({ payload: { $case: 'agreement', value: agreement } });
  }

  beat(): void {
    const value = { sentAt: new Date(0), instanceId: '', revision: 0n };
    for (const watch of this.watches) watch.write({ payload: { $case: 'heartbeat', value } });
  }

  refuse(error: Partial<StatusObject>): void {
    for (const watch of this.watches)
      watch.emit('error', { metadata: new Metadata(), details: '', ...error });
  }
}

class Stage {
  readonly clock = new FakeClock();
  readonly logger = new RecordingLogger();
  readonly changes = new Changes();
  readonly remote: RemoteAgreement;
  /** How often it reported anything. */
  calls = 0;

  constructor(address: string, group = '') {
    const { clock, logger } = this;
    const at = parseAddress(address);
    if (at === undefined) throw new Error(address);
    // Without jitter: the whole of each pause.
    const random = { fraction: () => 1, uniqueId: () => 'x' };
    const dialer = new RpcDialer({}, { clock, security: createPlaintextSecurity() });
    this.remote = new RemoteAgreement({ address: at, group }, { clock, logger, random, dialer });
    this.remote.watch(() => {
      this.calls += 1;
      this.changes.notify();
    });
    this.remote.start();
    open.add(async () => {
      await this.remote.close();
      expect(clock.pendingTimers).toBe(0);
    });
  }

  get size(): number | undefined {
    return this.remote.agreements[0]?.contract?.tokensPerBlock;
  }

  until(holds: () => boolean): Promise<void> {
    return this.changes.until(holds);
  }
}

describe('following an aggregator', () => {
  it('passes on what it says and what changes', async () => {
    const aggregator = await FakeAggregator.start();
    const stage = new Stage(aggregator.address);
    expect(stage.remote).toMatchObject({
      agreements: [],
      problem: `${aggregator.address}: has not answered yet`,
      refusal: undefined,
    });
    await aggregator.changes.until(() => aggregator.watches.size === 1);
    aggregator.say(agreed(32));
    await stage.until(() => stage.size === 32);
    expect(stage.remote.problem).toBeUndefined();
    aggregator.say(agreed(64));
    await stage.until(() => stage.size === 64);
    expect(stage.logger.lines).toEqual([]);
  });

  it('leaves nothing open when it is closed', async () => {
    const aggregator = await FakeAggregator.start();
    const stage = new Stage(aggregator.address);
    await aggregator.changes.until(() => aggregator.watches.size === 1);
    await stage.remote.close();
    await aggregator.changes.until(() => aggregator.watches.size === 0);
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it('comes back after an end, keeping what it knew meanwhile', async () => {
    const aggregator = await FakeAggregator.start();
    const stage = new Stage(aggregator.address);
    await aggregator.changes.until(() => aggregator.watches.size === 1);
    aggregator.say(agreed(32));
    await stage.until(() => stage.size === 32);
    for (const watch of aggregator.watches) watch.end();
    await stage.until(() => stage.remote.problem !== undefined);
    expect(stage.remote.problem).toBe(
      `${aggregator.address}: the aggregator ended the watch: it is shut down or restarted`,
    );
    expect(stage.size).toBe(32);
    aggregator.greet = () => aggregator.say(agreed(64));
    await stage.clock.advanceMs(250);
    await stage.until(() => stage.size === 64);
    expect(stage.remote.problem).toBeUndefined();
  });

  it('takes an aggregator for dead that says nothing for three heartbeats', async () => {
    const aggregator = await FakeAggregator.start();
    const stage = new Stage(aggregator.address);
    await aggregator.changes.until(() => aggregator.watches.size === 1);
    aggregator.say(agreed(32));
    await stage.until(() => stage.size === 32);
    await stage.clock.advanceMs(14_999);
    expect(stage.remote.problem).toBeUndefined();
    await stage.clock.advanceMs(1);
    expect(stage.remote.problem).toContain('said nothing for 15 s');
    await aggregator.changes.until(() => aggregator.watches.size === 0);
  });

  it('waits twice as long after each failure, to 15 s, and logs the same problem once', async () => {
    const aggregator = await FakeAggregator.start();
    aggregator.greet = () => aggregator.refuse({ code: status.UNAVAILABLE, details: 'draining' });
    const stage = new Stage(aggregator.address);
    for (const [index, pauseMs] of [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000].entries()) {
      await stage.until(() => stage.calls === index + 1);
      await stage.clock.advanceMs(pauseMs - 1);
      expect(aggregator.asked).toHaveLength(index + 1);
      await stage.clock.advanceMs(1);
    }
    await aggregator.changes.until(() => aggregator.asked.length === 9);
    expect(stage.logger.messages('warn')).toEqual([
      `Cannot follow the aggregator: ${aggregator.address}: the connection broke or the aggregator is going away (UNAVAILABLE "draining")`,
    ]);
  });

  it('is as patient as at first once the aggregator was heard for a while', async () => {
    const aggregator = await FakeAggregator.start();
    const refuse = (): void => aggregator.refuse({ code: status.UNAVAILABLE, details: 'draining' });
    aggregator.greet = refuse;
    const stage = new Stage(aggregator.address);
    for (const [index, pauseMs] of [250, 500, 1_000].entries()) {
      await stage.until(() => stage.calls === index + 1);
      if (index === 2) aggregator.greet = () => aggregator.say(agreed(32));
      await stage.clock.advanceMs(pauseMs);
    }
    await stage.until(() => stage.size === 32);
    aggregator.beat();
    aggregator.say(agreed(64));
    await stage.until(() => stage.size === 64);
    aggregator.greet = refuse;
    refuse();
    const asked = aggregator.asked.length;
    await stage.until(() => stage.remote.problem !== undefined);
    await stage.clock.advanceMs(250);
    await aggregator.changes.until(() => aggregator.asked.length === asked + 1);
    expect(stage.logger.messages('warn')).toHaveLength(2);
  });

  it('gives a black hole up after the connect time-out', async () => {
    const sockets: { destroy(): void }[] = [];
    const server = createServer((socket) => sockets.push(socket.on('error', () => undefined).resume()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.add(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as { port: number };
    const stage = new Stage(`127.0.0.1:${port}`);
    await until(() => sockets.length === 1 && stage.clock.pendingTimers === 1);
    await stage.clock.advanceMs(5_000);
    await stage.until(() => stage.remote.problem?.includes('HTTP/2') === true);
  });
});

describe('an aggregator that cannot serve the question', () => {
  it.each([
    [status.UNIMPLEMENTED, 'answers gRPC but is not a kv-accord aggregator'],
    [status.INVALID_ARGUMENT, 'the watch stream failed (INVALID_ARGUMENT "nonsense")'],
  ])('is not asked again after status %i', async (code, words) => {
    const aggregator = await FakeAggregator.start();
    aggregator.greet = () => aggregator.refuse({ code, details: 'nonsense' });
    const stage = new Stage(aggregator.address);
    await stage.until(() => stage.remote.refusal !== undefined);
    expect(stage.remote.refusal).toContain(`${aggregator.address}: ${words}`);
    await stage.clock.advanceMs(60_000);
    expect(aggregator.asked).toHaveLength(1);
    // The client got its answer; there was nothing that the log would have to take back.
    expect(stage.logger.lines).toEqual([]);
  });

  it('is asked again after any other, for a token or a server may come right', async () => {
    const aggregator = await FakeAggregator.start();
    aggregator.greet = () => aggregator.refuse({ code: status.UNAUTHENTICATED, details: 'no token' });
    const stage = new Stage(aggregator.address);
    await stage.until(() => stage.remote.problem?.includes('--token-file') === true);
    aggregator.greet = () => aggregator.say(agreed(32));
    await stage.clock.advanceMs(250);
    await stage.until(() => stage.size === 32);
  });

  it('is never dialled in plaintext beyond this machine', async () => {
    const stage = new Stage('192.0.2.1:50060');
    await stage.until(() => stage.remote.refusal?.includes('--insecure') === true);
    await stage.clock.advanceMs(60_000);
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it.each([0, 1_048_577, 4_294_967_295])('is not believed an agreement on %i', async (size) => {
    const aggregator = await FakeAggregator.start();
    aggregator.greet = () => aggregator.say(agreed(size));
    const stage = new Stage(aggregator.address);
    await stage.until(() => stage.remote.problem?.includes(`tokens_per_block is ${size} `) === true);
    expect(stage.remote.agreements).toEqual([]);
  });

  it('is not believed an agreement on nothing', async () => {
    const aggregator = await FakeAggregator.start();
    aggregator.greet = () => aggregator.say({ ...agreed(1), contract: undefined });
    const stage = new Stage(aggregator.address);
    await stage.until(() => stage.remote.problem?.includes('tokens_per_block is missing') === true);
  });
});

describe('a fleet of several models', () => {
  const several = toStatus(
    new RpcError('invalid_argument', 'the fleet serves several models: llama, qwen', {
      reason: 'several_groups',
    }),
  );

  it('must be asked for one by name', async () => {
    const aggregator = await FakeAggregator.start();
    aggregator.greet = () => aggregator.refuse(several);
    const stage = new Stage(aggregator.address);
    await stage.until(() => stage.remote.refusal !== undefined);
    expect(stage.remote.refusal).toMatch(/llama, qwen; set --group$/);
  });

  it('is followed by the name that was agreed on, when it was one model then', async () => {
    const aggregator = await FakeAggregator.start();
    const stage = new Stage(aggregator.address);
    await aggregator.changes.until(() => aggregator.watches.size === 1);
    aggregator.say(agreed(32, 'llama'));
    await stage.until(() => stage.size === 32);
    aggregator.greet = () => aggregator.say(agreed(64, 'llama'));
    aggregator.refuse(several);
    await until(() => stage.logger.lines.length > 0 && stage.clock.pendingTimers === 1);
    await stage.clock.advanceMs(250);
    await stage.until(() => stage.size === 64);
    expect(aggregator.asked).toEqual(['', 'llama']);
    expect(stage.remote).toMatchObject({ problem: undefined, refusal: undefined });
    expect(stage.logger.lines).toMatchObject([
      { level: 'info', message: expect.stringContaining('"llama"') },
    ]);
  });

  it('that has no worker of that model is an answer, not a problem', async () => {
    const aggregator = await FakeAggregator.start();
    const unknown = new RpcError('not_found', 'nobody serves "mistral"; the fleet serves llama', {
      reason: 'unknown_group',
    });
    aggregator.greet = () => aggregator.refuse(toStatus(unknown));
    const stage = new Stage(aggregator.address, 'mistral');
    await stage.until(() => stage.remote.agreements.length === 1);
    expect(stage.remote.problem).toBeUndefined();
    expect(stage.remote.agreements[0]).toMatchObject({ group: 'mistral', gateOpen: false });
    expect(stage.remote.agreements[0]?.reasons[0]?.text).toContain('the fleet serves llama');
    aggregator.greet = () => aggregator.say(agreed(32, 'mistral'));
    await stage.clock.advanceMs(250);
    await stage.until(() => stage.size === 32);
  });

  it('may begin with no model at all', async () => {
    const aggregator = await FakeAggregator.start();
    aggregator.greet = () => aggregator.say(collecting);
    const stage = new Stage(aggregator.address);
    await stage.until(() => stage.remote.agreements.length === 1);
    aggregator.say(agreed(32));
    await stage.until(() => stage.size === 32);
  });
});
