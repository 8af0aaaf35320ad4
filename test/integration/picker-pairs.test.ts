import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PickerOptions } from '../../src/frontend/picker/picker.js';
import { OpenThings } from '../support/open-things.js';
import { metricSum, newPrompt, openPairStage, type PairStage, WORDS } from '../support/pair-stage.js';
import { RoutingSidecar } from '../support/routing-sidecar.js';
import { type PickerOverStage, pickerOverStage } from './support/picker-over-stage.js';

const open = new OpenThings();
afterEach(() => open.close());

interface Fleet extends PickerOverStage, PairStage {
  /** Before each decode worker. */
  readonly sidecars: ReadonlyMap<string, RoutingSidecar>;
}

async function openFleet(
  names: readonly string[],
  options: Partial<PickerOptions> = {},
  waitsForGate = true,
): Promise<Fleet> {
  const pairs = await openPairStage(names, open);
  const { stage } = pairs;
  const sidecars = new Map<string, RoutingSidecar>();
  for (const { name, engine } of stage.workers) {
    if (!name.startsWith('decode')) continue;
    const sidecar = await RoutingSidecar.start(engine.url);
    open.add(() => sidecar.stop());
    sidecars.set(name, sidecar);
  }
  const given = new Map([...sidecars].map(([name, { url }]) => [name, url]));
  const picker = await pickerOverStage(stage, given, open, options);
  if (waitsForGate) await vi.waitFor(() => expect(picker.catalogue().groups[0]?.isReady).toBe(true), 10_000);
  return { ...picker, ...pairs, sidecars };
}

const endpointOf = (url: string): string => new URL(url).host;
const prefillerOf = ({ stage }: Fleet, name: string): string => endpointOf(stage.worker(name).engine.url);

/** What counts at workers: for the router, and for the bounds of the picker. */
async function counted(fleet: Fleet): Promise<readonly number[]> {
  return [
    await metricSum(fleet, 'kv_accord_router_active_requests{'),
    await fleet.harness.metric('kv_accord_epp_reserved_requests'),
  ];
}

