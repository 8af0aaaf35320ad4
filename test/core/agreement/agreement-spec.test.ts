import { describe, expect, it } from 'vitest';
import { EngineKind, EvidenceSource } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { TestFleet } from '../../support/fleet.js';

const OBSERVED = EvidenceSource.OBSERVED_EVENT;
const DECLARED = EvidenceSource.DECLARED;

describe('R5', () => {
  it('R5: an older revision that arrives late is dropped', () => {
    const fleet = new TestFleet();
    fleet.list('a');
    fleet.report('a', { size: 32, revision: 5 });
    fleet.report('a', { size: 64, revision: 4 });
    expect(fleet.member('a').tokensPerBlock).toBe(32);
    fleet.report('a', { size: 64, revision: 6 });
    expect(fleet.member('a').tokensPerBlock).toBe(64);
  });

  it('R5: a report that opens a new session is never late, whatever its revision', () => {
    const fleet = new TestFleet();
    fleet.list('a');
    fleet.report('a', { size: 32, revision: 5 });
    fleet.broken('a');
    fleet.report('a', { size: 64, revision: 3 });
    expect(fleet.member('a').tokensPerBlock).toBe(64);
    fleet.report('a', { size: 32, revision: 2 });
    expect(fleet.member('a').tokensPerBlock).toBe(64);
  });

  it('R5: revisions count within one instance only', () => {
    const fleet = new TestFleet();
    fleet.list('a');
    fleet.report('a', { revision: 9, instance: 'first' });
    fleet.report('a', { size: 64, revision: 1, instance: 'second' });
    expect(fleet.member('a').tokensPerBlock).toBe(64);
  });
});

