import { describe, expect, it, vi } from 'vitest';
import type { AgreementOptions } from '../../../src/core/agreement/state/options.js';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../../src/core/agreement/state/options.js';
import type { Timer } from '../../../src/edge/platform/clock.js';
import { FleetRunner } from '../../../src/fleet/aggregator/fleet-runner.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { makeWireReport } from '../../support/reports.js';

function makeRunner(
  options: Partial<AgreementOptions> = {},
  clock = new FakeClock(),
): {
  runner: FleetRunner;
  clock: FakeClock;
  logger: RecordingLogger;
} {
  const logger = new RecordingLogger();
  return {
    clock,
    logger,
    runner: new FleetRunner({ ...DEFAULT_AGREEMENT_OPTIONS, ...options }, { clock, logger }),
  };
}

const list = (...targets: string[]): { target: string; address: string }[] =>
  targets.map((target) => ({ target, address: target }));

/** Fires each timer half a millisecond late, as Node does with fractions, so that events overtake it. */
class LateClock extends FakeClock {
  override setTimer(delayMs: number, fire: () => void): Timer {
    return super.setTimer(delayMs + 0.5, fire);
  }
}

describe('FleetRunner', () => {
  it('opens the gate although a heartbeat lands between the deadline and its timer', async () => {
    const { runner, clock } = makeRunner({}, new LateClock());
    runner.listed(list('a'));
    runner.reported('a', makeWireReport('a'));
    await clock.advanceMs(2_000.4);
    runner.alive('a');
    expect(runner.view.groups[0]?.gateOpen).toBe(true);
    runner.close();
  });

  it('takes a worker that is dead for grace out of service, whatever others send meanwhile', async () => {
    const { runner, clock } = makeRunner({ isStaticDiscovery: true }, new LateClock());
    runner.listed(list('a', 'b'));
    runner.reported('a', makeWireReport('a'));
    runner.reported('b', makeWireReport('b'));
    runner.broken('b', 'gone');
    await clock.advanceMs(30_000.4);
    runner.alive('a');
    await clock.advanceMs(100);
    expect(runner.view.groups[0]?.members.find(({ target }) => target === 'b')?.offer).toBe('none');
    runner.close();
  });

  it('opens on time beside 2,000 absent workers that are tried again all the time', async () => {
    const options = { onMissing: 'proceed', collectTimeoutMs: 5_000 } as const;
    const { runner, clock } = makeRunner(options, new LateClock());
    const absent = Array.from({ length: 2_000 }, (_, index) => `absent-${index}`);
    runner.listed(list('a', ...absent));
    runner.reported('a', makeWireReport('a'));
    for (let index = 0; index < 20_010; index += 1) {
      await clock.advanceMs(0.25);
      runner.broken(absent[index % absent.length] as string, `connection refused, attempt ${index}`);
      const [group] = runner.view.groups;
      if (group?.ready === false) expect(group.reasons).not.toEqual([]);
    }
    expect(runner.view.groups[0]?.gateOpen).toBe(true);
    runner.close();
  });

  it('prepares a few answers, not thousands, when thousands of workers are lost within a second', async () => {
    const { runner, clock } = makeRunner({ isStaticDiscovery: true });
    const targets = Array.from({ length: 1_000 }, (_, index) => `w-${index}`);
    runner.listed(list(...targets));
    for (const target of targets) runner.reported(target, makeWireReport(target));
    let views = 0;
    runner.listen({ onView: () => (views += 1) });
    for (const target of targets) runner.broken(target, 'gone');
    await clock.advanceMs(50);
    expect(views).toBeLessThan(20);
    expect(runner.view.groups[0]?.members.every(({ state }) => state === 'lost')).toBe(true);
    runner.close();
  });

  it('opens the gate after the settle time by its own timer, and prepares the answer', async () => {
    const { runner, clock } = makeRunner();
    runner.listed(list('a'));
    runner.reported('a', makeWireReport('a'));
    expect(runner.view.groups[0]?.gateOpen ?? false).toBe(false);
    await clock.advanceMs(2_000);
    expect(runner.view.groups[0]).toMatchObject({ gateOpen: true, values: { tokens_per_block: 32 } });
    runner.close();
  });

  it('writes each log line of the agreement once, at its level, with its code', async () => {
    const { runner, clock, logger } = makeRunner({ isStaticDiscovery: true });
    runner.listed(list('a', 'b'));
    runner.reported('a', makeWireReport('a'));
    runner.reported('b', makeWireReport('b', { size: 64 }));
    await clock.advanceMs(120_000);
    const conflicts = logger.lines.filter(({ fields }) => fields['code'] === 'conflict');
    expect(conflicts.map(({ level }) => level)).toEqual(['error']);
    runner.close();
  });

  it('names the worker beside the words of V3, which are the same for all', async () => {
    const { runner, logger } = makeRunner({ isStaticDiscovery: true, overrideTokensPerBlock: 16 });
    runner.listed(list('a'));
    runner.reported('a', makeWireReport('a', { size: 16 }));
    runner.mismatchedEvents('a', 'a-1', 32, 1);
    runner.mismatchedEvents('a', 'a-1', 32, 10);
    const warnings = logger.lines.filter(({ fields }) => fields['code'] === 'block_size_mismatch');
    expect(warnings).toMatchObject([
      {
        level: 'error',
        fields: { group: 'tiny', worker: 'a' },
        message: expect.stringMatching(
          /^Frontend KV block size \(16\) does not match worker block size \(32\)\.\n/,
        ),
      },
    ]);
    runner.close();
  });

  it('refuses a report that breaks a bound, says which, and goes on with the others', () => {
    const { runner, logger } = makeRunner({ isStaticDiscovery: true });
    runner.listed(list('a', 'b'));
    runner.reported('a', makeWireReport('a'));
    runner.reported('b', { ...makeWireReport('b'), workerId: 'b\nERROR forged line' });
    expect(logger.lines.at(-1)?.message).toContain('worker_id holds control characters');
    expect(runner.reportOf('b')).toBeUndefined();
    expect(runner.view.groups[0]?.gateOpen).toBe(false);
    runner.reported('b', makeWireReport('b'));
    expect(runner.view.groups[0]?.gateOpen).toBe(true);
    runner.close();
  });

  it('does not believe a size without evidence', async () => {
    const { runner, clock } = makeRunner({ isStaticDiscovery: true });
    runner.listed(list('a'));
    runner.reported('a', { ...makeWireReport('a'), evidence: [] });
    await clock.advanceMs(50);
    expect(runner.view.groups[0]?.reasons[0]?.text).toContain('without evidence');
    runner.close();
  });

  it('does not change its mind when the wall clock is stepped', async () => {
    const { runner, clock } = makeRunner();
    runner.listed(list('a'));
    runner.reported('a', makeWireReport('a'));
    clock.stepWallMs(86_400_000);
    await clock.advanceMs(1_999);
    expect(runner.view.groups[0]?.gateOpen ?? false).toBe(false);
    clock.stepWallMs(-2 * 86_400_000);
    await clock.advanceMs(1);
    expect(runner.view.groups[0]?.gateOpen).toBe(true);
    runner.close();
  });

  it('goes on with the others when one that listens fails', async () => {
    const { runner, clock, logger } = makeRunner({ isStaticDiscovery: true });
    const heard: string[] = [];
    const fail = (): never => {
      throw new TypeError('no time');
    };
    runner.listen({ onView: fail, onEffect: fail });
    runner.listen({ onEffect: ({ type }) => heard.push(type) });
    runner.listed(list('a'));
    runner.reported('a', makeWireReport('a'));
    await clock.advanceMs(100);
    expect(heard).toContain('gate');
    expect(runner.view.groups[0]?.gateOpen).toBe(true);
    expect(logger.messages('error')[0]).toContain('A part of this program failed');
    expect(runner.faults.listener).toBeGreaterThan(0);
    runner.close();
  });

  it('counts a fault of the agreement in its own timer, keeps the process, and tries again', async () => {
    const { runner, clock, logger } = makeRunner();
    runner.listed(list('a'));
    runner.reported('a', makeWireReport('a'));
    await clock.advanceMs(100);
    const values = vi.spyOn(Map.prototype, 'values').mockImplementationOnce(() => {
      throw new TypeError('not today');
    });
    // Only the tick meets it: nothing else happens until the settle time is over.
    await clock.advanceMs(1_900);
    values.mockRestore();
    expect(runner.faults.agreement).toBe(1);
    expect(logger.messages('error')[0]).toContain('The agreement met a fault of this program');
    await clock.advanceMs(2_000);
    expect(runner.view.groups[0]?.gateOpen).toBe(true);
    runner.close();
  });

  it('leaves no timer behind when it is closed', async () => {
    const { runner, clock } = makeRunner();
    runner.listed(list('a', 'b'));
    runner.reported('a', makeWireReport('a'));
    runner.broken('a', 'gone');
    runner.close();
    expect(clock.pendingTimers).toBe(0);
    runner.alive('a');
    expect(clock.pendingTimers).toBe(0);
  });
});
