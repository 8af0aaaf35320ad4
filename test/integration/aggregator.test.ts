import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/edge/platform/address.js';
import { systemClock } from '../../src/edge/platform/clock.js';
import { callUnary } from '../../src/edge/rpc/call-unary.js';
import type { RpcChannel } from '../../src/edge/rpc/channel.js';
import { readPeerReason } from '../../src/edge/rpc/errors.js';
import { FLEET_HEALTH } from '../../src/fleet/aggregator/aggregator.js';
import { HealthClient } from '../../src/gen/grpc/health/v1/health.js';
import type { WatchAgreementResponse } from '../../src/gen/kvaccord/v1/fleet.js';
import { AgreementState, FleetClient, MemberState } from '../../src/gen/kvaccord/v1/fleet.js';
import { AggregatorHarness } from '../support/aggregator-harness.js';
import { FakeSidecar } from '../support/fake-sidecar.js';
import { makeWireReport } from '../support/reports.js';

const open: { stop(): Promise<void> }[] = [];
const channels: RpcChannel[] = [];
const call = { clock: systemClock, timeoutMs: 5_000 };

afterEach(async () => {
  for (const channel of channels.splice(0)) channel.close();
  for (const thing of open.splice(0)) await thing.stop();
});

async function sidecar(
  name: string,
  sketch: Parameters<typeof makeWireReport>[1] = {},
): Promise<FakeSidecar> {
  const made = await FakeSidecar.start({ report: makeWireReport(name, sketch) });
  open.push(made);
  return made;
}

async function aggregator(
  workers: readonly FakeSidecar[],
  options: Parameters<typeof AggregatorHarness.start>[1] = {},
): Promise<AggregatorHarness> {
  const harness = await AggregatorHarness.start(
    workers.map(({ address }) => address),
    options,
  );
  // Before the sidecars, so that their end is not mistaken for a fault.
  open.unshift(harness);
  return harness;
}

function dial(harness: AggregatorHarness): RpcChannel {
  const channel = harness.dialer.dial(
    parseAddress(harness.grpc) as NonNullable<ReturnType<typeof parseAddress>>,
  );
  channels.push(channel);
  return channel;
}