describe('before agreement', () => {
  it('A1: no group is agreed before min_workers have reported', () => {
    const fleet = new TestFleet({ minWorkers: 2 });
    fleet.list('a');
    fleet.report('a');
    fleet.advance(60_000);
    expect(fleet.group().state).toBe('collecting');
    expect(fleet.group().reasons.map(({ code }) => code)).toContain('below_min_workers');
    fleet.list('a', 'b');
    fleet.report('b');
    fleet.advance(2_000);
    expect(fleet.group().state).toBe('agreed');
  });

  it('A1: with min_workers auto no group is agreed before as many have reported as discovery expects', () => {
    const fleet = new TestFleet({ minWorkers: 'auto' });
    const expected = { count: 3, origin: 'Deployment worker' };
    fleet.do({ type: 'listed', members: [{ target: 'a', draining: false }] });
    fleet.report('a');
    fleet.advance(60_000);
    expect(fleet.group().reasons[0]?.text).toBe('1 worker reported, how many are expected is not known yet');
    fleet.do({ type: 'listed', members: [{ target: 'a', draining: false }], expected });
    expect(fleet.group().reasons[0]).toEqual({
      code: 'below_min_workers',
      text: '1 worker reported, 3 workers are expected (Deployment worker)',
    });
    fleet.do({
      type: 'listed',
      members: ['a', 'b', 'c'].map((target) => ({ target, draining: false })),
      expected,
    });
    fleet.report('b');
    fleet.report('c');
    fleet.advance(2_000);
    expect(fleet.group().state).toBe('agreed');
  });

  it('A1: with min_workers auto the members of all groups count together, because nobody distinguishes the models', () => {
    const fleet = new TestFleet({ minWorkers: 'auto', isStaticDiscovery: true });
    const members = ['a', 'b'].map((target) => ({ target, draining: false }));
    fleet.do({ type: 'listed', members, expected: { count: 2, origin: 'Deployment w' } });
    fleet.report('a', { model: 'small' });
    fleet.report('b', { model: 'large', unusable: 'it starts' });
    expect(fleet.group('small').state).toBe('collecting');
    fleet.report('b', { model: 'large', revision: 2 });
    expect(fleet.group('small').state).toBe('agreed');
    expect(fleet.group('large').state).toBe('agreed');
  });

  it('A1: with min_workers auto a group that has nobody says so, also where nobody is expected', () => {
    const fleet = new TestFleet({ minWorkers: 'auto' });
    fleet.list('a');
    fleet.report('a');
    fleet.do({ type: 'listed', members: [], expected: { count: 0, origin: 'Deployment w' } });
    expect(fleet.group().reasons[0]?.text).toBe('0 workers reported, 0 workers are expected (Deployment w)');
  });

  it('A1: min_workers auto counts before agreement alone: a workload that grows shuts no gate', () => {
    const fleet = new TestFleet({ minWorkers: 'auto', isStaticDiscovery: true });
    const members = [{ target: 'a', draining: false }];
    fleet.do({ type: 'listed', members, expected: { count: 1, origin: 'Deployment w' } });
    fleet.report('a');
    expect(fleet.group().state).toBe('agreed');
    fleet.do({ type: 'listed', members, expected: { count: 8, origin: 'Deployment w' } });
    fleet.advance(60_000);
    expect(fleet.group()).toMatchObject({ state: 'agreed', gateOpen: true });
  });

  it('A2: a group collects while a listed member has not reported, and says every 30 s who is missing and the flag', () => {
    const fleet = new TestFleet({ onMissing: 'wait' });
    fleet.list('a', 'b');
    fleet.report('a');
    fleet.advance(95_000);
    expect(fleet.group().state).toBe('collecting');
    const warnings = fleet.logs('waiting_for_workers');
    expect(warnings).toHaveLength(3);
    expect(warnings[0]).toBe(
      'WARN Still waiting for 1 of 2 workers: b (has not reported yet). To go on without them, set --on-missing=quorum or --on-missing=proceed.',
    );
    expect(fleet.group().reasons[0]?.text).toContain('b (has not reported yet)');
  });

  it('A2: with on_missing=proceed the missing are quarantined after collect_timeout and the rest decide', () => {
    const fleet = new TestFleet({ onMissing: 'proceed', collectTimeoutMs: 60_000 });
    fleet.list('a', 'b');
    fleet.report('a');
    fleet.advance(59_999);
    expect(fleet.group().state).toBe('collecting');
    fleet.advance(1);
    expect(fleet.group().state).toBe('agreed');
    expect(fleet.member('b')).toMatchObject({ state: 'discovered', offer: 'none' });
  });

  it('A2: a member whose report cannot be used is missing too, with its reason', () => {
    const fleet = new TestFleet();
    fleet.list('a', 'b');
    fleet.report('a');
    fleet.report('b', { unusable: 'the engine is starting' });
    fleet.advance(10_000);
    expect(fleet.group().state).toBe('collecting');
    expect(fleet.member('b')).toMatchObject({ state: 'incomplete', reason: 'the engine is starting' });
    expect(fleet.group().reasons[0]?.text).toContain('the engine is starting');
  });

  it('A3: the group is agreed when all reported the same and discovery has stood still for settle', () => {
    const fleet = new TestFleet();
    fleet.list('a', 'b');
    fleet.report('a');
    fleet.report('b');
    expect(fleet.group().state).toBe('collecting');
    expect(fleet.group().reasons.map(({ code }) => code)).toEqual(['settling']);
    fleet.advance(1_999);
    expect(fleet.group().state).toBe('collecting');
    fleet.advance(1);
    expect(fleet.group()).toMatchObject({ state: 'agreed', values: { tokens_per_block: 32 } });
    expect(fleet.logs('agreed')).toEqual(['INFO Auto-configured KV block size to 32 (from worker reports)']);
  });

  it('A3: a member that discovery lists meanwhile starts the settle time again', () => {
    const fleet = new TestFleet();
    fleet.list('a');
    fleet.report('a');
    fleet.advance(1_500);
    fleet.list('a', 'b');
    fleet.report('b');
    fleet.advance(1_500);
    expect(fleet.group().state).toBe('collecting');
    fleet.advance(500);
    expect(fleet.group().state).toBe('agreed');
  });

  it('A3: with a static list the group is agreed immediately', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a');
    fleet.report('b');
    expect(fleet.group().state).toBe('agreed');
  });

  it('A4: reports that differ are a conflict with one ERROR that names values, workers, evidence and the cure', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b', 'c');
    fleet.report('a', { size: 32 });
    fleet.report('b', { size: 64 });
    fleet.report('c', { size: 32 });
    expect(fleet.group()).toMatchObject({ state: 'conflict', gateOpen: false });
    expect(fleet.logs('conflict')).toHaveLength(1);
    const last = fleet.group().reasons[0];
    expect(last?.code).toBe('conflict');
    expect(last?.text).toBe(
      [
        'Workers of "tiny" disagree on the KV block size (tokens_per_block); the gate stays shut.',
        '  32: a, c (vLLM; engine_metrics, GET http://a:8000/metrics: block_size="32")',
        '  64: b (vLLM; engine_metrics, GET http://b:8000/metrics: block_size="64")',
        'To fix it, restart b with --block-size 32. Or insist on one value with --kv-cache-block-size, at the price of no KV-aware routing for the others.',
      ].join('\n'),
    );
  });

  it('A4: nobody is asked for a size that its engine cannot take', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    const SGLANG = EngineKind.SGLANG;
    fleet.list('a', 'b', 'c');
    fleet.report('a', { size: 1, kind: SGLANG });
    fleet.report('b', { size: 1, kind: SGLANG });
    fleet.report('c', { size: 32 });
    expect(fleet.group().reasons[0]?.text).toContain(
      'To fix it, restart a, b with --page-size 32 (not 1, because vLLM takes multiples of 32 on a CPU, and of 16 on most GPUs). Or insist',
    );
    fleet.report('c', { size: 1056, revision: 2 });
    expect(fleet.group().reasons[0]?.text).toContain(
      'No block size fits all of them: SGLang takes powers of two from 1 to 2048, and some attention backends 32, 64 or 128 only; vLLM computes 1056 for this hybrid model, and --block-size cannot lower it.',
    );
    fleet.report('c', { size: 64, revision: 3, sizeFacts: { contextParallel: 2 } });
    fleet.report('a', { size: 32, revision: 2, kind: SGLANG });
    fleet.report('b', { size: 32, revision: 2, kind: SGLANG });
    expect(fleet.group().reasons[0]?.text).toContain(
      'restart c with --block-size 16 (vLLM takes multiples of 32 on a CPU, and of 16 on most GPUs, times 2 for context parallelism)',
    );
  });

  it('A4: who declares what most have, and does something else, is not asked to declare what it declares already', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    const kind = EngineKind.DYNAMO;
    fleet.list('a', 'b');
    const seen = EvidenceSource.OBSERVED_EVENT;
    fleet.report('a', { size: 32, declares: 16, kind, source: seen });
    fleet.report('b', { size: 16, kind, source: EvidenceSource.DECLARED });
    const advice = (): string | undefined => fleet.group().reasons[0]?.text.split('\n').at(-1);
    expect(advice()).toMatch(
      /^To fix it, set --kv-block-size=32 on a: declared is 16, in use is 32\. Or insist /,
    );
    fleet.report('b', { size: 16, kind, source: seen, revision: 2 });
    expect(advice()).toMatch(
      /^To fix it, restart a with an engine that uses 16, as is declared: it uses 32\. Or insist /,
    );
  });

  it('A4: the group recovers by itself when the reports come to agree', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a', { size: 32 });
    fleet.report('b', { size: 64 });
    fleet.report('b', { size: 32, instance: 'b-2' });
    expect(fleet.group().state).toBe('agreed');
    expect(fleet.logs('conflict_over')).toHaveLength(1);
  });

  it('A4: the same conflict is logged once, not at every report', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a', { size: 32 });
    fleet.report('b', { size: 64 });
    for (let revision = 2; revision < 20; revision += 1) fleet.report('b', { size: 64, revision });
    fleet.advance(300_000);
    expect(fleet.logs('conflict')).toHaveLength(1);
  });

  it('A4: once the workers have stood still, one more ERROR names those who joined since, and then no more', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b', 'c', 'd');
    fleet.report('a', { size: 32 });
    fleet.report('b', { size: 64 });
    fleet.report('c', { size: 64 });
    fleet.advance(1_000);
    fleet.report('d', { size: 64 });
    fleet.advance(1_999);
    expect(fleet.logs('conflict')).toHaveLength(1);
    fleet.advance(1);
    expect(fleet.logs('conflict')).toHaveLength(2);
    expect(fleet.logs('conflict')[1]).toContain('64: b, c, d (');
    // A worker that comes and goes does not fill the log.
    for (let revision = 2; revision < 20; revision += 1) {
      fleet.report('d', { size: 64, revision, ...(revision % 2 === 0 ? { unusable: 'restarting' } : {}) });
      fleet.advance(20_000);
    }
    expect(fleet.logs('conflict')).toHaveLength(2);
    fleet.report('d', { size: 128, instance: 'd-2' });
    expect(fleet.logs('conflict')).toHaveLength(3);
  });

  it('A5: a value that one side does not know does not conflict; the member is unverified for that field', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a', { values: { hash_unit: 'token' } });
    fleet.report('b');
    expect(fleet.group()).toMatchObject({ state: 'agreed', values: { hash_unit: 'token' } });
    expect(fleet.member('b').unverifiedFields).toEqual(['hash_unit']);
    expect(fleet.member('a').unverifiedFields).toEqual([]);
  });

  it('A5: two known values that differ are a conflict although a third member knows neither', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b', 'c');
    fleet.report('a', { values: { hash_unit: 'token' } });
    fleet.report('b');
    fleet.report('c', { values: { hash_unit: 'bigram' } });
    expect(fleet.group().state).toBe('conflict');
    expect(fleet.group().reasons[0]?.text).toContain('hash_unit');
  });

  it('A5: how engines hash their own blocks is compared for a frontend that compares it, and for no other', () => {
    const stateWith = (frontendUses: 'observed' | 'declared'): TestFleet => {
      const fleet = new TestFleet({ isStaticDiscovery: true, frontendUses });
      fleet.list('vllm-0', 'trtllm-0');
      fleet.report('vllm-0', { values: { hash_algorithm: 'sha256', hash_unit: 'token' } });
      fleet.report('trtllm-0', { values: { hash_algorithm: 'v1_block_key' } });
      return fleet;
    };
    // What they differ in is no part of what they agreed on, whichever came first.
    expect(stateWith('observed').group()).toMatchObject({
      state: 'agreed',
      values: { tokens_per_block: 32, hash_unit: 'token' },
    });
    expect(stateWith('observed').group().values).not.toHaveProperty('hash_algorithm');
    expect(stateWith('declared').group().state).toBe('conflict');
    expect(stateWith('declared').group().reasons[0]?.text).toContain('hash_algorithm');
  });

  it('A5: an algorithm that all engines share is part of what they agreed on', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a', { values: { hash_algorithm: 'sha256' } });
    fleet.report('b', { values: { hash_algorithm: 'sha256' } });
    expect(fleet.group().values).toEqual({ tokens_per_block: 32, hash_algorithm: 'sha256' });
  });

  it('A6: an override is agreed as soon as min_workers have reported, and each worker that differs gets a WARN', () => {
    const fleet = new TestFleet({
      overrideTokensPerBlock: 16,
      minWorkers: 2,
      mismatchedWorkers: 'load-only',
    });
    fleet.list('a', 'b', 'c');
    fleet.report('a', { size: 16 });
    expect(fleet.group().state).toBe('collecting');
    fleet.report('b', { size: 32 });
    expect(fleet.group()).toMatchObject({
      state: 'agreed',
      isOverride: true,
      values: { tokens_per_block: 16 },
    });
    expect(fleet.logs('override_differs')).toEqual([
      'WARN Worker b reports 32 tokens per block (engine_metrics, GET http://b:8000/metrics: block_size="32"), ' +
        "the explicit override is 16: the override is used, the worker's KV events are not applied, and it is offered without cache knowledge.",
    ]);
    expect(fleet.member('b')).toMatchObject({ state: 'dissenting', offer: 'load_only' });
    expect(fleet.member('a')).toMatchObject({ state: 'conforming', offer: 'full' });
  });
});

