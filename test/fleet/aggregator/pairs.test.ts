import { afterEach, describe, expect, it } from 'vitest';
import { renderPairs } from '../../../src/cli/commands/status/pairs-table.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { callUnary } from '../../../src/edge/rpc/call-unary.js';
import {
  FleetClient,
  type ListPairsRequest,
  type ListPairsResponse,
  type PairChanges,
  PairClass,
  PairState,
} from '../../../src/gen/kvaccord/v1/fleet.js';
import { AggregatorHarness } from '../../support/aggregator-harness.js';
import { Changes } from '../../support/changes.js';
import { FakeSidecar } from '../../support/fake-sidecar.js';
import { PAIR_ORIGIN, type PairReportSketch, pairWireReport } from '../../support/pair-reports.js';

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function sidecarOf(
  name: string,
  sketch: PairReportSketch = {},
  found: string | null | ((address: string) => string) = '',
): Promise<FakeSidecar> {
  const sidecar = await FakeSidecar.start({
    report: pairWireReport(name, sketch),
    ...(found === null ? {} : { checkSideChannel: typeof found === 'string' ? () => found : found }),
  });
  opened.push(() => sidecar.stop());
  return sidecar;
}

async function aggregatorOver(...sidecars: readonly FakeSidecar[]): Promise<AggregatorHarness> {
  const harness = await AggregatorHarness.start(
    sidecars.map(({ address }) => address),
    { checksSideChannels: true },
  );
  opened.push(() => harness.stop());
  return harness;
}

async function list(
  harness: AggregatorHarness,
  request: Partial<ListPairsRequest> = {},
): Promise<ListPairsResponse> {
  const channel = harness.dialer.dial(harness.addresses?.grpc ?? { type: 'unix', path: '', text: '' });
  try {
    await channel.waitForReady(new AbortController().signal);
    const client = channel.createClient(FleetClient);
    const whole = { group: '', prefillTarget: '', decodeTarget: '', pageToken: '', ...request };
    return await callUnary(client.listPairs.bind(client), whole, { clock: systemClock, timeoutMs: 5_000 });
  } finally {
    channel.close();
  }
}

