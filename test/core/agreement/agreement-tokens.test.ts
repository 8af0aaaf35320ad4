import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AgreementOptions } from '../../../src/core/agreement/state/options.js';
import type { ContractValues } from '../../../src/core/contract/contract-values.js';
import type { ProbeAnswer } from '../../../src/core/contract/tokens/token-answers.js';
import { packTokenIds } from '../../../src/core/contract/tokens/token-probes.js';
import { EngineKind } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { type ReportSketch, TestFleet } from '../../support/fleet.js';

const answer = (name: string, ids: readonly number[]): ProbeAnswer => ({
  name,
  isRefused: false,
  isUndated: false,
  tokenCount: ids.length,
  tokenIds: packTokenIds(Uint32Array.from(ids)),
});

const REFUSAL: ProbeAnswer = {
  name: 'message',
  isRefused: true,
  isUndated: false,
  tokenCount: 0,
  tokenIds: new Uint8Array(),
};

/** A worker that makes these tokens of the probe "message". */
function making(ids: readonly number[], more: ReportSketch = {}): ReportSketch {
  return {
    ...more,
    values: {
      'tokens.text': 'same',
      'tokens.message': ids.join(),
      'tokens.message.vllm': 'taken',
      ...more.values,
    },
    probes: [answer('text', [1]), answer('message', ids)],
  };
}

const OURS = making([5, 6, 7]);
const OTHERS = making([5, 9, 7, 8]);

/** A fleet whose gate is open, of workers that make the same. */
function openFleet(options: Partial<AgreementOptions> = {}, ...targets: string[]): TestFleet {
  const fleet = new TestFleet({ isStaticDiscovery: true, ...options });
  fleet.list(...targets);
  for (const target of targets) fleet.report(target, OURS);
  expect(fleet.group().gateOpen).toBe(true);
  return fleet;
}