describe('a picker before prefill and decode workers', () => {
  it('names the decode worker as endpoint and the prefill worker in the header of the routing sidecar', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const answer = await fleet.ask({ prompt: newPrompt() });
    expect(answer.status).toBe(200);
    expect(answer.set).toMatchObject({
      'x-gateway-destination-endpoint': endpointOf(fleet.sidecars.get('decode-1')?.url ?? ''),
      'x-prefiller-host-port': prefillerOf(fleet, 'prefill-1'),
    });
    expect(JSON.parse(answer.text)).toMatchObject({ usage: { prompt_tokens: WORDS, completion_tokens: 4 } });
    expect(fleet.sidecars.get('decode-1')).toMatchObject({
      prefills: [prefillerOf(fleet, 'prefill-1')],
      decodes: 1,
    });
    expect(fleet.network.transfers).toBe(1);
    expect(await metricSum(fleet, 'kv_accord_pd_transferred_tokens_total')).toBe(WORDS);
    expect(await counted(fleet)).toEqual([0, 0]);
  });

  it('compares what the prefill engine found with what was predicted of it', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const text = newPrompt();
    await fleet.ask({ prompt: text });
    await vi.waitFor(async () => {
      const before = await metricSum(fleet, 'kv_accord_router_actual_cached_tokens_total');
      await fleet.ask({ prompt: `${text} ${newPrompt(WORDS)}` });
      expect((await metricSum(fleet, 'kv_accord_router_actual_cached_tokens_total')) - before).toBe(WORDS);
    }, 10_000);
    expect(await metricSum(fleet, 'kv_accord_router_predicted_cached_tokens_total')).toBe(
      await metricSum(fleet, 'kv_accord_router_actual_cached_tokens_total'),
    );
    expect(await metricSum(fleet, 'kv_accord_router_worker_doubted')).toBe(0);
  });

  it.each([
    ['is short', { prompt: newPrompt(20) }],
    ['cannot be split', { prompt: newPrompt(), n: 2 }],
  ])('names the decode worker alone where a request %s', async (_, body) => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const answer = await fleet.ask(body);
    expect(answer.status).toBe(200);
    expect(answer.set['x-prefiller-host-port']).toBeUndefined();
    expect(fleet.sidecars.get('decode-1')).toMatchObject({ prefills: [], decodes: 1 });
    expect(await counted(fleet)).toEqual([0, 0]);
  });

  it('lets no client say where the routing sidecar sends its prompt', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const foreign = {
      'x-prefiller-host-port': '203.0.113.9:80',
      'x-encoder-hosts-ports': '203.0.113.9:81',
      'x-data-parallel-host-port': '203.0.113.9:82',
      'x-kv-cache-source-host-port': '203.0.113.9:83',
    };
    const short = await fleet.ask({ prompt: newPrompt(20) }, { headers: foreign });
    expect([...short.removed].sort()).toEqual(Object.keys(foreign).sort());
    const split = await fleet.ask({ prompt: newPrompt() }, { headers: foreign });
    expect(split.set['x-prefiller-host-port']).toBe(prefillerOf(fleet, 'prefill-1'));
    expect(split.removed).not.toContain('x-prefiller-host-port');
    expect(fleet.sidecars.get('decode-1')?.prefills).toEqual([prefillerOf(fleet, 'prefill-1')]);
  });

  it('names further decode workers that go on from the same prefill worker, and no prefill worker', async () => {
    const fleet = await openFleet(['prefill-1', 'prefill-2', 'decode-1', 'decode-2', 'decode-3']);
    const { set } = await fleet.ask({ prompt: newPrompt() });
    const named = set['x-gateway-destination-endpoint']?.split(',') ?? [];
    const decoders = [...fleet.sidecars.values()].map(({ url }) => endpointOf(url));
    expect([...named].sort()).toEqual(decoders.sort());
  });

  it('counts the prompt as computed from the head of the answer on, and nothing once the client has left', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const gone = await fleet.ask(
      { prompt: newPrompt(), stream: true, max_tokens: 400 },
      { leaveAfterHead: true },
    );
    expect(gone.status).toBe(200);
    await vi.waitFor(async () => expect(await counted(fleet)).toEqual([0, 0]), 10_000);
  });

  it('answers 429 when all workers of one part have as many requests as they may', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1'], { maxRequestsPerWorker: 1 });
    const held = fleet.harness.open().head().body({ model: 'demo-model', prompt: newPrompt() });
    await held.until(2);
    expect(await counted(fleet)).toEqual([2, 2]);
    const refused = await fleet.ask({ prompt: newPrompt() });
    expect(refused.status).toBe(429);
    held.answerHead({ 'x-envoy-upstream-service-time': '1' });
    await held.until(3);
    // The prefill worker is free, and the decode worker is not.
    await vi.waitFor(async () => expect(await counted(fleet)).toEqual([1, 1]));
    const still = await fleet.ask({ prompt: newPrompt() });
    expect(still.status).toBe(429);
    expect(still.text).toContain('1 of 2 workers of demo-model have as many requests as they may');
    held.call.cancel();
    await vi.waitFor(async () => expect(await counted(fleet)).toEqual([0, 0]));
  });

  it('sets a pair aside whose requests fail, and ejects none of its workers', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    fleet.network.failure = 'NIXL compatibility hash mismatch';
    for (let at = 0; at < 3; at += 1) {
      const failed = await fleet.ask({ prompt: newPrompt() });
      expect(failed.status).toBe(500);
      expect(failed.set['x-prefiller-host-port']).toBeDefined();
    }
    const aside = 'kv_accord_pairs{group="demo-model",state="set_aside"}';
    await vi.waitFor(async () => expect(await metricSum(fleet, aside)).toBe(1));
    expect(await metricSum(fleet, 'kv_accord_router_worker_ejected')).toBe(0);
    expect(await fleet.harness.metric('kv_accord_epp_failures_total')).toBe(3);
    expect(await metricSum(fleet, 'kv_accord_pd_failed_transfers_total')).toBe(3);
    expect(fleet.lines.some(({ message }) => message.startsWith('The pair prefill-1'))).toBe(true);
    expect(await counted(fleet)).toEqual([0, 0]);
  });

  it('sees a stream that begins with an error in place of a token', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    fleet.network.failure = 'NIXL compatibility hash mismatch';
    const failed = await fleet.ask({ prompt: newPrompt(), stream: true });
    expect(failed.text).toMatch(/^data: \{"error"/);
    expect(await metricSum(fleet, 'kv_accord_pd_failed_transfers_total')).toBe(1);
    expect(await counted(fleet)).toEqual([0, 0]);
  });

  it('says which part is missing while the gate is shut', async () => {
    const fleet = await openFleet(['prefill-1'], {}, false);
    await vi.waitFor(async () => {
      const refused = await fleet.ask({ prompt: newPrompt() });
      expect(refused.status).toBe(503);
      expect(refused.text).toContain('Decode: no worker has reported.');
    }, 10_000);
  });
});