describe('the pairs of an aggregator', () => {
  it('are judged by reports and by what the decode side reaches, before any request', async () => {
    const prefill = await sidecarOf('prefill-0');
    const decode = await sidecarOf('decode-0');
    const other = await sidecarOf('decode-1', { dtype: 'float16' });
    const harness = await aggregatorOver(prefill, decode, other);
    await harness.untilView(
      ({ groups }) => groups[0]?.members.some(({ state }) => state === 'dissenting') === true,
    );
    const { pairs, counts } = await list(harness);
    expect(counts).toEqual({ canPair: 1n, cannotSay: 0n, cannotPair: 1n, setAside: 0n });
    const byDecode = new Map(pairs.map((pair) => [pair.decode?.workerId, pair]));
    expect(byDecode.get('decode-0')).toMatchObject({
      group: 'tiny',
      state: PairState.CAN_PAIR,
      class: PairClass.SAME_ZONE,
      classEvidence: 'zone eu-1a',
      reason: '',
      offered: true,
      retryAfterSeconds: undefined,
    });
    expect(byDecode.get('decode-1')).toMatchObject({
      state: PairState.CANNOT_PAIR,
      offered: false,
      differences: [
        {
          field: 'transfer.dtype',
          prefillValue: 'bfloat16',
          decodeValue: 'float16',
          prefillOrigin: PAIR_ORIGIN,
          decodeOrigin: PAIR_ORIGIN,
        },
        { field: 'transfer.compatibility_hash' },
      ],
    });
    expect((await list(harness, { decodeTarget: other.address })).pairs).toHaveLength(1);
    expect(renderPairs({ pairs, counts })).toMatch(
      /cannot_pair, same_zone[\s\S]*1 can pair, 0 cannot be said, 1 cannot pair/,
    );
  });

  it('wait for a side channel that cannot be reached, and for no sidecar that cannot be asked', async () => {
    const prefill = await sidecarOf('prefill-0');
    const decode = await sidecarOf('decode-0', {}, 'connection refused');
    const shut = await aggregatorOver(prefill, decode);
    await shut.untilView(
      ({ groups }) => groups[0]?.reasons.some(({ text }) => text.includes('connection refused')) === true,
    );
    expect((await list(shut)).pairs).toMatchObject([{ state: PairState.CANNOT_PAIR, offered: false }]);

    const older = await sidecarOf('decode-1', {}, null);
    const open = await aggregatorOver(prefill, older);
    await open.untilGate(true);
    expect((await list(open)).pairs).toMatchObject([
      {
        state: PairState.CANNOT_SAY,
        offered: true,
        reason: expect.stringContaining('is older than this question'),
      },
    ]);
  });

  it('are asked about the side channel of each rank, until one cannot be reached', async () => {
    const asked: string[] = [];
    const prefill = await sidecarOf('prefill-0', { ranks: 4 });
    const decode = await sidecarOf('decode-0', {}, (address) => {
      asked.push(address);
      return address.endsWith(':5602') ? 'connection refused' : '';
    });
    const harness = await aggregatorOver(prefill, decode);
    await harness.untilView(
      ({ groups }) => groups[0]?.reasons.some(({ text }) => text.includes('connection refused')) === true,
    );
    expect(asked).toEqual(['10.0.0.1:5600', '10.0.0.1:5601', '10.0.0.1:5602']);
    expect((await list(harness)).pairs).toMatchObject([
      {
        state: PairState.CANNOT_PAIR,
        reason: expect.stringMatching(/the side channel 10.0.0.1:5602 of prefill-0 .*cannot be reached/),
      },
    ]);
  });

  it('refuse a page token that they did not give', async () => {
    const harness = await aggregatorOver(await sidecarOf('prefill-0'));
    await expect(list(harness, { pageToken: 'x' })).rejects.toThrow(
      /page_token is not one that this service gave/,
    );
  });

  it('are watched: all of them, then what changed, and who left', async () => {
    const prefill = await sidecarOf('prefill-0');
    const decode = await sidecarOf('decode-0');
    const harness = await aggregatorOver(prefill, decode);
    await harness.untilGate(true);
    const channel = harness.dialer.dial(harness.addresses?.grpc ?? { type: 'unix', path: '', text: '' });
    opened.push(async () => channel.close());
    await channel.waitForReady(new AbortController().signal);
    const seen: PairChanges[] = [];
    const changes = new Changes();
    const stream = channel.createClient(FleetClient).watchPairs({ group: 'tiny' });
    stream.on('error', () => undefined);
    stream.on('data', ({ payload }: { payload?: { $case: string; value: PairChanges } }) => {
      if (payload?.$case === 'changes') seen.push(payload.value);
      changes.notify();
    });
    await changes.until(() => seen.some(({ isComplete }) => isComplete));
    expect(seen[0]).toMatchObject({
      isSnapshot: true,
      changed: [{ state: PairState.CAN_PAIR, offered: true }],
    });
    seen.length = 0;
    const { runner } = harness.aggregator.fleet;
    for (let nth = 0; nth < 3; nth += 1)
      runner.transferFailed('tiny', prefill.address, decode.address, 'it timed out');
    await changes.until(() => seen.length > 0);
    expect(seen.at(-1)?.changed).toMatchObject([
      { state: PairState.SET_ASIDE, failedTransfers: 3n, offered: false },
    ]);
    const { pairs } = await list(harness);
    for (const { retryAfterSeconds = 0 } of [...(seen.at(-1)?.changed ?? []), ...pairs]) {
      expect(retryAfterSeconds).toBeGreaterThan(0);
      expect(retryAfterSeconds).toBeLessThanOrEqual(30);
    }
    expect(harness.logger.messages().join('\n')).toContain(
      'is set aside for 30 s after 3 failed transfers in a row: it timed out',
    );
    stream.cancel();
  });
});
