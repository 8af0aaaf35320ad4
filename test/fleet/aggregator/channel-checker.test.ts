import { type CallOptions, type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { ChannelAnswer, ChannelQuestion } from '../../../src/core/pairs/side-channels.js';
import type { RpcChannel } from '../../../src/edge/rpc/channel.js';
import { ChannelChecker } from '../../../src/fleet/aggregator/channel-checker.js';
import type { FleetRunner } from '../../../src/fleet/aggregator/fleet-runner.js';
import { FakeClock } from '../../support/fake-clock.js';
import { turns } from '../../support/turns.js';

type Callback = (error: Partial<ServiceError> | null, answer: { reachable: boolean; reason: string }) => void;

const TIMED_OUT: Partial<ServiceError> = { code: status.DEADLINE_EXCEEDED, details: 'Deadline exceeded' };

/** A checker over decode sidecars of which some drop all packets: their calls end when the test says that their time is over. */
class Checks {
  readonly clock = new FakeClock();
  readonly answers = new Map<string, ChannelAnswer>();
  readonly asked: string[] = [];
  readonly #dead: ReadonlySet<string>;
  readonly #open: Callback[] = [];
  readonly #checker: ChannelChecker;

  /** Whom to ask in place of each: the last one alone may not be asked for. */
  constructor(decodes: readonly string[], dead: readonly string[]) {
    this.#dead = new Set(dead);
    const runner = {
      channelAnswered: (_: string, { prefillTarget }: ChannelQuestion, answer: ChannelAnswer) =>
        this.answers.set(prefillTarget, answer),
      questionAgain: (_: string, question: ChannelQuestion) => ({
        ...question,
        decodeTarget: decodes.find((target) => target !== question.decodeTarget) ?? question.decodeTarget,
      }),
    } as unknown as FleetRunner;
    this.#checker = new ChannelChecker({ clock: this.clock, runner });
    for (const target of decodes) this.#checker.onConnected(target, this.#channelTo(target));
  }

  ask(prefillTarget: string, decodeTarget: string): void {
    const question: ChannelQuestion = {
      ...{ prefillTarget, prefillInstanceId: 'i', class: 'same_zone', decodeTarget },
      addresses: ['10.0.0.1:5600'],
    };
    this.#checker.onEffect({ type: 'ask_channel', group: 'g', question });
  }

  /** The time of all calls that are open is over. */
  async timeOut(): Promise<void> {
    for (const call of this.#open.splice(0)) call(TIMED_OUT, { reachable: false, reason: '' });
    await this.settle();
  }

  async settle(): Promise<void> {
    await turns(5);
  }

  close(): void {
    this.#checker.close();
  }

  #channelTo(target: string): RpcChannel {
    const checkSideChannel = (
      _request: unknown,
      _metadata: Metadata,
      _options: Partial<CallOptions>,
      callback: Callback,
    ): { cancel(): void } => {
      this.asked.push(target);
      if (this.#dead.has(target)) this.#open.push(callback);
      else queueMicrotask(() => callback(null, { reachable: true, reason: '' }));
      return { cancel: () => undefined };
    };
    return { createClient: () => ({ checkSideChannel }) } as unknown as RpcChannel;
  }
}

const NUMBERS = Array.from({ length: 100 }, (_, at) => at);

describe('a decode sidecar that drops all packets', () => {
  it('holds no question back that goes to another one', async () => {
    const checks = new Checks(['decode-0', 'decode-1'], ['decode-0']);
    for (const at of NUMBERS) checks.ask(`prefill-${at}`, 'decode-0');
    for (const at of NUMBERS) checks.ask(`other-${at}`, 'decode-1');
    await checks.settle();
    expect(checks.answers.size).toBe(100);
    expect(NUMBERS.every((at) => checks.answers.get(`other-${at}`)?.state === 'reachable')).toBe(true);
    checks.close();
  });

  it('is not asked again after it did not answer in time: another one is, for all that wait', async () => {
    const checks = new Checks(['decode-0', 'decode-1'], ['decode-0']);
    for (const at of NUMBERS) checks.ask(`prefill-${at}`, 'decode-0');
    await checks.settle();
    expect(checks.asked).toEqual(['decode-0', 'decode-0', 'decode-0', 'decode-0']);
    await checks.timeOut();
    const states = [...checks.answers.values()].map(({ state }) => state);
    expect(states.filter((state) => state === 'unknown')).toHaveLength(4);
    expect(states.filter((state) => state === 'reachable')).toHaveLength(96);
    expect(checks.asked.filter((target) => target === 'decode-0')).toHaveLength(4);
    // Those without an answer are asked again, of the other one.
    await checks.clock.advanceMs(30_000);
    await checks.settle();
    expect([...checks.answers.values()].every(({ state }) => state === 'reachable')).toBe(true);
    checks.close();
  });

  it('leaves no question open where nobody else can be asked, and is asked again later', async () => {
    const checks = new Checks(['decode-0'], ['decode-0']);
    for (const at of NUMBERS) checks.ask(`prefill-${at}`, 'decode-0');
    await checks.timeOut();
    expect([...checks.answers.values()].map(({ state }) => state)).toEqual(NUMBERS.map(() => 'unknown'));
    expect(checks.answers.get('prefill-99')).toMatchObject({ reason: expect.stringContaining('decode-0') });
    expect(checks.asked).toHaveLength(4);
    await checks.clock.advanceMs(30_000);
    await checks.settle();
    expect(checks.asked.length).toBeGreaterThan(4);
    checks.close();
    expect(checks.clock.pendingTimers).toBe(0);
  });
});
