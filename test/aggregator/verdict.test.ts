import { describe, expect, it } from 'vitest';
import { toAgreement } from '../../src/aggregator/fleet-messages.js';
import type { Verdict } from '../../src/aggregator/verdict.js';
import { judgeAgreements } from '../../src/aggregator/verdict.js';
import { TestFleet } from '../support/fleet.js';

function judge(fleet: TestFleet, question: Partial<Parameters<typeof judgeAgreements>[1]> = {}): Verdict {
  const agreements = fleet.view().groups.map((group) => toAgreement(group, 0));
  return judgeAgreements(agreements, { group: undefined, frontendUses: 'observed', ...question });
}

describe('one answer for one frontend', () => {
  it('is the size once every model has agreed', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a');
    expect(judge(fleet)).toMatchObject({
      type: 'pending',
      text: expect.stringContaining('waiting for 1 of 2'),
    });
    fleet.report('b');
    expect(judge(fleet)).toEqual({ type: 'agreed', tokensPerBlock: 32, groups: ['tiny'] });
  });

  it('is a conflict as soon as one model is in conflict, with its words', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a');
    fleet.report('b', { size: 64 });
    expect(judge(fleet)).toMatchObject({ type: 'conflict', text: expect.stringContaining('disagree') });
  });

  it('is a conflict when models have different sizes, and an answer when one is named', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a', { model: 'llama', size: 16 });
    fleet.report('b', { model: 'qwen', size: 32 });
    expect(judge(fleet)).toMatchObject({ type: 'conflict', text: expect.stringContaining('--group') });
    expect(judge(fleet, { group: 'qwen' })).toMatchObject({ type: 'agreed', tokensPerBlock: 32 });
    expect(judge(fleet, { group: 'mistral' })).toMatchObject({ type: 'pending' });
  });

  it('V5: is a conflict for a frontend that goes by declarations, also when the aggregator does not', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a');
    fleet.report('a', { size: 32, declares: 16 });
    expect(judge(fleet)).toMatchObject({ type: 'agreed', tokensPerBlock: 32 });
    expect(judge(fleet, { frontendUses: 'declared' })).toMatchObject({
      type: 'conflict',
      text: expect.stringContaining('Worker a declares 16 (its model card) but its engine cuts 32'),
    });
  });
});
