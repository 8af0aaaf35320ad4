import { afterEach, describe, expect, it } from 'vitest';
import type { ViewDocument } from '../../src/core/view/view-document.js';
import type { SubscribeResponse } from '../../src/gen/kvaccord/v1/kv_events.js';
import { ViewClient } from '../support/event-source.js';
import type { FakeSidecar } from '../support/fake-sidecar.js';
import { say } from '../support/kv-events.js';
import { OpenThings } from '../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

function holder(name: string, hashes: readonly number[]): Promise<FakeSidecar> {
  const kvEvents = (): SubscribeResponse[] => [
    say.start({ instance: `${name}-1` }),
    say.part(hashes),
    say.end(),
  ];
  return open.sidecar(name, {}, { kvEvents });
}

function cellOf(row: readonly number[] | undefined, at: number): number {
  return row?.[at] ?? 0;
}

describe('the view of an aggregator, over real sockets', () => {
  it('shows models, workers, what caches hold and what happened, whole and then in changes', async () => {
    const [a, b] = [await holder('w-1', [1, 2, 3]), await holder('w-2', [1, 8])];
    const harness = await open.aggregator([a, b]);
    await harness.untilGate(true);
    const client = await ViewClient.open(`${harness.http}/api/v1/view/events`);
    open.add(() => client.close());
    await client.until(({ holdings }) => holdings.length === 2);
    const { models, workers, holdings, timeline, headline, process } = client.document as ViewDocument;
    expect(models).toMatchObject([
      { group: 'tiny', isGateOpen: true, isReady: true, tokensPerBlock: 32, memberCount: 2, keptOutCount: 0 },
    ]);
    expect(headline.text).toContain('gate open, 32 tokens per block');
    expect(process).toMatchObject({ title: 'kv-accord aggregator', routes: true });
    expect(workers.map(({ workerId }) => workerId).sort()).toEqual(['w-1', 'w-2']);
    const blocks = new Map(holdings.map((row) => [cellOf(row, 0), cellOf(row, 1)]));
    const first = workers.find(({ workerId }) => workerId === 'w-1');
    expect(blocks.get(first?.id ?? -1)).toBe(3);
    expect(timeline.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['process_started', 'joined', 'epoch', 'gate_open']),
    );

    const route = await harness.routing.route({
      group: 'tiny',
      tokens: new Uint32Array(64),
      loraName: '',
      cacheSalt: '',
      excluded: [],
    });
    route.prefillDone();
    route.release({ promptTokens: 64, cachedTokens: 0, outputTokens: 5 });
    await client.until(({ decisions }) => decisions[0]?.isOver === true);
    const { decisions, routing, loads } = client.document as ViewDocument;
    expect(decisions).toMatchObject([
      {
        group: 'tiny',
        promptTokens: 64,
        cachedBlocks: 0,
        outputTokens: 5,
        turn: 'first',
        why: 'lowest cost: no cache holds a prefix',
        candidateCount: 2,
      },
    ]);
    expect(decisions[0]?.candidates.map(({ isChosen }) => isChosen).sort()).toEqual([false, true]);
    expect(routing[0]?.buckets.at(-1)).toMatchObject({ decisions: 1, finished: 1, promptTokens: 64 });
    expect(loads.map((row) => cellOf(row, 4))).toEqual([1]);
  });

  it('sends the whole as plain JSON too, one worker with its report, and hosts with their devices', async () => {
    const a = await holder('w-1', [1]);
    const harness = await open.aggregator([a]);
    await harness.untilGate(true);
    const document = (await (await fetch(`${harness.http}/api/v1/view`)).json()) as ViewDocument;
    const [worker] = document.workers;
    const one = await (await fetch(`${harness.http}/api/v1/view/workers/${worker?.id}`)).json();
    expect(one).toMatchObject({ worker: { workerId: 'w-1' }, report: { workerId: 'w-1' }, results: [] });
    const hosts = await (await fetch(`${harness.http}/api/v1/view/topology`)).json();
    expect(hosts).toMatchObject({ hosts: [{ workers: [{ id: worker?.id, gpus: [] }] }] });
    expect((await fetch(`${harness.http}/api/v1/view/workers/999`)).status).toBe(404);
    expect((await fetch(`${harness.http}/api/v1/view/topology?from=x`)).status).toBe(400);
  });

  it('answers a reader that comes when 64 others are there with why, and when to ask instead', async () => {
    const harness = await open.aggregator([await holder('w-1', [1])]);
    const url = `${harness.http}/api/v1/view/events`;
    const clients = await Promise.all(Array.from({ length: 64 }, () => ViewClient.open(url)));
    for (const client of clients) open.add(() => client.close());
    const refused = await fetch(url);
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(await refused.json()).toMatchObject({ error: { reason: 'too_many_streams' } });
  });

  it('has an ejection on the timeline as it happens, the worker as the worst, and an amber headline', async () => {
    const [a, b] = [await holder('w-1', [1]), await holder('w-2', [2])];
    const harness = await open.aggregator([a, b]);
    await harness.untilGate(true);
    const client = await ViewClient.open(`${harness.http}/api/v1/view/events`);
    open.add(() => client.close());
    await client.until(({ models }) => models[0]?.isReady === true);
    for (let at = 0; at < 3; at += 1) {
      const route = await harness.routing.route({
        group: 'tiny',
        tokens: undefined,
        loraName: '',
        cacheSalt: '',
        excluded: [b.address],
      });
      route.failed({ kind: 'closed', detail: '' });
      route.release();
    }
    await client.until(({ workers }) => workers.some(({ shown }) => shown === 'ejected'));
    await client.until(({ timeline }) => timeline.some(({ kind }) => kind === 'ejected'));
    const { timeline, workers, headline, decisions } = client.document as ViewDocument;
    const entry = timeline.find(({ kind }) => kind === 'ejected');
    expect(entry).toMatchObject({ tone: 'bad', group: 'tiny', worker: expect.stringContaining('w-1') });
    expect(entry?.todo).not.toBe('');
    expect(entry?.workerNumber).toBe(workers.find(({ shown }) => shown === 'ejected')?.id);
    expect(headline.tone).toBe('warn');
    expect(decisions.at(-1)).toMatchObject({ failure: 'closed' });
  });

  it('ends its streams with a word when the process stops', async () => {
    const harness = await open.aggregator([await holder('w-1', [1])]);
    const client = await ViewClient.open(`${harness.http}/api/v1/view/events`);
    await client.until(() => true);
    await harness.stop();
    await client.until(() => client.events.at(-1)?.name === 'end');
  });
});
