import { describe, expect, it } from 'vitest';
import type { AgreementEffect } from '../../../src/core/agreement/state/events.js';
import type { AgreementOptions } from '../../../src/core/agreement/state/options.js';
import type { ChannelAnswer, ChannelQuestion } from '../../../src/core/pairs/side-channels.js';
import { TestFleet } from '../../support/fleet.js';
import { bookOfTwo, type PairSketch, pairReport } from './pair-fleet.js';

const FLOAT16: PairSketch = { transfer: { dtype: 'float16', compatibility_hash: 'b'.repeat(64) } };
const REACHABLE: ChannelAnswer = { state: 'reachable' };

/** A fleet whose workers are named after their role: `prefill-0`, `decode-1`, `aggregated-0`. */
function fleetOf(
  workers: Readonly<Record<string, PairSketch | undefined>>,
  options: Partial<AgreementOptions> = {},
): TestFleet {
  const fleet = new TestFleet({ isStaticDiscovery: true, ...options });
  fleet.list(...Object.keys(workers));
  for (const [target, sketch] of Object.entries(workers))
    if (sketch !== undefined) say(fleet, target, sketch);
  return fleet;
}

function say(fleet: TestFleet, target: string, sketch: PairSketch = {}): AgreementEffect[] {
  const role = target.split('-')[0] as 'prefill' | 'decode' | 'aggregated';
  return fleet.do({ type: 'report', target, report: pairReport(target, role, sketch) });
}

function questionsIn(fleet: TestFleet): ChannelQuestion[] {
  return fleet.effects.flatMap((effect) => (effect.type === 'ask_channel' ? [effect.question] : []));
}

function answer(fleet: TestFleet, found: ChannelAnswer, at = -1): void {
  const question = questionsIn(fleet).at(at);
  if (question === undefined) throw new Error('nothing was asked');
  fleet.do({ type: 'channel_answer', group: 'tiny', question, answer: found });
}

describe('P1: block sizes of the two roles', () => {
  it('P1: each role agrees on its own, and a decode worker of another size is offered without cache knowledge', () => {
    const fleet = fleetOf({
      'prefill-0': { size: 32 },
      'prefill-1': { size: 32 },
      'decode-0': { size: 64, transfer: { tokens_per_block: 64 } },
    });
    expect(fleet.group()).toMatchObject({ state: 'agreed', ready: true, values: { tokens_per_block: 32 } });
    expect(fleet.member('prefill-0')).toMatchObject({ state: 'conforming', offer: 'full' });
    expect(fleet.member('decode-0')).toMatchObject({ state: 'conforming', offer: 'load_only' });
  });

  it('P1: decode workers of two sizes are a conflict before agreement, and the smaller part dissents after it', () => {
    const wide = { size: 64, transfer: { tokens_per_block: 64 } };
    const before = fleetOf({ 'prefill-0': {}, 'decode-0': {}, 'decode-1': wide });
    expect(before.group()).toMatchObject({ state: 'conflict', gateOpen: false });

    const after = fleetOf({ 'prefill-0': {}, 'decode-0': wide, 'decode-1': wide });
    after.list('prefill-0', 'decode-0', 'decode-1', 'decode-2');
    say(after, 'decode-2', {});
    expect(after.member('decode-2')).toMatchObject({ state: 'dissenting', offer: 'none' });
    expect(after.member('decode-2').reason).toMatch(
      /32, most decode workers of "tiny" have 64 .*--block-size 64/,
    );
  });

  it('P1: when most workers that compute prompts change their size, a new epoch begins, however many decode workers there are', () => {
    const fleet = fleetOf({ 'prefill-0': {}, 'decode-0': {}, 'decode-1': {}, 'decode-2': {} });
    say(fleet, 'prefill-0', { size: 16, instance: 'prefill-0-2', transfer: { tokens_per_block: 16 } });
    fleet.advance(2_000);
    expect(fleet.group()).toMatchObject({ epoch: 2, values: { tokens_per_block: 16 } });
  });

  it.each([
    ['nixl', 32, 64, 'can_pair'],
    ['nixl', 64, 32, 'cannot_pair'],
    ['nixl', 32, 48, 'cannot_pair'],
    ['sglang-nixl', 32, 64, 'cannot_pair'],
    ['lmcache', 32, 64, 'cannot_say'],
    ['lmcache', 32, 32, 'can_pair'],
  ])('P1: over %s, blocks of %i go into blocks of %i: %s', (connector, ours, theirs, state) => {
    const side = (tokens_per_block: number): PairSketch => ({ transfer: { connector, tokens_per_block } });
    expect(bookOfTwo(side(ours), side(theirs)).stateOf('prefill-0', 'decode-0')).toBe(state);
  });
});

