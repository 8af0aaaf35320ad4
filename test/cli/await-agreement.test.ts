import { describe, expect, it } from 'vitest';
import { awaitAgreement, type WaitOptions, type WaitOutcome } from '../../src/cli/await-agreement.js';
import { FakeClock } from '../support/fake-clock.js';
import { FakeFeed } from '../support/fake-feed.js';

class Stage {
  readonly clock = new FakeClock();
  readonly feed = new FakeFeed();
  outcome: WaitOutcome | undefined;

  begin(options: Partial<WaitOptions> = {}): void {
    const asked: WaitOptions = { timeoutMs: 0, group: undefined, frontendUses: 'observed', ...options };
    const { signal } = new AbortController();
    void awaitAgreement(this.feed, asked, { clock: this.clock, signal, progress: undefined }).then(
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
    expect([this.feed.watchers.size, this.clock.pendingTimers]).toEqual([0, 0]);
  }
}

describe('a conflict', () => {
  it('is the outcome at once when every worker was heard', async () => {
    const stage = new Stage();
    stage.begin();
    stage.feed.contradict('16 here, 32 there');
    expect(await stage.after(0)).toMatchObject({ type: 'conflict', text: '16 here, 32 there' });
    stage.expectNothingLeft();
  });

  it('waits a second for workers that are missing, so that it can name them too', async () => {
    const stage = new Stage();
    stage.begin();
    stage.feed.contradict('w-1', 'waiting_for_workers');
    expect(await stage.after(900)).toBeUndefined();
    stage.feed.contradict('w-1 and w-2');
    expect(await stage.after(0)).toMatchObject({ type: 'conflict', text: 'w-1 and w-2' });
    stage.expectNothingLeft();
  });

  it('waits no longer than that', async () => {
    const stage = new Stage();
    stage.begin();
    stage.feed.contradict('w-1', 'below_min_workers');
    await stage.after(600);
    stage.feed.contradict('w-1 and w-2', 'below_min_workers');
    expect(await stage.after(399)).toBeUndefined();
    expect(await stage.after(1)).toMatchObject({
      type: 'conflict',
      text: 'w-1 and w-2\nbelow_min_workers',
    });
    stage.expectNothingLeft();
  });

  it('is the outcome also when time is up before the second is over', async () => {
    const stage = new Stage();
    stage.begin({ timeoutMs: 300 });
    stage.feed.contradict('w-1', 'waiting_for_workers');
    expect(await stage.after(300)).toMatchObject({ type: 'conflict' });
    stage.expectNothingLeft();
  });

  it('is none when it is over by then', async () => {
    const stage = new Stage();
    stage.begin();
    stage.feed.contradict('w-1', 'waiting_for_workers');
    stage.feed.agree(32);
    expect(await stage.after(0)).toMatchObject({ type: 'agreed', tokensPerBlock: 32 });
    stage.expectNothingLeft();
  });
});