/** Three workers that agreed on 32. */
function agreedFleet(options: ConstructorParameters<typeof TestFleet>[0] = {}): TestFleet {
  const fleet = new TestFleet(options);
  fleet.list('a', 'b', 'c');
  for (const target of ['a', 'b', 'c']) fleet.report(target);
  fleet.advance(2_000);
  expect(fleet.group().state).toBe('agreed');
  return fleet;
}

describe('after agreement', () => {
  it('A7: a late joiner that cannot take the agreed size learns what all could take', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a', { size: 1, kind: EngineKind.SGLANG });
    fleet.report('b', { size: 1, kind: EngineKind.SGLANG });
    fleet.list('a', 'b', 'c');
    fleet.report('c', { size: 32 });
    const [dissent] = fleet.logs('worker_dissents');
    expect(dissent).toContain(
      'To fix it, restart a, b with --page-size 32 (not 1, because vLLM takes multiples of 32',
    );
    fleet.list('a', 'b', 'd');
    fleet.report('d', { size: 1056, source: EvidenceSource.OBSERVED_EVENT });
    expect(fleet.logs('block_size_mismatch')[0]?.split('\n')[1]).toBe(
      'Worker d uses 1056 and the fleet agreed on 1: give it another served model name: not 1, because vLLM computes 1056 for this hybrid model, and --block-size cannot lower it, and no size fits all.',
    );
  });

  it('A7: a late joiner with the same contract becomes conforming', () => {
    const fleet = agreedFleet();
    fleet.list('a', 'b', 'c', 'd');
    fleet.report('d');
    expect(fleet.member('d')).toMatchObject({ state: 'conforming', offer: 'full' });
    expect(fleet.group().epoch).toBe(1);
  });

  it('A7: a late joiner that differs is quarantined with one ERROR and counted, and the epoch goes on', () => {
    const fleet = agreedFleet();
    fleet.list('a', 'b', 'c', 'd');
    fleet.report('d', { size: 64 });
    for (let revision = 2; revision < 9; revision += 1) fleet.report('d', { size: 64, revision });
    fleet.advance(60_000);
    expect(fleet.member('d')).toMatchObject({ state: 'dissenting', offer: 'none' });
    expect(fleet.group()).toMatchObject({ gateOpen: true, epoch: 1, values: { tokens_per_block: 32 } });
    expect(fleet.logs('worker_dissents')).toEqual([
      'ERROR Worker d has KV block size (tokens_per_block) 64, the fleet agreed on 32 (engine_metrics, GET http://d:8000/metrics: block_size="64"). ' +
        'It is quarantined: it gets no requests, and its KV events are not applied. To fix it, restart it with --block-size 32.',
    ]);
    expect(fleet.effects.filter(({ type }) => type === 'mismatch')).toEqual([
      {
        type: 'mismatch',
        group: 'tiny',
        worker: 'd',
        workerId: 'd',
        source: EvidenceSource.ENGINE_METRICS,
        count: 1,
      },
    ]);
  });

  it('A7: late joiners that differ by the same contract are one ERROR together, and another contract is another', () => {
    const fleet = agreedFleet();
    fleet.list('a', 'b', 'c', 'd', 'e', 'f');
    fleet.report('d', { size: 64 });
    fleet.report('e', { size: 64 });
    expect(fleet.logs('worker_dissents')).toHaveLength(1);
    expect(fleet.effects.filter(({ type }) => type === 'mismatch')).toHaveLength(2);
    fleet.report('f', { size: 16 });
    expect(fleet.logs('worker_dissents')).toHaveLength(2);
    fleet.list('a', 'b', 'c');
    fleet.list('a', 'b', 'c', 'g');
    fleet.report('g', { size: 64 });
    // Nobody else has it now: it is news again.
    expect(fleet.logs('worker_dissents')).toHaveLength(3);
  });

  it('A7: mismatched-workers=load-only offers it without cache knowledge', () => {
    const fleet = agreedFleet({ mismatchedWorkers: 'load-only' });
    fleet.list('a', 'b', 'c', 'd');
    fleet.report('d', { size: 64 });
    expect(fleet.member('d')).toMatchObject({ state: 'dissenting', offer: 'load_only' });
  });

  it('A8: the first instance of a worker is no restart, whatever its sidecar said before the engine was up', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a');
    fleet.report('a', { instance: 'before-any', unusable: 'the engine has not been asked yet' });
    fleet.report('a', { instance: 'a-1' });
    expect(fleet.logs('instance_replaced')).toEqual([]);
    fleet.report('a', { instance: 'a-1', revision: 2, unusable: 'the engine is starting' });
    fleet.report('a', { instance: 'a-2' });
    expect(fleet.logs('instance_replaced')).toEqual([
      'INFO The engine of worker a was restarted (instance a-1 is now a-2).',
    ]);
  });

  it('A8: a new instance is judged as a late joiner and its old entries are dropped', () => {
    const fleet = agreedFleet();
    const effects = fleet.report('a', { size: 64, instance: 'a-2' });
    expect(effects).toContainEqual({
      type: 'forget_instance',
      group: 'tiny',
      target: 'a',
      instanceId: 'a-1',
    });
    expect(fleet.member('a').state).toBe('dissenting');
    fleet.report('a', { size: 32, instance: 'a-3' });
    expect(fleet.member('a').state).toBe('conforming');
    expect(fleet.group().epoch).toBe(1);
  });

  it('A8: a member that comes under the name of one that is gone has said nothing, and is not offered', () => {
    const fleet = agreedFleet();
    const list = (...identities: (string | undefined)[]): ReturnType<TestFleet['do']> => {
      const members = identities.map((identity, at) => ({
        target: 'abc'[at] ?? '',
        draining: false,
        identity,
      }));
      return fleet.do({ type: 'listed', members });
    };
    list('uid-1', undefined, 'uid-1');
    fleet.broken('a');
    expect(fleet.member('a')).toMatchObject({ state: 'lost', offer: 'full' });
    const effects = list('uid-2', 'uid-1', undefined);
    expect(effects.filter(({ type }) => type === 'forget_instance')).toMatchObject([{ target: 'a' }]);
    expect(fleet.member('a')).toMatchObject({ state: 'discovered', offer: 'none' });
    expect(fleet.member('b').state).toBe('conforming');
    fleet.report('a', { instance: 'a-1', revision: 1 });
    expect(fleet.member('a').state).toBe('conforming');
  });

  it('A9: a strict majority that holds another contract for settle starts a new epoch: shut, made again, open', () => {
    const fleet = agreedFleet();
    fleet.report('a', { size: 64, instance: 'a-2' });
    fleet.advance(10_000);
    expect(fleet.group().epoch).toBe(1);
    fleet.report('b', { size: 64, instance: 'b-2' });
    fleet.advance(1_999);
    expect(fleet.group().epoch).toBe(1);
    const effects = fleet.advance(1);
    expect(effects.map(({ type }) => type).filter((type) => type !== 'log' && type !== 'mismatch')).toEqual([
      'gate',
      'epoch_ended',
      'epoch_started',
      'gate',
    ]);
    expect(fleet.group()).toMatchObject({ epoch: 2, gateOpen: true, values: { tokens_per_block: 64 } });
    expect(fleet.member('c').state).toBe('dissenting');
    expect(fleet.logs('new_epoch')).toEqual([
      'WARN The tokens_per_block of "tiny" changed from 32 to 64 (2 of 3 workers): a new epoch has begun, and workers with the old value are left out until they follow.',
    ]);
  });

  it('A9: a majority that does not last for settle changes nothing', () => {
    const fleet = agreedFleet();
    fleet.report('a', { size: 64, instance: 'a-2' });
    fleet.report('b', { size: 64, instance: 'b-2' });
    fleet.advance(1_900);
    fleet.report('b', { size: 32, instance: 'b-3' });
    fleet.advance(60_000);
    expect(fleet.group()).toMatchObject({ epoch: 1, values: { tokens_per_block: 32 } });
  });

  it('A9: a tie keeps the running epoch', () => {
    const fleet = agreedFleet();
    fleet.list('a', 'b', 'c', 'd');
    fleet.report('d', { size: 64 });
    fleet.report('c', { size: 64, instance: 'c-2' });
    fleet.advance(60_000);
    expect(fleet.group().epoch).toBe(1);
  });

  it('A9: a majority that disagrees among itself has no common contract and starts nothing', () => {
    const fleet = agreedFleet();
    fleet.report('a', { size: 64, instance: 'a-2' });
    fleet.report('b', { size: 128, instance: 'b-2' });
    fleet.advance(60_000);
    expect(fleet.group().epoch).toBe(1);
  });

  it('A9: on_change=wait-all waits until no member holds the old value', () => {
    const fleet = agreedFleet({ onChange: 'wait-all' });
    fleet.report('a', { size: 64, instance: 'a-2' });
    fleet.report('b', { size: 64, instance: 'b-2' });
    fleet.advance(60_000);
    expect(fleet.group().epoch).toBe(1);
    fleet.report('c', { size: 64, instance: 'c-2' });
    fleet.advance(2_000);
    expect(fleet.group().epoch).toBe(2);
  });

  it('A9: on_change=refuse ends the process', () => {
    const fleet = agreedFleet({ onChange: 'refuse' });
    fleet.report('a', { size: 64, instance: 'a-2' });
    fleet.report('b', { size: 64, instance: 'b-2' });
    fleet.advance(2_000);
    expect(fleet.effects.filter(({ type }) => type === 'refuse')).toHaveLength(1);
    expect(fleet.group().epoch).toBe(1);
  });

  it('A10: who drains before it has named its model holds up nobody', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a');
    expect(fleet.group().gateOpen).toBe(false);
    fleet.report('b', { model: '', unusable: 'the engine is starting', draining: true });
    expect(fleet.group().gateOpen).toBe(true);
  });

  it('A10: draining members neither decide nor delay', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.do({
      type: 'listed',
      members: [
        { target: 'a', draining: false },
        { target: 'b', draining: true },
        { target: 'c', draining: false },
      ],
    });
    fleet.report('a');
    fleet.report('c', { size: 64, draining: true });
    expect(fleet.group()).toMatchObject({ state: 'agreed', values: { tokens_per_block: 32 } });
    expect(fleet.member('b')).toMatchObject({ state: 'draining', offer: 'none' });
    expect(fleet.member('c')).toMatchObject({ state: 'draining', offer: 'none' });
  });

  it('A11: the running epoch is kept against a minority because it serves, not because it came first', () => {
    const fleet = agreedFleet();
    fleet.list('a', 'b', 'c', 'd', 'e');
    fleet.report('d', { size: 64 });
    fleet.report('e', { size: 64 });
    fleet.advance(60_000);
    expect(fleet.group().values).toEqual({ tokens_per_block: 32 });
  });
});