describe('P2: when two workers can pair', () => {
  it('P2: with equal hashes, whatever else the engines say', () => {
    const book = bookOfTwo({ transfer: { attention_backend: 'FLASHINFER' } }, {});
    expect(book.verdict('prefill-0', 'decode-0')).toMatchObject({
      state: 'can_pair',
      reason: '',
      offered: true,
    });
  });

  it('P2: other hashes refuse each other, and the field that differs is named before the proof', () => {
    const verdict = bookOfTwo({}, FLOAT16).verdict('prefill-0', 'decode-0');
    expect(verdict).toMatchObject({ state: 'cannot_pair', offered: false });
    expect(verdict?.differences.map(({ field }) => field)).toEqual([
      'transfer.dtype',
      'transfer.compatibility_hash',
    ]);
    expect(verdict?.differences[0]).toEqual({
      field: 'transfer.dtype',
      prefillValue: 'bfloat16',
      decodeValue: 'float16',
      prefillOrigin: 'GET http://prefill-0:8000/server_info',
      decodeOrigin: 'GET http://decode-0:8000/server_info',
    });
    expect(verdict?.reason).toContain(
      'dtype: bfloat16 (prefill-0) against float16 (decode-0), from GET http://prefill-0:8000/server_info and GET http://decode-0:8000/server_info',
    );
  });

  it.each([
    ['connector', 'lmcache', 'transfer.connector'],
    ['dtype', 'float16', 'transfer.dtype'],
    ['kv_cache_dtype', 'fp8_e4m3', 'transfer.kv_cache_dtype'],
    ['layer_count', 5, 'transfer.layer_count'],
    ['kv_head_count', 4, 'transfer.kv_head_count'],
    ['head_size', 128, 'transfer.head_size'],
    ['block_layout', 'THD', 'transfer.block_layout'],
    ['mode', 'push', 'transfer.mode'],
    ['connector_version', '2', 'transfer.connector_version'],
  ] as const)('P2: without a hash another %s is a fault', (field, value, path) => {
    const side = { compatibility_hash: undefined, connector_version: '1' };
    const verdict = bookOfTwo({ transfer: side }, { transfer: { ...side, [field]: value } }).verdict(
      'prefill-0',
      'decode-0',
    );
    expect(verdict).toMatchObject({ state: 'cannot_pair', differences: [{ field: path }] });
  });

  it('P2: without a hash it is enough that nothing that is known differs', () => {
    const side = { compatibility_hash: undefined, layer_count: undefined, block_layout: undefined };
    expect(bookOfTwo({ transfer: side }, {}).stateOf('prefill-0', 'decode-0')).toBe('can_pair');
  });

  it('P2: a worker that was set up for the other role takes or hands out nothing', () => {
    const book = bookOfTwo({ transfer: { role: 'consumer' } }, { transfer: { role: 'consumer' } });
    expect(book.verdict('prefill-0', 'decode-0')).toMatchObject({
      state: 'cannot_pair',
      differences: [{ field: 'transfer.role' }],
    });
  });

  it('P2: numbers of tensor-parallel ranks divide one another', () => {
    const ranks = (tensor_parallel_size: number): PairSketch => ({ values: { tensor_parallel_size } });
    expect(bookOfTwo(ranks(2), ranks(4)).stateOf('prefill-0', 'decode-0')).toBe('can_pair');
    expect(bookOfTwo(ranks(2), ranks(3)).stateOf('prefill-0', 'decode-0')).toBe('cannot_pair');
  });

  it('P2: the side channel is checked from the decode side, once for each class of pairs and each instance', () => {
    const fleet = fleetOf({ 'prefill-0': {} }, { checksSideChannels: true });
    fleet.list('prefill-0', 'decode-0', 'decode-1', 'decode-2');
    say(fleet, 'decode-0');
    say(fleet, 'decode-1');
    expect(questionsIn(fleet)).toMatchObject([{ decodeTarget: 'decode-0', addresses: ['prefill-0:5600'] }]);
    expect(fleet.group()).toMatchObject({ gateOpen: false });
    say(fleet, 'decode-2', {});
    answer(fleet, REACHABLE);
    expect(fleet.group()).toMatchObject({ gateOpen: true, ready: true });
    say(fleet, 'prefill-0', { instance: 'prefill-0-2' });
    expect(questionsIn(fleet)).toHaveLength(2);
  });

  it('P2: the side channel of each data-parallel rank is checked: a request may go to any of them', () => {
    const channel = (rank: number, state: 'answered' | 'silent') =>
      ({ dataParallelRank: rank, address: `prefill-0:${5600 + rank}`, state, reason: '' }) as const;
    const book = bookOfTwo(
      { sideChannels: [channel(0, 'answered'), channel(1, 'answered')] },
      {},
      { isAsked: false },
    );
    const [question] = book.openQuestions('prefill-0');
    expect(question?.addresses).toEqual(['prefill-0:5600', 'prefill-0:5601']);
    const refused = {
      state: 'unreachable',
      reason: 'connection refused',
      address: 'prefill-0:5601',
    } as const;
    book.setChannel(
      'prefill-0',
      question?.prefillInstanceId ?? '',
      book.classOf('prefill-0', 'decode-0'),
      refused,
    );
    expect(book.verdict('prefill-0', 'decode-0')).toMatchObject({
      state: 'cannot_pair',
      reason: expect.stringContaining('prefill-0:5601 of prefill-0 cannot be reached'),
    });

    const dead = bookOfTwo(
      { sideChannels: [channel(0, 'answered'), channel(1, 'silent')] },
      {},
      { isAsked: false },
    );
    expect(dead.openQuestions('prefill-0')).toEqual([]);
    expect(dead.stateOf('prefill-0', 'decode-0')).toBe('cannot_pair');
  });

  it('P2: a side channel that cannot be reached, or that answers nothing, keeps the pair from requests', () => {
    const fleet = fleetOf({ 'prefill-0': {}, 'decode-0': {} }, { checksSideChannels: true });
    answer(fleet, { state: 'unreachable', reason: 'connection refused' });
    expect(fleet.group()).toMatchObject({ state: 'collecting', reasons: [{ code: 'no_pair' }] });
    expect(fleet.group().reasons[0]?.text).toMatch(
      /prefill-0:5600 of prefill-0 cannot be reached .*connection refused/,
    );
    answer(fleet, REACHABLE);
    expect(fleet.group()).toMatchObject({ gateOpen: true });

    const silent = {
      dataParallelRank: 0,
      address: 'prefill-0:5600',
      state: 'silent',
      reason: '5 s',
    } as const;
    const dead = bookOfTwo({ sideChannels: [silent] }, {});
    expect(dead.verdict('prefill-0', 'decode-0')).toMatchObject({
      state: 'cannot_pair',
      reason: expect.stringContaining('accepts connections and answers nothing'),
    });
  });
});

