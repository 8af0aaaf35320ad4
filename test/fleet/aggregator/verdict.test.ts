import { describe, expect, it } from 'vitest';
import { toAgreement } from '../../../src/fleet/aggregator/service/fleet-messages.js';
import type { Verdict } from '../../../src/fleet/aggregator/verdict.js';
import { judgeAgreements } from '../../../src/fleet/aggregator/verdict.js';
import { EvidenceSource } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { Agreement, AgreementState } from '../../../src/gen/kvaccord/v1/fleet.js';
import { TestFleet } from '../../support/fleet.js';

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
      text: expect.stringContaining('Worker a declares 16 (its model card) but its engine uses 32'),
    });
  });

  it('V5: is one as soon as the first is seen to cut another width than it declares, also while it is kept out', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b', 'c');
    const source = EvidenceSource.DECLARED;
    for (const target of ['a', 'b', 'c']) fleet.report(target, { size: 16, source });
    expect(judge(fleet, { frontendUses: 'declared' })).toMatchObject({ type: 'agreed', tokensPerBlock: 16 });
    fleet.mismatched('a', 32);
    expect(judge(fleet)).toMatchObject({ type: 'agreed', tokensPerBlock: 16 });
    expect(judge(fleet, { frontendUses: 'declared' })).toMatchObject({
      type: 'conflict',
      text: expect.stringMatching(/Worker a has .* 32, .*declares 16 .* but uses 32/),
    });
    fleet.mismatched('b', 32);
    fleet.advance(2_000);
    expect(judge(fleet)).toMatchObject({ type: 'agreed', tokensPerBlock: 32 });
    expect(judge(fleet, { frontendUses: 'declared' })).toMatchObject({
      type: 'conflict',
      text: expect.stringMatching(/Worker a declares 16 .*\nWorker b declares 16 /),
    });
  });

  it('V5: is one while a worker with another size serves beside those that agreed, and until it has left', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b', 'c');
    for (const target of ['a', 'b', 'c']) fleet.report(target, { size: 16 });
    for (const target of ['a', 'b']) fleet.report(target, { size: 32, instance: `${target}-2` });
    fleet.advance(2_000);
    expect(judge(fleet)).toMatchObject({ type: 'agreed', tokensPerBlock: 32 });
    expect(judge(fleet, { frontendUses: 'declared' })).toMatchObject({
      type: 'conflict',
      text: expect.stringMatching(
        /^Worker c has KV block size \(tokens_per_block\) 16, the fleet agreed on 32 /,
      ),
    });
    fleet.list('a', 'b');
    expect(judge(fleet, { frontendUses: 'declared' })).toMatchObject({ type: 'agreed', tokensPerBlock: 32 });
  });

  it('V5: is none where an operator insists on a size', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true, overrideTokensPerBlock: 16 });
    fleet.list('a');
    fleet.report('a', { size: 32 });
    expect(judge(fleet, { frontendUses: 'declared' })).toMatchObject({ type: 'agreed', tokensPerBlock: 16 });
  });

  it('V5: is none while the worker that declares something else is going away', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a', { size: 32, declares: 16, draining: true });
    fleet.report('b', { size: 32 });
    expect(judge(fleet, { frontendUses: 'declared' })).toMatchObject({ type: 'agreed', tokensPerBlock: 32 });
  });
});

/** One group as an aggregator reports it. */
function agreementOf(group: string, state: AgreementState, size?: number): Agreement {
  const reasons = state === AgreementState.AGREED ? [] : [{ code: 'x', text: `why ${group}` }];
  const contract = size === undefined ? undefined : { tokensPerBlock: size };
  return Agreement.fromPartial({ group, state, reasons, contract });
}

const agreed = (group: string, size = 32): Agreement => agreementOf(group, AgreementState.AGREED, size);
const collecting = (group: string): Agreement => agreementOf(group, AgreementState.COLLECTING);
const conflict = (group: string): Agreement => agreementOf(group, AgreementState.CONFLICT);

describe('of several models', () => {
  it.each<[string, Agreement[], string | undefined, Partial<Verdict>]>([
    ['nothing known', [], undefined, { type: 'pending', text: 'no worker has reported a model yet' }],
    ['no model yet', [collecting('')], undefined, { type: 'pending', text: 'why ' }],
    ['no model yet, one named', [collecting('')], 'a', { type: 'pending', text: 'why ' }],
    ['all agreed', [agreed('a'), agreed('b')], undefined, { type: 'agreed', groups: ['a', 'b'] }],
    ['one collects', [agreed('a'), collecting('b')], undefined, { type: 'pending', text: 'why b' }],
    ['another collects', [agreed('a'), collecting('b')], 'a', { type: 'agreed', groups: ['a'] }],
    ['one in conflict', [agreed('a'), conflict('b')], undefined, { type: 'conflict', text: 'why b' }],
    [
      'conflict before waiting',
      [collecting('a'), conflict('b')],
      undefined,
      { type: 'conflict', text: 'why b' },
    ],
    ['another in conflict', [agreed('a'), conflict('b')], 'a', { type: 'agreed', groups: ['a'] }],
    [
      'nobody of that name',
      [agreed('a'), agreed('b')],
      'c',
      { type: 'pending', text: 'no worker serves "c" yet; the fleet serves a, b' },
    ],
  ])('%s', (_, agreements, group, verdict) => {
    expect(judgeAgreements(agreements, { group, frontendUses: 'observed' })).toMatchObject(verdict);
  });

  it('a group that gives no reason still has words', () => {
    const silent = { ...collecting('a'), reasons: [] };
    const question = { group: undefined, frontendUses: 'observed' } as const;
    expect(judgeAgreements([silent], question)).toEqual({
      type: 'pending',
      text: 'the workers have not agreed yet',
    });
  });
});
