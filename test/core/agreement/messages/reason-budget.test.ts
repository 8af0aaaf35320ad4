import { describe, expect, it } from 'vitest';
import { readinessChecks } from '../../../../src/core/agreement/view/readiness.js';
import { EngineKind } from '../../../../src/core/contract/wire/enums.js';
import { toAgreement } from '../../../../src/fleet/aggregator/service/fleet-messages.js';
import { Agreement } from '../../../../src/gen/kvaccord/v1/fleet.js';
import { makeReport, TestFleet } from '../../../support/fleet.js';

/** As much as a report may say: 64 reasons of 4,096 characters, here of two bytes each. */
const MOST = Array.from({ length: 64 }, (_, index) => `${index}`.padEnd(4_096, 'ä'));

function talkative(fleet: TestFleet, target: string, model = 'tiny'): void {
  const report = makeReport(target, { model, unusable: 'x' });
  fleet.do({ type: 'report', target, report: { ...report, reasons: MOST } });
}

const names = (count: number, prefix = 'w'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

describe('how long reasons may be', () => {
  it('of one member, and of one sentence about ten of them', () => {
    const fleet = new TestFleet();
    fleet.list('a', ...names(10));
    fleet.report('a');
    for (const target of names(10)) talkative(fleet, target);
    const [reason] = fleet.group().reasons;
    expect(reason?.text.length).toBeLessThan(4_096);
    // Each of the ten is still named, and the end of the sentence is still there.
    for (const target of names(10)) expect(reason?.text).toContain(`${target} (0`);
    expect(reason?.text).toContain('at least half of 11 workers');
    expect(fleet.member('w-0').reason.length).toBeLessThanOrEqual(1_024);
    expect(fleet.member('w-0').reason).toMatch(/and 6\d more$/);
    expect(fleet.logs().join('').length).toBeLessThan(100_000);
  });

  it('one that says a single long reason keeps more of it than one of several', () => {
    const fleet = new TestFleet();
    fleet.list('a');
    fleet.report('a', { unusable: 'ä'.repeat(4_096) });
    expect(fleet.member('a').reason).toHaveLength(1_024);
  });

  it('of a refusal, whatever it lists', () => {
    const fleet = new TestFleet();
    fleet.list('a');
    const effects = fleet.do({ type: 'report_refused', target: 'a', problems: MOST });
    expect(JSON.stringify(effects).length).toBeLessThan(2_048);
  });

  it('of a conflict with a value of its own for each of 500 workers, and the advice is not cut off', () => {
    const fleet = new TestFleet();
    const targets = names(500, 'worker-with-a-rather-long-name');
    fleet.list(...targets);
    // Of engines that take any size: others would read that no size fits all of them.
    const kind = EngineKind.OTHER;
    for (const [index, target] of targets.entries()) fleet.report(target, { size: 16 + index, kind });
    const [reason] = fleet.group().reasons;
    expect(reason?.text.length).toBeLessThan(8_192);
    expect(reason?.text).toContain('and 490 more values');
    expect(reason?.text).toContain('restart');
    expect(Math.max(...fleet.logs('conflict').map((line) => line.length))).toBeLessThan(8_300);
  });

  it('of an agreement with a thousand members that say all they may, and of a probe over 256 models', () => {
    const fleet = new TestFleet();
    const targets = names(1_000);
    fleet.list(...targets);
    for (const target of targets) talkative(fleet, target);
    const bytes = Agreement.encode(toAgreement(fleet.group(), 0)).finish().length;
    expect(bytes).toBeLessThan(4 * 1024 * 1024 * 0.5);

    const models = new TestFleet();
    models.list(...names(256));
    for (const target of names(256)) talkative(models, target, `model-${target}`);
    const checks = readinessChecks(models.view());
    expect(checks).toHaveLength(256);
    expect(checks.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(64 * 1024);
  });
});
