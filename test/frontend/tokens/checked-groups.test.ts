import { describe, expect, it } from 'vitest';
import { CheckedGroups } from '../../../src/frontend/tokens/checked-groups.js';
import type { CheckResult } from '../../../src/frontend/tokens/tokenizer-check.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { groupOf } from './support/tokenizers.js';

const DIFFERENT: CheckResult = { kind: 'different', probe: 'a text', position: 3, ours: 7, engines: 8 };

function setUp(results: Record<string, CheckResult>): {
  groups: CheckedGroups;
  logger: RecordingLogger;
  clock: FakeClock;
  checked: string[];
} {
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  const checked: string[] = [];
  const check = async ({ instanceId }: { instanceId: string }): Promise<CheckResult> => {
    checked.push(instanceId);
    return results[instanceId] ?? { kind: 'same', probes: 6 };
  };
  return { groups: new CheckedGroups({ check, clock, logger }), logger, clock, checked };
}

describe('the groups whose tokens are made here', () => {
  it('are those where the first engine makes the same', async () => {
    const { groups, logger, clock, checked } = setUp({});
    const group = groupOf('http://a', 'http://b');
    expect(groups.choiceFor(group, 'tiny')).toBe('undecided');
    await clock.advanceMs(0);
    expect(groups.choiceFor(group, 'tiny')).toBe('local');
    await clock.advanceMs(0);
    expect(groups.choiceFor(group, 'tiny')).toBe('local');
    expect(checked).toEqual(['worker-0-1', 'worker-1-1']);
    expect(logger.lines.map(({ level }) => level)).toEqual(['info']);
  });

  it('are not those where one engine makes others, which is reported with the probe', async () => {
    const { groups, logger, clock } = setUp({ 'worker-1-1': DIFFERENT });
    const group = groupOf('http://a', 'http://b');
    for (let i = 0; i < 3; i += 1) {
      groups.choiceFor(group, 'tiny');
      await clock.advanceMs(0);
    }
    expect(groups.choiceFor(group, 'tiny')).toBe('engine');
    expect(logger.lines.find(({ level }) => level === 'warn')?.fields).toEqual({
      group: 'tiny',
      worker_id: 'worker-1',
      worker: 'worker-1:50051',
      probe: 'a text',
      position: 3,
      ours: 7,
      engines: 8,
    });
  });

  it('are compared again when an instance changes', async () => {
    const { groups, clock, checked } = setUp({ 'worker-0-1': DIFFERENT });
    groups.choiceFor(groupOf('http://a'), 'tiny');
    await clock.advanceMs(0);
    expect(groups.choiceFor(groupOf('http://a'), 'tiny')).toBe('engine');
    const restarted = groupOf({ baseUrl: 'http://a', instanceId: 'worker-0-2' });
    expect(groups.choiceFor(restarted, 'tiny')).toBe('undecided');
    await clock.advanceMs(0);
    expect(groups.choiceFor(restarted, 'tiny')).toBe('local');
    expect(checked).toEqual(['worker-0-1', 'worker-0-2']);
  });

  it('are also those where no engine can be asked, which is reported', async () => {
    const { groups, logger, clock } = setUp({ 'worker-0-1': { kind: 'unknown' } });
    expect(groups.choiceFor(groupOf({}), 'tiny')).toBe('local');
    const group = groupOf('http://a');
    groups.choiceFor(group, 'tiny');
    await clock.advanceMs(0);
    expect(groups.choiceFor(group, 'tiny')).toBe('local');
    expect(logger.messages('info').join()).toContain('without a check');
  });

  it('are compared again later when an engine did not answer', async () => {
    const results: Record<string, CheckResult> = { 'worker-0-1': { kind: 'failed' } };
    const { groups, clock, checked } = setUp(results);
    const group = groupOf('http://a');
    groups.choiceFor(group, 'tiny');
    await clock.advanceMs(0);
    expect(groups.choiceFor(group, 'tiny')).toBe('local');
    expect(checked).toHaveLength(1);
    results['worker-0-1'] = DIFFERENT;
    await clock.advanceMs(10_000);
    groups.choiceFor(group, 'tiny');
    await clock.advanceMs(0);
    expect(groups.choiceFor(group, 'tiny')).toBe('engine');
  });

  it('are not compared any more once it is over', async () => {
    const { groups, clock, checked } = setUp({});
    groups.close();
    groups.choiceFor(groupOf('http://a'), 'tiny');
    await clock.advanceMs(0);
    expect(checked).toEqual([]);
  });
});