describe('P3: the gate of a model that splits requests', () => {
  it('P3: it opens when both roles have a worker and a pair can work, and names the role that is missing', () => {
    const fleet = fleetOf({ 'decode-0': {} });
    expect(fleet.group()).toMatchObject({ gateOpen: false, reasons: [{ code: 'waiting_for_role' }] });
    expect(fleet.group().reasons[0]?.text).toBe('prefill: no worker has reported');
    fleet.list('decode-0', 'prefill-0');
    say(fleet, 'prefill-0');
    expect(fleet.group()).toMatchObject({ gateOpen: true, ready: true, reasons: [] });
  });

  it('P3: workers of a role that cannot be used are counted and named', () => {
    const fleet = fleetOf(
      {
        'decode-0': {},
        'prefill-0': { unusable: 'its engine is starting' },
        'prefill-1': { draining: true },
      },
      { onMissing: 'proceed', collectTimeoutMs: 0 },
    );
    expect(fleet.group().reasons.map(({ text }) => text)).toContain(
      'prefill: 0 of 2 workers can be used: prefill-0 (its engine is starting), prefill-1',
    );
  });

  it('P3: when no pair can ever work it is a conflict, which names the field, and it is over by itself', () => {
    const fleet = fleetOf({ 'prefill-0': {}, 'decode-0': FLOAT16 });
    expect(fleet.group()).toMatchObject({
      state: 'conflict',
      gateOpen: false,
      reasons: [{ code: 'conflict' }],
    });
    const [error] = fleet.logs('conflict');
    expect(error).toMatch(/dtype: bfloat16 \(prefill-0\) against float16 \(decode-0\)/);
    expect(error).toMatch(/run prefill and decode workers with the same dtype\.$/);
    say(fleet, 'decode-0', { instance: 'decode-0-2' });
    expect(fleet.group()).toMatchObject({ state: 'agreed', ready: true });
    expect(fleet.logs('conflict_over')).toHaveLength(1);
  });

  it('P3: a role that is lost later takes the readiness, and the epoch goes on', () => {
    const fleet = fleetOf({ 'prefill-0': {}, 'decode-0': {} });
    say(fleet, 'prefill-0', { draining: true, revision: 2 });
    expect(fleet.group()).toMatchObject({
      gateOpen: true,
      ready: false,
      reasons: [{ code: 'waiting_for_role' }],
    });
  });

  it('P3: workers that serve whole requests need no pairs, and serve beside roles that have none', () => {
    const fleet = fleetOf({ 'aggregated-0': {}, 'decode-0': {} });
    expect(fleet.group()).toMatchObject({ gateOpen: true, ready: true });
    const mixed = fleetOf({ 'aggregated-0': {}, 'prefill-0': {}, 'decode-0': FLOAT16 });
    expect(mixed.group()).toMatchObject({ gateOpen: true, ready: true });
    expect(mixed.member('aggregated-0')).toMatchObject({ state: 'conforming', offer: 'full' });
    expect(mixed.member('decode-0')).toMatchObject({ state: 'dissenting', offer: 'none' });
  });
});

