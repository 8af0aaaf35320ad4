import { expect, it } from 'vitest';
import { watchDescriptors } from '../../../../src/edge/platform/streams/descriptor-watch.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

it('says once a minute that no more files can be opened, and once that they can', async () => {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  let code: string | undefined;
  const stop = watchDescriptors({ clock, logger, tryDescriptor: () => code });
  await clock.advanceMs(5_000);
  expect(logger.lines).toEqual([]);
  code = 'EMFILE';
  await clock.advanceMs(59_000);
  expect(logger.lines.map(({ level }) => level)).toEqual(['error']);
  expect(logger.lines[0]?.message).toMatch(/New connections are closed: .*ulimit/);
  await clock.advanceMs(60_000);
  expect(logger.lines).toHaveLength(2);
  code = undefined;
  await clock.advanceMs(5_000);
  expect(logger.lines.at(-1)).toMatchObject({ level: 'info' });
  expect(logger.lines).toHaveLength(3);
  stop();
  expect(clock.pendingTimers).toBe(0);
});