describe('an aggregator over real sockets', () => {
  it('opens the gate when two workers agree, and says so over gRPC, health, HTTP and the log', async () => {
    const [a, b] = [await sidecar('a'), await sidecar('b')];
    const harness = await aggregator([a, b]);
    await harness.untilGate(true);

    const fleet = dial(harness).createClient(FleetClient);
    const { agreement } = await callUnary(fleet.getAgreement.bind(fleet), { group: '' }, call);
    expect(agreement).toMatchObject({
      group: 'tiny',
      state: AgreementState.AGREED,
      gateOpen: true,
      ready: true,
      contract: { tokensPerBlock: 32, isOverride: false },
    });
    const health = dial(harness).createClient(HealthClient);
    expect(await callUnary(health.check.bind(health), { service: FLEET_HEALTH }, call)).toEqual({
      status: 1,
    });
    expect((await fetch(`${harness.http}/readyz`)).status).toBe(200);
    expect((await fetch(`${harness.http}/startupz`)).status).toBe(200);
    const metrics = await (await fetch(`${harness.http}/metrics`)).text();
    expect(metrics).toContain('kv_accord_agreed_tokens_per_block{group="tiny"} 32');
    expect(metrics).toContain('kv_accord_gate_open{group="tiny"} 1');
    expect(harness.logger.lines.map(({ message }) => message)).toContain(
      'Auto-configured KV block size to 32 (from worker reports)',
    );
  });

  it('answers no with the reason everywhere while two workers disagree, and recovers by itself', async () => {
    const [a, b] = [await sidecar('a'), await sidecar('b', { size: 64 })];
    const harness = await aggregator([a, b]);
    await harness.untilView(({ groups }) => groups[0]?.state === 'conflict');

    const ready = await fetch(`${harness.http}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.text()).toContain('disagree on the KV block size');
    expect((await fetch(`${harness.http}/livez`)).status).toBe(200);
    expect((await fetch(`${harness.http}/startupz`)).status).toBe(503);
    const errors = harness.logger.lines.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    const metrics = await (await fetch(`${harness.http}/metrics`)).text();
    expect(metrics).toContain('kv_accord_not_ready_reasons{group="tiny",reason="conflict"} 1');

    b.setReport(makeWireReport('b', { size: 32, instance: 'b-2' }));
    await harness.untilGate(true);
    expect((await fetch(`${harness.http}/readyz`)).status).toBe(200);
  });

  it('counts a late joiner that differs, and takes its series back when it leaves', async () => {
    const [a, b] = [await sidecar('a'), await sidecar('b')];
    const harness = await aggregator([a, b]);
    await harness.untilGate(true);
    b.setReport(makeWireReport('b', { size: 64, instance: 'b-2' }));
    await harness.untilView(
      ({ groups }) => groups[0]?.members.some(({ state }) => state === 'dissenting') === true,
    );
    const metrics = await (await fetch(`${harness.http}/metrics`)).text();
    expect(metrics).toContain(
      `kv_router_block_size_mismatch_total{group="tiny",worker_id="b",worker="${b.address}",source="engine_metrics"} 1`,
    );
    harness.aggregator.fleet.runner.listed([{ target: a.address, address: a.address }]);
    await harness.untilView(({ groups }) => groups[0]?.members.length === 1);
    expect(await (await fetch(`${harness.http}/metrics`)).text()).not.toContain(b.address);
  });

  it('sends a watch the agreement immediately and at every change, and nothing in between', async () => {
    const a = await sidecar('a');
    const harness = await aggregator([a]);
    await harness.untilGate(true);
    const seen: WatchAgreementResponse[] = [];
    const stream = dial(harness).createClient(FleetClient).watchAgreement({ group: 'tiny' });
    const changed = new Promise<void>((resolve) => {
      stream.on('data', (message: WatchAgreementResponse) => {
        seen.push(message);
        if (seen.length === 1) {
          a.sendHeartbeat();
          a.setReport(makeWireReport('a', { revision: 2n }));
          a.setReport(makeWireReport('a', { size: 64, instance: 'a-2' }));
        }
        const { payload } = message;
        if (payload?.$case === 'agreement' && payload.value.epoch === 2n) resolve();
      });
    });
    stream.on('error', () => undefined); // the cancel below
    await changed;
    stream.cancel();
    const agreements = seen.map(({ payload }) =>
      payload?.$case === 'agreement' ? payload.value : undefined,
    );
    expect(agreements[0]?.contract?.tokensPerBlock).toBe(32);
    expect(agreements.at(-1)?.contract?.tokensPerBlock).toBe(64);
    const contents = agreements.map((agreement) =>
      JSON.stringify({ ...agreement, changedAt: 0 }, (_k, v) =>
        String(v) === '[object Object]' || Array.isArray(v) ? v : String(v),
      ),
    );
    expect(new Set(contents).size).toBe(contents.length);
  });

  it('lists workers with their reports page by page', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `worker-${String(index).padStart(2, '0')}`);
    const sidecars = await Promise.all(names.map((name) => sidecar(name)));
    for (const one of sidecars) {
      one.setReportSilently({
        ...one.report,
        warnings: Array.from({ length: 60 }, () => 'x'.repeat(1_600)),
      });
    }
    const harness = await aggregator(sidecars);
    await harness.untilGate(true);
    const fleet = dial(harness).createClient(FleetClient);
    const list = fleet.listWorkers.bind(fleet);
    const first = await callUnary(list, { group: '', pageToken: '' }, call);
    expect(first.workers.length).toBeLessThan(12);
    const second = await callUnary(list, { group: '', pageToken: first.nextPageToken }, call);
    expect(second.nextPageToken).toBe('');
    const all = [...first.workers, ...second.workers];
    expect(all.map(({ report }) => report?.workerId).sort()).toEqual(names);
    expect(all.every(({ member }) => member?.state === MemberState.CONFORMING)).toBe(true);
  });

  it('refuses an unknown model with NOT_FOUND and asks for a name when there are several', async () => {
    const [a, b] = [await sidecar('a', { model: 'llama' }), await sidecar('b', { model: 'qwen' })];
    const harness = await aggregator([a, b]);
    await harness.untilView(({ groups }) => groups.length === 2 && groups.every(({ gateOpen }) => gateOpen));
    const fleet = dial(harness).createClient(FleetClient);
    const ask = (group: string): Promise<unknown> =>
      callUnary(fleet.getAgreement.bind(fleet), { group }, call).catch((error: unknown) => error);
    const unknown = (await ask('mistral')) as Parameters<typeof readPeerReason>[0];
    expect(unknown).toMatchObject({ code: status.NOT_FOUND });
    expect(unknown.details).toContain('llama, qwen');
    expect(readPeerReason(unknown)?.reason).toBe('unknown_group');
    expect(await ask('')).toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it('keeps the gate open through a blip of all connections, and a dead worker only for the grace time', async () => {
    const [a, b] = [await sidecar('a'), await sidecar('b')];
    const harness = await aggregator([a, b], { graceMs: 500 });
    await harness.untilGate(true);
    const gates: boolean[] = [];
    harness.aggregator.fleet.runner.listen({
      onEffect: (effect) => {
        if (effect.type === 'gate') gates.push(effect.open);
      },
    });
    // Both may be back before a view shows that they were gone: they are asked themselves.
    const asked = [a.requests.length, b.requests.length];
    a.cutConnections();
    b.cutConnections();
    await a.until(() => a.requests.length > (asked[0] ?? 0));
    await b.until(() => b.requests.length > (asked[1] ?? 0));
    await harness.untilView(
      ({ groups }) => groups[0]?.members.every(({ state }) => state === 'conforming') === true,
    );
    await b.stop();
    await harness.untilView(
      ({ groups }) => groups[0]?.members.some(({ state }) => state === 'discovered') === true,
    );
    expect(gates).toEqual([]);
    expect(harness.aggregator.fleet.runner.view.groups[0]).toMatchObject({ gateOpen: true, ready: true });
  });

  it('starts nothing when a port is taken, and says which', async () => {
    const first = await aggregator([await sidecar('a')]);
    await expect(
      AggregatorHarness.start(['127.0.0.1:1'], {}, { httpListen: first.addresses?.http }),
    ).rejects.toThrow(/--http-listen/);
  });
});
