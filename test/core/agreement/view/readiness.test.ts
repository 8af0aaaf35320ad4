import { describe, expect, it } from 'vitest';
import { type ReadinessCheck, readinessChecks } from '../../../../src/core/agreement/view/readiness.js';
import { TestFleet } from '../../../support/fleet.js';

const fleetOf = (...targets: string[]): TestFleet => {
  const fleet = new TestFleet({ isStaticDiscovery: true });
  fleet.list(...targets);
  return fleet;
};
const checksOf = (fleet: TestFleet): ReadinessCheck[] => readinessChecks(fleet.view());

describe('readiness', () => {
  it('says why while there is no model at all', () => {
    expect(checksOf(fleetOf())).toEqual([
      { name: 'no_workers', ok: false, text: 'discovery lists no workers' },
    ]);
    expect(checksOf(fleetOf('a'))).toEqual([
      { name: 'waiting_for_workers', ok: false, text: expect.stringContaining('waiting for 1 of 1') },
    ]);
  });

  it('is no while the only model collects or is in conflict, with the reason', () => {
    const fleet = fleetOf('a', 'b');
    fleet.report('a');
    expect(checksOf(fleet)).toEqual([
      { name: 'gate:tiny', ok: false, text: expect.stringMatching(/^closed, not ready: waiting for 1 of 2/) },
    ]);
    fleet.report('b', { size: 64 });
    expect(checksOf(fleet)).toEqual([
      { name: 'gate:tiny', ok: false, text: expect.stringContaining('disagree') },
    ]);
  });

  it('is yes once it has agreed, with the size', () => {
    const fleet = fleetOf('a');
    fleet.report('a');
    expect(checksOf(fleet)).toEqual([
      { name: 'gate:tiny', ok: true, text: 'open: 32 tokens per block, epoch 1, routing load_only' },
    ]);
  });

  it('names the routing mode, which a mismatch takes from exact', () => {
    const fleet = fleetOf('a', 'b', 'c');
    for (const target of ['a', 'b', 'c']) {
      fleet.report(target);
      fleet.cacheViewChanged(target, 'exact');
    }
    // Before agreement no worker has a cache view.
    expect(checksOf(fleet)[0]?.text).toBe('open: 32 tokens per block, epoch 1, routing mixed');
    for (const target of ['a', 'b', 'c']) fleet.cacheViewChanged(target, 'exact');
    expect(checksOf(fleet)[0]?.text).toBe('open: 32 tokens per block, epoch 1, routing exact');
    fleet.broken('a');
    expect(checksOf(fleet)[0]?.text).toBe('open: 32 tokens per block, epoch 1, routing mixed');
  });

  it('is no while the gate is open and nobody can be offered', () => {
    const fleet = fleetOf('a');
    fleet.report('a');
    fleet.broken('a');
    fleet.advance(3_600_000);
    expect(checksOf(fleet)).toEqual([
      { name: 'gate:tiny', ok: false, text: expect.stringMatching(/^open, not ready: none of 1 worker/) },
    ]);
  });

  it('is yes as soon as one of several models can be served, and names the others with their reason', () => {
    const fleet = fleetOf('a', 'b', 'c');
    fleet.report('a', { model: 'llama' });
    fleet.report('b', { model: 'qwen' });
    fleet.report('c', { model: 'qwen', size: 64 });
    expect(checksOf(fleet)).toEqual([
      { name: 'gate:qwen', ok: true, text: expect.stringMatching(/^closed, not ready: .*disagree/) },
      { name: 'gate:llama', ok: true, text: 'open: 32 tokens per block, epoch 1, routing load_only' },
    ]);
  });

  it('is no while none of several models can be served', () => {
    const fleet = fleetOf('a', 'b', 'c');
    fleet.report('a', { model: 'llama' });
    fleet.report('b', { model: 'qwen' });
    const checks = checksOf(fleet);
    expect(checks.map(({ name, ok }) => [name, ok])).toEqual([
      ['gate:llama', false],
      ['gate:qwen', false],
    ]);
  });
});