describe('A13: what workers make of the same prompts', () => {
  it('A13: workers that make other tokens before agreement are in conflict, with the probe, the position and both ids', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b', 'c');
    fleet.report('a', OURS);
    fleet.report('b', OURS);
    fleet.report('c', OTHERS);
    expect(fleet.group()).toMatchObject({ state: 'conflict', gateOpen: false });
    expect(fleet.logs('conflict').at(-1)).toBe(
      [
        'ERROR Workers of "tiny" disagree on the tokens of the probe "message"; the gate stays shut.',
        '  3 tokens: a, b (vLLM)',
        '  4 tokens, token 9 at position 1 (token 6 in the first line): c (vLLM)',
        'Fix: the same chat template (--chat-template, or that of the same model --revision) on all workers of the model, or accept the difference with --token-probes=ignore.',
      ].join('\n'),
    );
    expect(fleet.group().reasons[0]).toMatchObject({ code: 'conflict' });
  });

  it('A13: in a running epoch the worker of a minority dissents and gets no requests, and the epoch goes on', () => {
    const fleet = openFleet({}, 'a', 'b', 'c');
    const { epoch } = fleet.group();
    fleet.report('c', { ...OTHERS, instance: 'c-2' });
    expect(fleet.group()).toMatchObject({ gateOpen: true, epoch });
    expect(fleet.member('c')).toMatchObject({ state: 'dissenting', offer: 'none' });
    expect(fleet.logs('worker_dissents')).toEqual([
      'ERROR Worker c makes 4 tokens of the probe "message", token 9 at position 1, where a makes 3 tokens, token 6 at that position. ' +
        'It is quarantined: it gets no requests. Fix: the same chat template (--chat-template, or that of the same model --revision) ' +
        'on all workers of the model, or accept the difference with --token-probes=ignore.',
    ]);
    expect(fleet.member('c').reason).toContain('token 9 at position 1');
    // The block sizes are the same: the counter of these stays where it is.
    expect(fleet.effects.filter(({ type }) => type === 'mismatch')).toEqual([]);
  });

  it('A13: a refusal is equal to another refusal alone', () => {
    const refusing: ReportSketch = {
      values: { 'tokens.text': 'same', 'tokens.message.vllm': 'refused' },
      probes: [REFUSAL],
    };
    const fleet = openFleet({}, 'a', 'b', 'c');
    fleet.report('c', { ...refusing, instance: 'c-2' });
    expect(fleet.member('c').reason).toContain('refuses the probe "message", which a takes');
    const alike = new TestFleet({ isStaticDiscovery: true });
    alike.list('a', 'b');
    alike.report('a', refusing);
    alike.report('b', refusing);
    expect(alike.group().gateOpen).toBe(true);
  });

  it('A13: what a worker cannot say never conflicts, and is shown as unverified', () => {
    const fleet = openFleet({}, 'a', 'b');
    fleet.list('a', 'b', 'old');
    fleet.report('old', {});
    expect(fleet.member('old')).toMatchObject({
      state: 'conforming',
      offer: 'full',
      unverifiedFields: ['tokens'],
    });
    expect(fleet.member('a').unverifiedFields).toEqual([]);
  });

  it('A13: what is learned late shuts no gate and begins no epoch', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b', 'c');
    for (const target of ['a', 'b', 'c']) fleet.report(target);
    const { epoch } = fleet.group();
    fleet.report('c', { ...OTHERS, revision: 2 });
    // The only one that has said something.
    expect(fleet.member('c').state).toBe('conforming');
    fleet.report('a', { ...OURS, revision: 2 });
    fleet.report('b', { ...OURS, revision: 2 });
    expect(fleet.group()).toMatchObject({ gateOpen: true, epoch });
    expect(['a', 'b', 'c'].map((target) => fleet.member(target).offer)).toEqual(['full', 'full', 'none']);
    expect(fleet.effects.filter(({ type }) => type === 'gate')).toHaveLength(1);
  });

  it('A13: a change that a majority follows moves the fleet without a new epoch, and a tie keeps what the epoch began with', () => {
    const fleet = openFleet({}, 'a', 'b', 'c', 'd');
    const { epoch } = fleet.group();
    const offers = (): string =>
      ['a', 'b', 'c', 'd'].map((target) => fleet.member(target).offer === 'full').join(' ');
    fleet.report('a', { ...OTHERS, instance: 'a-2' });
    fleet.report('b', { ...OTHERS, instance: 'b-2' });
    expect(offers()).toBe('false false true true');
    fleet.report('c', { ...OTHERS, instance: 'c-2' });
    expect(offers()).toBe('true true true false');
    expect(fleet.group()).toMatchObject({ gateOpen: true, epoch });
    fleet.report('d', { ...OTHERS, instance: 'd-2' });
    expect(offers()).toBe('true true true true');
  });

  it('A13: a draining worker has no voice in it', () => {
    const fleet = openFleet({}, 'a', 'b');
    fleet.report('a', { ...OTHERS, instance: 'a-2', draining: true });
    expect(fleet.member('b').offer).toBe('full');
  });

  it('A13: with --token-probes=ignore it serves, with a WARN once and without an exact cache view', () => {
    const fleet = openFleet({ tokenProbes: 'ignore' }, 'a', 'b', 'c');
    fleet.report('c', { ...OTHERS, instance: 'c-2' });
    fleet.report('c', { ...OTHERS, instance: 'c-2', revision: 2 });
    fleet.cacheViewChanged('c', 'exact', '', 'c-2');
    expect(fleet.member('c')).toMatchObject({ state: 'conforming', offer: 'full', cacheView: 'approximate' });
    expect(fleet.member('c').cacheViewReason).toContain('token 9 at position 1');
    expect(fleet.logs('tokens_differ')).toHaveLength(1);
    expect(fleet.logs('tokens_differ')[0]).toContain('what is predicted for it is not exact');
  });

  it('A13: probes that engines shape differently are compared within one kind, and between kinds with a WARN', () => {
    const shaped = (kind: EngineKind, word: string, value: string): ReportSketch => ({
      kind,
      values: { 'tokens.tools': value, [`tokens.tools.${word}`]: value } as ContractValues,
    });
    const vllm = shaped(EngineKind.VLLM, 'vllm', 'x');
    const sglang = shaped(EngineKind.SGLANG, 'sglang', 'y');
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('s', 'v', 'w');
    fleet.report('v', vllm);
    fleet.report('w', vllm);
    fleet.report('s', sglang);
    expect(fleet.group().gateOpen).toBe(true);
    for (const target of ['s', 'v', 'w']) fleet.cacheViewChanged(target, 'exact');
    expect(['s', 'v', 'w'].map((target) => fleet.member(target).cacheView)).toEqual([
      'approximate',
      'exact',
      'exact',
    ]);
    expect(fleet.logs('tokens_differ')).toHaveLength(1);
    fleet.report('w', { ...shaped(EngineKind.VLLM, 'vllm', 'z'), instance: 'w-2' });
    expect(fleet.group().gateOpen).toBe(true);
    expect([fleet.member('v').offer, fleet.member('w').offer].sort()).toEqual(['full', 'none']);
  });

  it('A13: under an override of the block size a worker that makes other tokens is recognized by its tokens', () => {
    const fleet = openFleet({ overrideTokensPerBlock: 32, mismatchedWorkers: 'load-only' }, 'a', 'b', 'c');
    fleet.report('c', { ...OTHERS, instance: 'c-2' });
    expect(fleet.logs('worker_dissents')[0]).toContain('It is offered without cache knowledge.');
    expect(fleet.member('c').offer).toBe('load_only');
  });
});

describe('A13 and A11', () => {
  it('the order in which workers learn their tokens never changes who is offered', () => {
    const targets = ['a', 'b', 'c', 'd', 'e'];
    const made = fc.constantFrom<ContractValues>(
      {},
      { 'tokens.message': 'x' },
      { 'tokens.message': 'y', 'tokens.message.vllm': 'taken' },
      { 'tokens.message': 'x', 'tokens.tools': 'p', 'tokens.tools.vllm': 'p' },
      { 'tokens.message.vllm': 'refused', 'tokens.tools': 'q', 'tokens.tools.vllm': 'q' },
    );
    fc.assert(
      fc.property(
        fc.array(made, { minLength: targets.length, maxLength: targets.length }),
        fc.shuffledSubarray(targets, { minLength: targets.length }),
        fc.constantFrom('require' as const, 'ignore' as const),
        (values, order, tokenProbes) => {
          const run = (sequence: readonly string[]): unknown => {
            const fleet = new TestFleet({ isStaticDiscovery: true, tokenProbes });
            fleet.list(...targets);
            for (const target of targets) fleet.report(target);
            for (const target of sequence)
              fleet.report(target, {
                revision: 2,
                values: values[targets.indexOf(target)] as ContractValues,
              });
            expect(fleet.group()).toMatchObject({ gateOpen: true, epoch: 1 });
            return targets.map((target) => {
              const { state, offer, cacheView } = fleet.member(target);
              return [state, offer, cacheView];
            });
          };
          expect(run(order)).toEqual(run(targets));
        },
      ),
    );
  });
});