/** Three workers of which nobody could ask the engine: each declares 16. */
function declaredFleet(options: ConstructorParameters<typeof TestFleet>[0] = {}): TestFleet {
  const fleet = new TestFleet(options);
  fleet.list('a', 'b', 'c');
  for (const target of ['a', 'b', 'c'])
    fleet.report(target, { size: 16, source: DECLARED, kind: EngineKind.DYNAMO });
  fleet.advance(2_000);
  expect(fleet.group()).toMatchObject({ state: 'agreed', values: { tokens_per_block: 16 } });
  return fleet;
}

describe('live verification', () => {
  it('V1: events of another width than the agreed one make their worker dissenting, whatever it reports', () => {
    const fleet = agreedFleet();
    fleet.mismatched('a', 16);
    expect(fleet.member('a')).toMatchObject({
      state: 'dissenting',
      offer: 'none',
      tokensPerBlock: 16,
      source: OBSERVED,
      reason: expect.stringContaining(
        'Worker a has KV block size (tokens_per_block) 16, the fleet agreed on 32',
      ),
    });
    expect(fleet.group()).toMatchObject({ gateOpen: true, epoch: 1 });
    fleet.report('a', { revision: 2 });
    expect(fleet.member('a').state).toBe('dissenting');
  });

  it('V1: it stays so until its instance changes, or its own sidecar saw the agreed width', () => {
    const fleet = agreedFleet();
    fleet.mismatched('a', 16);
    fleet.mismatched('b', 16);
    fleet.report('a', { instance: 'a-2' });
    expect(fleet.member('a')).toMatchObject({ state: 'conforming', offer: 'full' });
    fleet.report('b', { revision: 2, source: OBSERVED });
    expect(fleet.member('b')).toMatchObject({ state: 'verified', offer: 'full' });
  });

  it('V1: what comes late of an instance that is gone is counted, and blamed on no worker', () => {
    const fleet = agreedFleet();
    fleet.report('a', { instance: 'a-2' });
    const effects = fleet.mismatched('a', 16, 3);
    expect(effects).toEqual([
      { type: 'mismatch', group: 'tiny', worker: 'a', workerId: 'a', source: OBSERVED, count: 3 },
    ]);
    expect(fleet.member('a').state).toBe('conforming');
  });

  it('V1: a width that no engine can have agrees with nobody', () => {
    const fleet = agreedFleet();
    for (const target of ['a', 'b', 'c']) fleet.mismatched(target, 0, 5);
    fleet.advance(10_000);
    expect(fleet.group()).toMatchObject({ epoch: 1, values: { tokens_per_block: 32 } });
  });

  it('V2: a member whose size was seen in its events is verified', () => {
    const fleet = agreedFleet();
    fleet.report('a', { revision: 2, source: OBSERVED });
    expect(fleet.member('a').state).toBe('verified');
  });

  it('V3: under an override the three lines name the variable that decides, and the worker is offered without cache knowledge', () => {
    const fleet = new TestFleet({
      isStaticDiscovery: true,
      overrideTokensPerBlock: 16,
      mismatchedWorkers: 'load-only',
    });
    fleet.list('a', 'b');
    fleet.report('a', { size: 32 });
    fleet.report('b', { size: 16 });
    expect(fleet.logs('override_differs')).toHaveLength(1);
    expect(fleet.logs('block_size_mismatch')).toEqual([]);
    fleet.report('a', { size: 32, revision: 2, source: OBSERVED });
    for (let revision = 3; revision < 9; revision += 1)
      fleet.report('a', { size: 32, revision, source: OBSERVED });
    fleet.mismatched('b', 32);
    const lines = [
      'ERROR Frontend KV block size (16) does not match worker block size (32).',
      'Set DYN_KV_CACHE_BLOCK_SIZE=32 on the frontend or configure tokens_per_block=16 on workers.',
      'KV-aware routing will not function until block sizes match.',
    ].join('\n');
    expect(fleet.logs('block_size_mismatch')).toEqual([lines, lines]);
    expect(
      fleet.effects.flatMap((effect) =>
        effect.type === 'log' && effect.code === 'block_size_mismatch' ? [effect.worker] : [],
      ),
    ).toEqual(['a', 'b']);
    expect(fleet.logs('override_differs')).toHaveLength(1);
    expect(fleet.member('a')).toMatchObject({
      state: 'dissenting',
      offer: 'load_only',
      reason: expect.stringContaining(
        'Worker a has KV block size (tokens_per_block) 32, the explicit override is 16',
      ),
    });
    expect(fleet.group()).toMatchObject({ gateOpen: true, routingMode: 'load_only' });
  });

  it('V3: of a worker that differs from an agreed fleet they name the worker and the setting of its engine', () => {
    const fleet = agreedFleet();
    fleet.list('a', 'b', 'c', 'd');
    fleet.report('d', { size: 16, source: OBSERVED, kind: EngineKind.SGLANG });
    expect(fleet.logs('block_size_mismatch')).toEqual([
      [
        'ERROR Frontend KV block size (32) does not match worker block size (16).',
        'Worker d uses 16 and the fleet agreed on 32: restart it with --page-size 32.',
        'KV-aware routing will not function until block sizes match.',
      ].join('\n'),
    ]);
    expect(fleet.logs('worker_dissents')).toEqual([]);
  });

  it('V3: every mismatching event is counted, and the ERROR is said once for each instance', () => {
    const fleet = agreedFleet();
    fleet.mismatched('a', 16);
    for (let times = 0; times < 5; times += 1) fleet.mismatched('a', 16, 1_000);
    fleet.report('a', { size: 16, revision: 2, source: OBSERVED });
    fleet.report('a', { size: 16, revision: 3, source: OBSERVED });
    const counted = fleet.effects.flatMap((effect) =>
      effect.type === 'mismatch' && effect.source === OBSERVED ? [effect.count] : [],
    );
    expect(counted.reduce((sum, count) => sum + count, 0)).toBe(5_001);
    expect(fleet.logs('block_size_mismatch')).toHaveLength(1);
    fleet.report('a', { instance: 'a-2' });
    fleet.mismatched('a', 16, 1, 'a-2');
    expect(fleet.logs('block_size_mismatch')).toHaveLength(2);
  });

  it('V3: in a change under way the ERROR of the first worker of a contract speaks for those that follow', () => {
    const fleet = agreedFleet();
    fleet.list('a', 'b', 'c', 'd', 'e', 'f');
    fleet.report('d', { size: 64, source: OBSERVED });
    fleet.report('e', { size: 64 });
    fleet.mismatched('e', 64);
    fleet.report('f', { size: 64 });
    fleet.report('f', { size: 64, revision: 2, source: OBSERVED });
    expect(fleet.logs('block_size_mismatch')).toHaveLength(1);
    expect(fleet.logs('block_size_mismatch')[0]).toContain('Worker d uses 64');
    expect(fleet.logs('worker_dissents')).toEqual([]);
    const counted = fleet.effects.flatMap((effect) => (effect.type === 'mismatch' ? [effect.worker] : []));
    expect(new Set(counted)).toEqual(new Set(['d', 'e', 'f']));
    // Another size is news, and so is this one once nobody has it any more.
    fleet.report('f', { size: 16, instance: 'f-2', source: OBSERVED });
    expect(fleet.logs('block_size_mismatch')).toHaveLength(2);
    fleet.list('a', 'b', 'c');
    fleet.list('a', 'b', 'c', 'g');
    fleet.report('g', { size: 64, source: OBSERVED });
    expect(fleet.logs('block_size_mismatch')).toHaveLength(3);
  });

  it('V3: a worker whose own report or declaration is not what its events show has an ERROR of its own', () => {
    const fleet = agreedFleet();
    fleet.list('a', 'b', 'c', 'd', 'e');
    fleet.report('d', { size: 64, source: OBSERVED });
    fleet.report('e', { size: 64, declares: 32, source: OBSERVED });
    fleet.mismatched('a', 64);
    expect(fleet.logs('block_size_mismatch')).toHaveLength(3);
  });

  it('V3: what the index holds of a worker is dropped once when it becomes dissenting', () => {
    const fleet = agreedFleet();
    fleet.cacheViewChanged('a', 'exact');
    const forgets = (): unknown[] => fleet.effects.filter(({ type }) => type === 'forget_instance');
    fleet.mismatched('a', 16);
    fleet.mismatched('a', 16);
    fleet.report('a', { size: 16, revision: 2, source: OBSERVED });
    expect(forgets()).toEqual([{ type: 'forget_instance', group: 'tiny', target: 'a', instanceId: 'a-1' }]);
    expect(fleet.member('a').cacheView).toBeUndefined();
    fleet.list('b', 'c');
    expect(forgets()).toHaveLength(1);
  });

  it('V4: all declare 16 and their engines use 32: the first is named, and the fleet follows what most were seen to do', () => {
    const fleet = declaredFleet();
    fleet.mismatched('a', 32);
    expect(fleet.logs('block_size_mismatch')).toEqual([
      [
        'ERROR Frontend KV block size (16) does not match worker block size (32).',
        'Worker a declares 16 but its engine uses 32: set --kv-block-size=32 on the worker.',
        'KV-aware routing will not function until block sizes match.',
      ].join('\n'),
    ]);
    expect(fleet.member('a')).toMatchObject({
      state: 'dissenting',
      declaredTokensPerBlock: 16,
      reason: expect.stringContaining('set --kv-block-size=32 on the worker, which declares 16'),
    });
    fleet.mismatched('b', 32);
    fleet.advance(1_999);
    expect(fleet.group().epoch).toBe(1);
    fleet.advance(1);
    expect(fleet.group()).toMatchObject({ epoch: 2, gateOpen: true, values: { tokens_per_block: 32 } });
    expect(fleet.member('a').state).toBe('verified');
    expect(fleet.member('c').state).toBe('dissenting');
    // The third is seen to do the same, as its sidecar reports.
    fleet.report('c', { size: 32, revision: 2, source: OBSERVED, declares: 16 });
    expect(fleet.member('c').state).toBe('verified');
    expect(fleet.logs('worker_contradicts_itself')).toHaveLength(3);
    expect(fleet.logs('block_size_mismatch')).toHaveLength(2);
  });

  it('V4: a worker that declares another size than its engine has gets a warning although all declare the same', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a');
    fleet.report('a', { size: 32, declares: 16 });
    expect(fleet.group().state).toBe('agreed');
    expect(fleet.logs('worker_contradicts_itself')[0]).toContain(
      'Worker a declares 16 (its model card) but its engine uses 32',
    );
  });

  it('V5: with frontend-uses=declared such a worker is a conflict that names the place to fix', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true, frontendUses: 'declared' });
    fleet.list('a');
    fleet.report('a', { size: 32, declares: 16 });
    expect(fleet.group()).toMatchObject({ state: 'conflict', gateOpen: false });
    expect(fleet.group().reasons[0]?.text).toContain('Worker a declares 16');
    fleet.report('a', { size: 32, instance: 'a-2' });
    expect(fleet.group().state).toBe('agreed');
  });

  it('V5: a fleet that goes by declarations is in conflict once most contradict themselves, and recovers when they are fixed', () => {
    const fleet = declaredFleet({ frontendUses: 'declared' });
    fleet.mismatched('a', 32);
    fleet.advance(60_000);
    // One is kept out while the others serve (A7).
    expect(fleet.group()).toMatchObject({ gateOpen: true, epoch: 1 });
    expect(fleet.member('a')).toMatchObject({ state: 'dissenting', offer: 'none' });
    fleet.mismatched('b', 32);
    fleet.advance(1_999);
    expect(fleet.group().gateOpen).toBe(true);
    const effects = fleet.advance(1);
    expect(effects.filter(({ type }) => type !== 'log')).toEqual([
      { type: 'gate', group: 'tiny', open: false },
      { type: 'epoch_ended', group: 'tiny', epoch: 1 },
    ]);
    expect(fleet.group()).toMatchObject({ state: 'conflict', gateOpen: false, routingMode: 'closed' });
    for (const target of ['a', 'b']) {
      expect(fleet.logs('conflict')[0]).toContain(`Worker ${target} declares 16`);
      expect(fleet.group().reasons[0]?.text).toContain(`Worker ${target} declares 16`);
    }
    expect(fleet.logs('conflict')[0]).toContain('set --kv-block-size=32 on the worker');
    fleet.advance(60_000);
    expect(fleet.logs('conflict')).toHaveLength(1);
    for (const target of ['a', 'b', 'c']) fleet.report(target, { instance: `${target}-2` });
    fleet.advance(2_000);
    expect(fleet.group()).toMatchObject({ state: 'agreed', epoch: 2, values: { tokens_per_block: 32 } });
  });

  it('V5: one worker that contradicts itself alone shuts the gate too: nobody else would serve', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true, frontendUses: 'declared' });
    fleet.list('a');
    fleet.report('a', { size: 16, source: DECLARED });
    expect(fleet.group().gateOpen).toBe(true);
    fleet.mismatched('a', 32);
    fleet.advance(2_000);
    expect(fleet.group()).toMatchObject({ state: 'conflict', gateOpen: false });
  });

  it('V5: after agreement such a late joiner is quarantined', () => {
    const fleet = agreedFleet({ frontendUses: 'declared' });
    fleet.list('a', 'b', 'c', 'd');
    fleet.report('d', { size: 32, declares: 16 });
    expect(fleet.member('d')).toMatchObject({ state: 'dissenting', offer: 'none' });
  });
});

