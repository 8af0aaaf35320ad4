import { describe, expect, it } from 'vitest';
import {
  awaitAgreement,
  type WaitOptions,
  type WaitOutcome,
} from '../../../src/cli/shared/await-agreement.js';
import { Agreement, AgreementState } from '../../../src/gen/kvaccord/v1/fleet.js';
import { FakeAgreementSource } from '../../support/fake-agreement-source.js';
import { FakeClock } from '../../support/fake-clock.js';

class Stage {
  readonly clock = new FakeClock();
  readonly source = new FakeAgreementSource();
  outcome: WaitOutcome | undefined;

  begin(options: Partial<WaitOptions> = {}): void {
    const asked: WaitOptions = { timeoutMs: 0, group: undefined, frontendUses: 'observed', ...options };
    const { signal } = new AbortController();
    void awaitAgreement(this.source, asked, { clock: this.clock, signal, progress: undefined }).then(
      (outcome) => {
        this.outcome = outcome;
      },
    );
  }

  async after(ms: number): Promise<WaitOutcome | undefined> {
    await this.clock.advanceMs(ms);
    return this.outcome;
  }

  expectNothingLeft(): void {
    expect([this.source.watchers.size, this.clock.pendingTimers]).toEqual([0, 0]);
  }
}

describe('a conflict', () => {
  it('is the outcome once it has stood for a second, with all that has come to light until then', async () => {
    const stage = new Stage();
    stage.begin();
    stage.source.contradict('w-1');
    await stage.after(600);
    stage.source.contradict('w-1 and w-2');
    expect(await stage.after(399)).toBeUndefined();
    expect(await stage.after(1)).toEqual({ type: 'conflict', text: 'w-1 and w-2' });
    stage.expectNothingLeft();
  });

  it('has to stand for a second again after it seemed to be over', async () => {
    const stage = new Stage();
    stage.begin();
    stage.source.contradict('w-1');
    await stage.after(600);
    stage.source.say(Agreement.fromPartial({ group: 'tiny', state: AgreementState.COLLECTING }));
    expect(await stage.after(10_000)).toBeUndefined();
    stage.source.contradict('w-2');
    expect(await stage.after(999)).toBeUndefined();
    expect(await stage.after(1)).toEqual({ type: 'conflict', text: 'w-2' });
    stage.expectNothingLeft();
  });

  it('is the outcome also when time is up before the second is over', async () => {
    const stage = new Stage();
    stage.begin({ timeoutMs: 300 });
    stage.source.contradict('w-1');
    expect(await stage.after(300)).toMatchObject({ type: 'conflict' });
    stage.expectNothingLeft();
  });

  it('is none when it is over by then', async () => {
    const stage = new Stage();
    stage.begin();
    stage.source.contradict('w-1');
    stage.source.agree(32);
    expect(await stage.after(0)).toMatchObject({ type: 'agreed', tokensPerBlock: 32 });
    stage.expectNothingLeft();
  });
});

it('says every five seconds whom it waits for, and nothing more once it has its answer', async () => {
  const clock = new FakeClock();
  const source = new FakeAgreementSource();
  const said: string[] = [];
  const { signal } = new AbortController();
  const options: WaitOptions = { timeoutMs: 12_000, group: undefined, frontendUses: 'observed' };
  const outcome = awaitAgreement(source, options, {
    clock,
    signal,
    progress: undefined,
    onWaiting: (text) => void said.push(text),
  });
  source.say(
    Agreement.fromPartial({
      group: 'tiny',
      state: AgreementState.COLLECTING,
      reasons: [{ text: 'waiting for w-2:\nit cannot be reached' }],
    }),
  );
  await clock.advanceMs(4_999);
  expect(said).toEqual([]);
  await clock.advanceMs(5_001);
  expect(said).toEqual([expect.stringContaining('w-2'), expect.stringContaining('w-2')]);
  expect(said.join('')).not.toContain('\n');
  await clock.advanceMs(2_000);
  expect((await outcome).type).toBe('timed_out');
  await clock.advanceMs(20_000);
  expect(said).toHaveLength(2);
  expect([source.watchers.size, clock.pendingTimers]).toEqual([0, 0]);
});