describe('P4: what is not known', () => {
  const SILENT: PairSketch = { transfer: 'none' };

  it('P4: "cannot say" is an answer of its own, with its reason', () => {
    expect(bookOfTwo(SILENT, {}).verdict('prefill-0', 'decode-0')).toMatchObject({
      state: 'cannot_say',
      differences: [],
      reason: expect.stringContaining('the prefill worker does not say how KV blocks are exchanged'),
    });
    expect(bookOfTwo({}, {}, { isAsked: false }).verdict('prefill-0', 'decode-0')).toMatchObject({
      state: 'cannot_say',
      reason: 'nobody has asked yet whether the side channel prefill-0:5600 can be reached',
    });
    const unsaid = { transfer: { compatibility_hash: undefined, dtype: 'auto' } };
    expect(bookOfTwo(unsaid, {}).verdict('prefill-0', 'decode-0')?.reason).toContain(
      'neither a compatibility hash nor transfer.dtype and transfer.kv_cache_dtype is known of both',
    );
  });

  it.each([
    ['require', 'unknown', false],
    ['require', 'differs', false],
    ['warn', 'unknown', true],
    ['warn', 'differs', false],
    ['report', 'unknown', true],
    ['report', 'differs', true],
  ] as const)('P4: --pair-policy %s offers a pair that is %s: %s', (policy, what, offered) => {
    const book = bookOfTwo({}, what === 'unknown' ? SILENT : FLOAT16, { policy });
    expect(book.mayUse('prefill-0', 'decode-0')).toBe(offered);
  });

  it('P4: with report the gate asks for no pairs, and with require it waits for one that is known to work', () => {
    expect(fleetOf({ 'decode-0': {} }, { pairPolicy: 'report' }).group()).toMatchObject({ ready: true });
    const fleet = fleetOf({ 'prefill-0': SILENT, 'decode-0': {} }, { pairPolicy: 'require' });
    expect(fleet.group()).toMatchObject({ gateOpen: false, reasons: [{ code: 'no_pair' }] });
  });
});

describe('P5: workers without a partner', () => {
  it('P5: they are dissenting, with the field, both values and their origins, and come back by themselves', () => {
    const fleet = fleetOf({ 'prefill-0': {}, 'decode-0': {} });
    fleet.list('prefill-0', 'decode-0', 'decode-1', 'decode-2');
    say(fleet, 'decode-1', FLOAT16);
    say(fleet, 'decode-2', FLOAT16);
    expect(fleet.member('decode-1')).toMatchObject({ state: 'dissenting', offer: 'none' });
    expect(fleet.member('decode-1').reason).toContain(
      'can take KV blocks from no prefill worker of "tiny": dtype: bfloat16 (prefill-0) against float16 (decode-1)',
    );
    // One line speaks for all that are alike.
    expect(fleet.logs('no_partner')).toHaveLength(1);
    expect(fleet.group()).toMatchObject({ ready: true });

    fleet.list('prefill-0', 'decode-0', 'decode-1', 'decode-2', 'prefill-1');
    say(fleet, 'prefill-1', FLOAT16);
    expect(fleet.member('decode-1')).toMatchObject({ state: 'conforming', offer: 'full' });
  });
});

