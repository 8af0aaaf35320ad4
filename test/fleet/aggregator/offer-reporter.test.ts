import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { FleetView, MemberView } from '../../../src/core/agreement/view/snapshot.js';
import type { RpcChannel } from '../../../src/edge/rpc/channel.js';
import { OfferReporter } from '../../../src/fleet/aggregator/offer-reporter.js';
import {
  ReportOfferRequest_Offer as Offer,
  type ReportOfferRequest,
} from '../../../src/gen/kvaccord/v1/capabilities.js';
import { FakeClock } from '../../support/fake-clock.js';

type Answer = (error: { code: number } | null, response?: object) => void;

/** A sidecar that keeps what it is sent, and answers when a test says so. */
class Sidecar {
  readonly requests: ReportOfferRequest[] = [];
  readonly answers: Answer[] = [];
  isCancelled = false;

  get channel(): RpcChannel {
    const reportOffer = (request: ReportOfferRequest, ...rest: unknown[]): { cancel(): void } => {
      this.requests.push(request);
      this.answers.push(rest.at(-1) as Answer);
      return { cancel: () => (this.isCancelled = true) };
    };
    return { createClient: () => ({ reportOffer }) } as unknown as RpcChannel;
  }

  get offers(): Offer[] {
    return this.requests.map(({ offer }) => offer);
  }
}

function viewOf(member: Partial<MemberView>, gateOpen = true): FleetView {
  const whole = { target: 'a', instanceId: 'a-1', offer: 'full', state: 'conforming', reason: '', ...member };
  return { groups: [{ group: 'm', gateOpen, members: [whole] }] } as unknown as FleetView;
}

const KEPT_OUT: Partial<MemberView> = { offer: 'none', state: 'dissenting', reason: 'it has 64' };

function start(): { reporter: OfferReporter; sidecar: Sidecar; clock: FakeClock } {
  const clock = new FakeClock();
  const reporter = new OfferReporter({ frontendId: 'f-1' }, { clock });
  const sidecar = new Sidecar();
  reporter.onConnected('a', sidecar.channel);
  reporter.onOfferAsked('a');
  return { reporter, sidecar, clock };
}

describe('an OfferReporter', () => {
  it('reports nothing to a sidecar that no client asks, and the decision as it stands once one does', () => {
    const clock = new FakeClock();
    const reporter = new OfferReporter({ frontendId: 'f-1' }, { clock });
    const sidecar = new Sidecar();
    reporter.onConnected('a', sidecar.channel);
    reporter.onView(viewOf(KEPT_OUT));
    expect([sidecar.requests.length, clock.pendingTimers]).toEqual([0, 0]);
    reporter.onOfferAsked('a');
    reporter.onOfferAsked('a');
    expect(sidecar.offers).toEqual([Offer.KEPT_OUT]);
    reporter.onDisconnected('a');
    expect(clock.pendingTimers).toBe(0);
  });

  it('is asked again by a sidecar that comes back, and not for one without a connection', () => {
    const clock = new FakeClock();
    const reporter = new OfferReporter({ frontendId: 'f-1' }, { clock });
    const sidecar = new Sidecar();
    reporter.onView(viewOf({}));
    reporter.onOfferAsked('a');
    reporter.onConnected('a', sidecar.channel);
    expect(sidecar.requests).toHaveLength(0);
    reporter.onOfferAsked('a');
    expect(sidecar.requests).toHaveLength(1);
    reporter.onConnected('a', sidecar.channel);
    reporter.onView(viewOf(KEPT_OUT));
    expect(sidecar.requests).toHaveLength(1);
    reporter.onDisconnected('a');
  });

  it('reports what is decided for each worker, with the engine start and the reason', async () => {
    const { reporter, sidecar, clock } = start();
    reporter.onView(viewOf({}, false));
    expect(sidecar.requests).toHaveLength(0);
    reporter.onView(viewOf(KEPT_OUT));
    sidecar.answers.shift()?.(null, {});
    await clock.advanceMs(0);
    reporter.onView(viewOf({}));
    expect(sidecar.offers).toEqual([Offer.KEPT_OUT, Offer.OFFERED]);
    expect(sidecar.requests[0]).toMatchObject({ frontendId: 'f-1', instanceId: 'a-1', reason: 'it has 64' });
    reporter.onDisconnected('a');
  });

  it('has decided nothing about a worker that is kept out for another reason than that it differs', () => {
    const { reporter, sidecar } = start();
    reporter.onView(viewOf({ offer: 'none', state: 'draining' }));
    expect(sidecar.offers).toEqual([]);
    reporter.onDisconnected('a');
  });

  it('has one call at a time on its way, and then reports the latest', async () => {
    const { reporter, sidecar, clock } = start();
    reporter.onView(viewOf({}));
    reporter.onView(viewOf(KEPT_OUT));
    reporter.onView(viewOf({ ...KEPT_OUT, reason: 'the last word' }));
    expect(sidecar.requests).toHaveLength(1);
    sidecar.answers.shift()?.(null, {});
    await clock.advanceMs(0);
    expect(sidecar.requests.map(({ reason }) => reason)).toEqual(['', 'the last word']);
    reporter.onDisconnected('a');
  });

  it('repeats an unchanged decision every 20 s, and a failed one after a second', async () => {
    const { reporter, sidecar, clock } = start();
    reporter.onView(viewOf({}));
    sidecar.answers.shift()?.({ code: status.UNAVAILABLE });
    await clock.advanceMs(1_000);
    expect(sidecar.requests).toHaveLength(2);
    sidecar.answers.shift()?.(null, {});
    await clock.advanceMs(19_000);
    expect(sidecar.requests).toHaveLength(2);
    await clock.advanceMs(1_000);
    expect(sidecar.requests).toHaveLength(3);
    reporter.onDisconnected('a');
  });

  it('asks a sidecar that does not know the call no second time', async () => {
    const { reporter, sidecar, clock } = start();
    reporter.onView(viewOf({}));
    sidecar.answers.shift()?.({ code: status.UNIMPLEMENTED });
    reporter.onView(viewOf(KEPT_OUT));
    await clock.advanceMs(60_000);
    expect(sidecar.requests).toHaveLength(1);
    reporter.onDisconnected('a');
  });

  it('cancels the call of a session that ends, bounds the reason, and leaves no timer', async () => {
    const { reporter, sidecar, clock } = start();
    reporter.onView(viewOf({ ...KEPT_OUT, reason: 'x'.repeat(10_000) }));
    expect(sidecar.requests[0]?.reason).toHaveLength(512);
    reporter.onDisconnected('a');
    await clock.advanceMs(0);
    expect(sidecar.isCancelled).toBe(true);
    sidecar.answers.shift()?.({ code: status.CANCELLED });
    await clock.advanceMs(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
