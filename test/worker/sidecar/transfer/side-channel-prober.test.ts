import { encode } from '@msgpack/msgpack';
import { afterEach, describe, expect, it } from 'vitest';
import type { FactFields } from '../../../../src/core/contract/evidence/facts.js';
import { resolveFacts } from '../../../../src/core/contract/evidence/resolve.js';
import { type Clock, systemClock } from '../../../../src/edge/platform/clock.js';
import {
  EngineKind,
  EvidenceSource,
  type SideChannel,
  SideChannel_State,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { loadZmqSockets } from '../../../../src/worker/kv-events/sockets/zmq-sockets.js';
import { MAX_ANSWER_BYTES } from '../../../../src/worker/sidecar/transfer/nixl-metadata.js';
import { SideChannelProber } from '../../../../src/worker/sidecar/transfer/side-channel-prober.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { closedPort, playSideChannel, RECORDED_QUESTION, recordedAnswer } from './recorded-side-channel.js';

const open = new OpenThings();
afterEach(() => open.close());

function channel(address: string, dataParallelRank = 0): SideChannel {
  return { dataParallelRank, address, state: SideChannel_State.NOT_ASKED, reason: 'not yet' };
}

function engine(channels: readonly SideChannel[], known: Partial<FactFields> = {}) {
  return {
    instanceId: 'i-1',
    kind: EngineKind.VLLM as EngineKind,
    model: 'tiny',
    httpBaseUrl: 'http://127.0.0.1:8000',
    known: {
      'transfer.connector': 'nixl',
      'engine.version': '0.32.0',
      'transfer.side_channels': channels,
      ...known,
    },
  };
}

function prober({ isOff = false, clock = systemClock }: { isOff?: boolean; clock?: Clock } = {}) {
  let loads = 0;
  const made = new SideChannelProber(
    { isOff },
    {
      clock,
      ownHosts: () => new Set(['localhost', '127.0.0.1', '::1', '10.0.0.7']),
      loadSockets: () => {
        loads += 1;
        return loadZmqSockets({ maxMessageBytes: MAX_ANSWER_BYTES }, { logger: new RecordingLogger() });
      },
    },
  );
  const learn = async (its: ReturnType<typeof engine>) => {
    const { facts, probes } = await made.learn(its, new AbortController().signal);
    const { fields, evidence } = resolveFacts(facts);
    return { fields, evidence, probes, text: JSON.stringify({ facts, probes }) };
  };
  return { learn, loads: () => loads };
}

describe('a side channel that answers as the recorded vLLM 0.32.0 did', () => {
  it('gives hash, engine id, layout, block size and backend, with evidence', async () => {
    const played = await playSideChannel(recordedAnswer('bfloat16'), open);
    const { fields, evidence, probes } = await prober().learn(engine([channel(played.address)]));
    expect(fields).toEqual({
      'transfer.side_channels': [
        { dataParallelRank: 0, address: played.address, state: SideChannel_State.ANSWERED, reason: '' },
      ],
      'transfer.compatibility_hash': expect.stringMatching(/^[0-9a-f]{64}$/),
      'transfer.engine_id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'transfer.block_layout': 'LBHNC',
      'transfer.attention_backend': 'CPU_ATTN',
      'transfer.tokens_per_block': 32,
    });
    expect(evidence.find(({ field }) => field === 'transfer.block_layout')).toMatchObject({
      source: EvidenceSource.ENGINE_RPC,
      origin: `NIXL side channel tcp://${played.address}`,
      raw: 'kv_cache_layout: "LBHNC"',
    });
    expect(probes).toMatchObject([{ probe: 'side-channel', answered: true, factCount: 6, error: '' }]);
  });

  it('is asked once for each engine start, in the one form that its listener takes', async () => {
    const played = await playSideChannel(recordedAnswer('bfloat16'), open);
    const { learn } = prober();
    const its = engine([channel(played.address)]);
    const first = await learn(its);
    expect((await learn(its)).text).toBe(first.text);
    expect(played.asked).toEqual([[Buffer.alloc(0), RECORDED_QUESTION]]);
    await learn({ ...its, instanceId: 'i-2' });
    expect(played.asked).toHaveLength(2);
  });

  it('keeps base addresses and what the agent says of itself', async () => {
    const played = await playSideChannel(recordedAnswer('bfloat16'), open);
    const { text } = await prober().learn(engine([channel(played.address)]));
    for (const secret of ['agent metadata', 'base_addr', '140268867153984'])
      expect(text).not.toContain(secret);
  });

  it('is one of several ranks, of which only what all say alike is taken', async () => {
    const one = await playSideChannel(recordedAnswer('bfloat16'), open);
    const two = await playSideChannel(recordedAnswer('float16'), open);
    const { fields } = await prober().learn(engine([channel(one.address), channel(two.address, 1)]));
    expect(fields['transfer.side_channels']).toMatchObject([
      { dataParallelRank: 0, state: SideChannel_State.ANSWERED },
      { dataParallelRank: 1, state: SideChannel_State.ANSWERED },
    ]);
    expect(fields['transfer.block_layout']).toBe('LBHNC');
    expect(fields['transfer.engine_id']).toBeUndefined();
    expect(fields['transfer.compatibility_hash']).toBeUndefined();
  });
});

describe('a side channel that does not answer as it should', () => {
  it('is silent, and is not asked a second time', async () => {
    const played = await playSideChannel(undefined, open);
    const { learn } = prober();
    const its = engine([channel(played.address)]);
    const { fields, probes } = await learn(its);
    expect(fields).toEqual({
      'transfer.side_channels': [
        {
          ...channel(played.address),
          state: SideChannel_State.SILENT,
          reason: 'no answer within 4000 ms: is its listener dead?',
        },
      ],
    });
    expect(probes).toMatchObject([{ answered: false, error: expect.stringContaining('no answer') }]);
    await learn(its);
    expect(played.asked).toHaveLength(1);
  }, 20_000);

  it('is unreachable, and is tried again when some time has passed', async () => {
    const port = await closedPort();
    const clock = new FakeClock();
    const { learn } = prober({ clock });
    const its = engine([channel(`127.0.0.1:${port}`)]);
    const stateOf = async () => (await learn(its)).fields['transfer.side_channels']?.[0];
    expect(await stateOf()).toMatchObject({
      state: SideChannel_State.UNREACHABLE,
      reason: expect.stringContaining('ECONNREFUSED'),
    });
    const played = await playSideChannel(recordedAnswer('bfloat16'), open);
    Object.assign(its.known, { 'transfer.side_channels': [channel(played.address)] });
    expect(await stateOf()).toMatchObject({ state: SideChannel_State.UNREACHABLE });
    await clock.advanceMs(31_000);
    expect(await stateOf()).toMatchObject({ state: SideChannel_State.ANSWERED });
  });

  it.each([
    ['another shape', [Buffer.alloc(0), encode([1, 2, 3])]],
    ['five frames', Array.from({ length: 5 }, () => Buffer.alloc(0))],
    ['bytes that are no msgpack', [Buffer.alloc(0), Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')]],
    ['one frame alone', [encode({ compatibility_hash: 'a' })]],
  ])('counts as silent with an answer of %s', async (_, answer) => {
    const played = await playSideChannel(answer, open);
    const { fields } = await prober().learn(engine([channel(played.address)]));
    expect(fields).toMatchObject({
      'transfer.side_channels': [
        { state: SideChannel_State.SILENT, reason: expect.stringContaining('its answer cannot be read') },
      ],
    });
    expect(Object.keys(fields)).toEqual(['transfer.side_channels']);
  });

  it('may send as much as it likes: more than 4 MiB is never taken in', async () => {
    const played = await playSideChannel([Buffer.alloc(0), Buffer.alloc(8 * 1024 * 1024)], open);
    const { fields } = await prober().learn(engine([channel(played.address)]));
    expect(fields['transfer.side_channels']).toMatchObject([{ state: SideChannel_State.SILENT }]);
    expect(played.asked).toHaveLength(1);
  }, 20_000);
});

describe('a side channel that is left alone', () => {
  const stateOf = async (its: ReturnType<typeof engine>, options = {}) => {
    const asking = prober(options);
    const { fields } = await asking.learn(its);
    expect(asking.loads()).toBe(0);
    return fields['transfer.side_channels']?.[0];
  };

  it.each([
    ['a version whose form is not known', { 'engine.version': '0.34.0' }, 'version 0.34.0 is not known here'],
    ['another connector', { 'transfer.connector': 'mooncake' }, 'the side channel of mooncake'],
  ] as const)('is that of %s, and the report says so', async (_, known, reason) => {
    expect(await stateOf(engine([channel('127.0.0.1:5600')], known))).toMatchObject({
      state: SideChannel_State.NOT_ASKED,
      reason: expect.stringContaining(reason),
    });
  });

  it('is every one with --transfer-probe off', async () => {
    expect(await stateOf(engine([channel('127.0.0.1:5600')]), { isOff: true })).toMatchObject({
      state: SideChannel_State.NOT_ASKED,
      reason: '--transfer-probe is off',
    });
  });

  it.each([
    ['on another machine', '10.0.0.8:5600', 'http://127.0.0.1:8000'],
    ['on the loopback of an engine that is elsewhere', '127.0.0.1:5600', 'http://10.0.0.8:8000'],
    ['under a name that is not this machine', 'prefill-0.example:5600', 'http://10.0.0.7:8000'],
  ])('is one %s', async (_, address, httpBaseUrl) => {
    expect(await stateOf({ ...engine([channel(address)]), httpBaseUrl })).toMatchObject({
      state: SideChannel_State.NOT_ASKED,
      reason: expect.stringContaining('not on this machine'),
    });
  });

  it.each([
    [
      'whose version is not known yet',
      engine([channel('127.0.0.1:5600')], { 'engine.version': undefined as never }),
    ],
    [
      'whose connector is not known yet',
      engine([channel('127.0.0.1:5600')], { 'transfer.connector': undefined as never }),
    ],
    ['without an address', engine([])],
    ['of another kind', { ...engine([channel('127.0.0.1:8998')]), kind: EngineKind.SGLANG }],
  ])('is that of an engine %s', async (_, its) => {
    expect(await stateOf(its)).toBeUndefined();
  });
});
