import { describe, expect, it } from 'vitest';
import { EndpointCheck } from '../../../../src/worker/kv-events/sockets/endpoint-check.js';
import type { Listener } from '../../../../src/worker/kv-events/sockets/zmtp-probe.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

const SOURCE = { rank: 0, endpoint: 'tcp://e:5557', topic: '' };
const REFUSED: Listener = { type: 'none', reason: 'connect ECONNREFUSED' };

function check(listener: () => Listener, isWell: () => boolean = () => false) {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const lines = (): string[] => logger.lines.map(({ message }) => message);
  let looks = 0;
  const probe = async (): Promise<Listener> => {
    looks += 1;
    return listener();
  };
  return { clock, lines, looks: () => looks, check: new EndpointCheck({ clock, logger, isWell, probe }) };
}

describe('the check of endpoints', () => {
  it('says at the second look what is wrong, once', async () => {
    const { clock, lines, check: checked } = check(() => REFUSED);
    checked.watch([SOURCE]);
    await clock.advanceMs(3_000);
    expect(lines()).toEqual([]);
    await clock.advanceMs(60_000);
    expect(lines()).toEqual([expect.stringContaining('nothing listens at tcp://e:5557')]);
    expect(checked.findingOf(0)).toContain('ECONNREFUSED');
    await checked.close();
  });

  it('forgets it when the events come, and looks at nobody then', async () => {
    let isWell = false;
    const {
      clock,
      looks,
      check: checked,
    } = check(
      () => REFUSED,
      () => isWell,
    );
    checked.watch([SOURCE]);
    await clock.advanceMs(10_000);
    isWell = true;
    expect(checked.findingOf(0)).toBeUndefined();
    const before = looks();
    await clock.advanceMs(120_000);
    expect(looks()).toBe(before);
    isWell = false;
    expect(checked.findingOf(0)).toBeUndefined();
    await checked.close();
  });

  it('asks nobody at an address that is bound here, and not after its end', async () => {
    const { clock, looks, check: checked } = check(() => REFUSED);
    checked.watch([{ ...SOURCE, endpoint: '@tcp://127.0.0.1:5557' }]);
    await clock.advanceMs(60_000);
    checked.watch([SOURCE]);
    await checked.close();
    await clock.advanceMs(60_000);
    expect(looks()).toBe(0);
  });
});