describe('P6: pairs that fail in service', () => {
  const fail = (fleet: TestFleet): void => {
    const pairs = fleet.state.groups.get('tiny')?.pairs;
    const remark = pairs?.transferFailed('prefill-0', 'decode-0', 'it timed out', fleet.nowMs);
    if (remark !== undefined) {
      fleet.effects.push({ type: 'log', group: 'tiny', ...remark });
      fleet.do({ type: 'pairs_changed' });
    }
  };

  it('P6: three failures in a row set a pair aside with a WARN, and the others go on', () => {
    const fleet = fleetOf({ 'prefill-0': {}, 'decode-0': {}, 'decode-1': {} });
    const pairs = fleet.state.groups.get('tiny')?.pairs;
    fail(fleet);
    fail(fleet);
    pairs?.transferDone('prefill-0', 'decode-0', undefined);
    fail(fleet);
    fail(fleet);
    expect(pairs?.mayUse('prefill-0', 'decode-0')).toBe(true);
    fail(fleet);
    expect(pairs?.verdict('prefill-0', 'decode-0')).toMatchObject({ state: 'set_aside', offered: false });
    expect(fleet.logs('pair_set_aside')).toEqual([
      'WARN Pair prefill-0 → decode-0 is set aside for 30 s after 3 failed transfers in a row: it timed out. Others go on.',
    ]);
    expect(pairs?.mayUse('prefill-0', 'decode-1')).toBe(true);
    expect(fleet.group()).toMatchObject({ ready: true });
  });

  it('P6: a model stays ready while all its pairs are set aside: one worker serves each request', () => {
    const fleet = fleetOf({ 'prefill-0': {}, 'decode-0': {} });
    for (let nth = 0; nth < 3; nth += 1) fail(fleet);
    expect(fleet.state.groups.get('tiny')?.pairs.mayUse('prefill-0', 'decode-0')).toBe(false);
    expect(fleet.group()).toMatchObject({ gateOpen: true, ready: true });
  });

  it('P6: it is tried again after a pause, which doubles while the trial fails, and ends with one that goes well', () => {
    const fleet = fleetOf({ 'prefill-0': {}, 'decode-0': {} });
    const pairs = fleet.state.groups.get('tiny')?.pairs;
    for (let nth = 0; nth < 3; nth += 1) fail(fleet);
    fleet.advance(29_999);
    expect(pairs?.mayUse('prefill-0', 'decode-0')).toBe(false);
    fleet.advance(1);
    expect(pairs?.mayUse('prefill-0', 'decode-0')).toBe(true);
    fail(fleet);
    fleet.advance(59_999);
    expect(pairs?.mayUse('prefill-0', 'decode-0')).toBe(false);
    fleet.advance(1);
    expect(pairs?.mayUse('prefill-0', 'decode-0')).toBe(true);
    pairs?.transferDone('prefill-0', 'decode-0', undefined);
    fail(fleet);
    expect(pairs?.mayUse('prefill-0', 'decode-0')).toBe(true);
  });
});

describe('P8: what transfers take', () => {
  const NVLINK = { position: { node: 'node-1', fabrics: ['4fc1.1'] } };

  it('P8: a pair that is far slower than its class promises is named once', () => {
    const book = bookOfTwo(NVLINK, NVLINK);
    const remarks = Array.from({ length: 60 }, () =>
      book.transferDone('prefill-0', 'decode-0', { sizeBytes: 4_000_000, durationMs: 10 }),
    ).filter((remark) => remark !== undefined);
    expect(remarks).toMatchObject([
      {
        level: 'warn',
        code: 'pair_slow',
        message:
          'Pair prefill-0 → decode-0 is NVLink by topology and moved 0.4 GB/s in 50 transfers: is UCX using TCP?',
      },
    ]);
  });

  it('P8: what a link does now outranks what it did', () => {
    const book = bookOfTwo(NVLINK, NVLINK);
    for (let nth = 0; nth < 50; nth += 1)
      book.transferDone('prefill-0', 'decode-0', { sizeBytes: 1_048_576, durationMs: 1 });
    for (let nth = 0; nth < 100; nth += 1)
      book.transferDone('prefill-0', 'decode-0', { sizeBytes: 1_048_576, durationMs: 4 });
    expect(book.millisecondsPerMebibyte('prefill-0', 'decode-0')).toBeGreaterThan(3.9);
  });

  it.each([
    { sizeBytes: Number.NaN, durationMs: 1 },
    { sizeBytes: 1_048_576, durationMs: -1 },
    { sizeBytes: 1_048_576, durationMs: Number.POSITIVE_INFINITY },
    { sizeBytes: 100, durationMs: 50 },
  ])('P8: a transfer of $sizeBytes bytes in $durationMs ms says nothing of the rate', (transfer) => {
    const book = bookOfTwo({}, {});
    book.transferDone('prefill-0', 'decode-0', transfer);
    expect(book.transfersOf('prefill-0', 'decode-0')).toEqual({
      cost: undefined,
      transfers: 1,
      failedTransfers: 0,
    });
  });
});