describe('gate', () => {
  it('G1: before agreement the answer is no, with the reason', () => {
    const fleet = new TestFleet();
    expect(fleet.view().reasons).toEqual([{ code: 'no_workers', text: 'discovery lists no workers' }]);
    fleet.list('a');
    expect(fleet.view().reasons[0]?.code).toBe('waiting_for_workers');
    fleet.report('a');
    expect(fleet.group()).toMatchObject({ gateOpen: false, ready: false, routingMode: 'closed' });
    expect(fleet.group().reasons.length).toBeGreaterThan(0);
  });

  it('G2: every epoch is announced exactly once, after agreement and before its gate opens', () => {
    const fleet = agreedFleet();
    fleet.report('a', { size: 64, instance: 'a-2' });
    fleet.report('b', { size: 64, instance: 'b-2' });
    fleet.advance(2_000);
    const story = fleet.effects.flatMap((effect) => {
      if (effect.type === 'epoch_started') return [`start ${effect.epoch}`];
      if (effect.type === 'epoch_ended') return [`end ${effect.epoch}`];
      return effect.type === 'gate' ? [effect.open ? 'open' : 'shut'] : [];
    });
    expect(story).toEqual(['start 1', 'open', 'shut', 'end 1', 'start 2', 'open']);
  });

  it('G2: cache views belong to the index of one epoch: with a new one nothing is known at first', () => {
    const fleet = agreedFleet();
    for (const target of ['a', 'b', 'c']) fleet.cacheViewChanged(target, 'exact');
    expect(fleet.group().routingMode).toBe('exact');
    for (const target of ['a', 'b']) fleet.mismatched(target, 64);
    fleet.advance(2_000);
    expect(fleet.group()).toMatchObject({ epoch: 2, routingMode: 'load_only' });
    expect(fleet.member('a').cacheView).toBeUndefined();
    fleet.cacheViewChanged('a', 'exact');
    fleet.cacheViewChanged('b', 'exact');
    expect(fleet.group().routingMode).toBe('exact');
  });

  it('G3: what a worker stored before agreement is wanted: an epoch starts without dropping anything of those that conform', () => {
    const fleet = new TestFleet();
    fleet.list('a', 'b', 'c');
    for (const target of ['a', 'b', 'c']) fleet.report(target);
    for (const target of ['a', 'b']) fleet.report(target, { revision: 2, source: OBSERVED });
    fleet.broken('c');
    fleet.alive('c');
    fleet.advance(2_000);
    expect(fleet.group().gateOpen).toBe(true);
    expect(fleet.effects.filter(({ type }) => type === 'forget_instance')).toEqual([]);
  });

  it('G4: ready means agreed and at least one worker that can be offered', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a');
    fleet.report('a');
    expect(fleet.group().ready).toBe(true);
    fleet.report('a', { revision: 2, unusable: 'the engine is unreachable' });
    expect(fleet.group()).toMatchObject({ gateOpen: true, ready: false });
    expect(fleet.group().reasons).toEqual([
      {
        code: 'no_worker_offered',
        text: 'none of 1 worker can be offered: a (incomplete: the engine is unreachable)',
      },
    ]);
  });

  it('G5: a lost worker keeps its place for grace, and goes on as before when the same instance returns', () => {
    const fleet = agreedFleet();
    fleet.broken('a');
    expect(fleet.member('a')).toMatchObject({ state: 'lost', offer: 'full' });
    fleet.advance(29_999);
    expect(fleet.effects.filter(({ type }) => type === 'forget_instance')).toEqual([]);
    fleet.alive('a');
    expect(fleet.member('a')).toMatchObject({ state: 'conforming', offer: 'full' });
    fleet.advance(60_000);
    expect(fleet.effects.filter(({ type }) => type === 'forget_instance')).toEqual([]);
  });

  it('G5: after grace what it held is dropped, and it is no longer offered', () => {
    const fleet = agreedFleet();
    fleet.broken('a', 'no heartbeat for 15 s');
    const effects = fleet.advance(30_000);
    expect(effects).toContainEqual({
      type: 'forget_instance',
      group: 'tiny',
      target: 'a',
      instanceId: 'a-1',
    });
    expect(fleet.member('a')).toMatchObject({
      state: 'discovered',
      offer: 'none',
      reason: 'no heartbeat for 15 s',
    });
    expect(fleet.group().gateOpen).toBe(true);
  });

  it('G5: what it held is dropped once, however it goes: by departure, a new instance, or the end of grace', () => {
    const fleet = agreedFleet();
    const forgotten = (): string[] =>
      fleet.effects.flatMap((effect) => (effect.type === 'forget_instance' ? [effect.instanceId] : []));
    fleet.report('a', { instance: 'a-2' });
    expect(forgotten()).toEqual(['a-1']);
    fleet.broken('b');
    fleet.advance(30_000);
    fleet.list('a', 'c');
    expect(forgotten()).toEqual(['a-1', 'b-1']);
    fleet.list('a');
    expect(forgotten()).toEqual(['a-1', 'b-1', 'c-1']);
  });

  it('G5: the cache view of a lost worker is kept, and is not exact until it is back', () => {
    const fleet = agreedFleet();
    for (const target of ['a', 'b', 'c']) fleet.cacheViewChanged(target, 'exact');
    fleet.broken('a');
    expect(fleet.member('a')).toMatchObject({ state: 'lost', cacheView: 'exact' });
    expect(fleet.group()).toMatchObject({
      routingMode: 'mixed',
      routingReason: 'not exact: a (its sidecar is lost)',
    });
    fleet.alive('a');
    expect(fleet.group().routingMode).toBe('exact');
    fleet.broken('a');
    fleet.advance(30_000);
    expect(fleet.member('a')).toMatchObject({ offer: 'none', cacheView: undefined });
    expect(fleet.group().routingMode).toBe('exact');
  });

  it('G6: every answer that says no has a reason from the closed list', () => {
    const fleet = new TestFleet({ minWorkers: 3 });
    const codes = (): string[] => fleet.group().reasons.map(({ code }) => code);
    fleet.list('a', 'b');
    fleet.report('a');
    expect(codes()).toEqual(['waiting_for_workers', 'below_min_workers']);
    fleet.report('b', { size: 64 });
    expect(codes()).toEqual(['conflict', 'below_min_workers']);
  });

  it('G6: no gate is shut without a reason, whatever lands between a deadline and its tick', () => {
    const settling = new TestFleet();
    settling.list('a');
    settling.report('a');
    const proceeding = new TestFleet({ onMissing: 'proceed', collectTimeoutMs: 5_000 });
    proceeding.list('a', 'silent');
    proceeding.report('a');
    for (const [fleet, deadlineMs] of [
      [settling, 2_000],
      [proceeding, 5_000],
    ] as const) {
      fleet.nowMs = deadlineMs - 0.4;
      expect(fleet.group()).toMatchObject({ ready: false, reasons: [{ text: expect.any(String) }] });
      // The tick is due and has not come: the view of this moment still says why.
      fleet.nowMs = deadlineMs + 0.4;
      expect(fleet.group()).toMatchObject({ ready: false, reasons: [{ text: expect.any(String) }] });
      fleet.alive('a');
      expect(fleet.group()).toMatchObject({ ready: true, reasons: [] });
    }
  });

  it('G7: the routing mode is closed until the gate opens, and never claims a cache view that no index holds', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('a', 'b');
    fleet.report('a');
    expect(fleet.group().routingMode).toBe('closed');
    fleet.report('b');
    expect(fleet.group()).toMatchObject({
      routingMode: 'load_only',
      routingReason: 'the gate is open, and no cache view is held here',
    });
  });

  it('G7: it follows the cache views of the offered workers, and each change is logged once with its reason', () => {
    const fleet = agreedFleet();
    fleet.cacheViewChanged('a', 'none', 'its sidecar has no KV events');
    fleet.cacheViewChanged('a', 'partial', 'unknown before sequence 12');
    fleet.cacheViewChanged('b', 'exact');
    fleet.cacheViewChanged('b', 'exact');
    fleet.cacheViewChanged('c', 'exact');
    expect(fleet.member('a')).toMatchObject({
      cacheView: 'partial',
      cacheViewReason: 'unknown before sequence 12',
    });
    fleet.cacheViewChanged('a', 'exact', 'a reason that an exact cache view does not need');
    expect(fleet.member('a').cacheViewReason).toBe('');
    fleet.report('a', { instance: 'a-2' });
    fleet.cacheViewChanged('a', 'exact', '', 'a-1');
    expect(fleet.logs('routing_mode')).toEqual([
      'INFO Routing mode of "tiny" is now load_only: the gate is open, and no cache view is held here.',
      'INFO Routing mode of "tiny" is now mixed: not exact: a (partial: unknown before sequence 12), b (no cache view yet), c (no cache view yet).',
      'INFO Routing mode of "tiny" is now exact: the cache view of every offered worker is exact.',
      'INFO Routing mode of "tiny" is now mixed: not exact: a (no cache view yet).',
    ]);
    fleet.cacheViewChanged('a', 'exact', '', 'a-2');
    expect(fleet.group().routingMode).toBe('exact');
  });

  it('G7: a worker whose results contradict its cache view is doubted, with the numbers, until they agree or its engine or epoch ends', () => {
    const fleet = agreedFleet();
    const doubt = (target: string, reason: string, instanceId = `${target}-1`): void => {
      fleet.do({ type: 'doubt', target, instanceId, reason });
    };
    for (const target of ['a', 'b', 'c']) fleet.cacheViewChanged(target, 'exact');
    doubt('a', '5 of 5 requests');
    expect(fleet.member('a')).toMatchObject({
      cacheView: 'doubted',
      cacheViewReason: '5 of 5 requests',
      offer: 'full',
    });
    expect(fleet.group()).toMatchObject({
      routingMode: 'mixed',
      routingReason: 'not exact: a (doubted: 5 of 5 requests)',
    });
    // What is not known any more cannot be contradicted.
    fleet.cacheViewChanged('a', 'stale', 'a break');
    expect(fleet.member('a')).toMatchObject({ cacheView: 'stale', cacheViewReason: 'a break' });
    fleet.cacheViewChanged('a', 'partial', 'a gap');
    expect(fleet.member('a')).toMatchObject({
      cacheView: 'doubted',
      cacheViewReason: '5 of 5 requests (a gap)',
    });
    fleet.cacheViewChanged('a', 'exact');
    doubt('a', '', 'a-0');
    expect(fleet.member('a').cacheView).toBe('doubted');
    doubt('a', '');
    expect(fleet.group().routingMode).toBe('exact');
    doubt('b', '6 of 6 requests');
    fleet.report('b', { instance: 'b-2' });
    fleet.cacheViewChanged('b', 'exact', '', 'b-2');
    expect(fleet.member('b').cacheView).toBe('exact');
  });

  it('G7: a worker that is offered without cache knowledge keeps the mode from exact, and one that is not offered does not', () => {
    const differs = (mismatchedWorkers: 'quarantine' | 'load-only'): TestFleet => {
      const fleet = agreedFleet({ mismatchedWorkers });
      for (const target of ['a', 'b', 'c']) fleet.cacheViewChanged(target, 'exact');
      fleet.mismatched('c', 16);
      return fleet;
    };
    expect(differs('quarantine').group().routingMode).toBe('exact');
    expect(differs('load-only').group()).toMatchObject({
      routingMode: 'mixed',
      routingReason: 'not exact: c (offered without cache knowledge)',
    });
  });

  it('G7: without live events the mode is approximate, whatever the cache views', () => {
    const fleet = agreedFleet({ kvEvents: 'approximate' });
    expect(fleet.group()).toMatchObject({
      routingMode: 'approximate',
      routingReason: 'caches are guessed from what was sent where',
    });
    expect(fleet.logs('routing_mode')).toHaveLength(1);
  });

  it('G7: the reason names a bounded number of workers', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    const targets = Array.from({ length: 30 }, (_, index) => `w-${index + 10}`);
    fleet.list(...targets);
    for (const target of targets) fleet.report(target);
    fleet.cacheViewChanged('w-10', 'exact');
    expect(fleet.group().routingReason).toMatch(/w-20 \(no cache view yet\) and 19 more$/);
  });

  it('G7: a cache view that is reported again changes nothing visible', () => {
    const fleet = agreedFleet();
    fleet.cacheViewChanged('a', 'partial', 'a gap');
    const { version } = fleet.state;
    expect(fleet.cacheViewChanged('a', 'partial', 'a gap')).toEqual([]);
    expect(fleet.state.version).toBe(version);
  });
});
