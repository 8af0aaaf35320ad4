import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, expect, it } from 'vitest';
import type { AgreementEvent } from '../../src/core/agreement/state/events.js';
import { ProbeBoard } from '../../src/edge/http/probe-board.js';
import { type Address, parseAddress } from '../../src/edge/platform/address.js';
import { sleep, systemClock } from '../../src/edge/platform/clock.js';
import { seededRandom } from '../../src/edge/platform/random.js';
import { baseUrlOf, buildCatalogue, type Catalogue } from '../../src/fleet/catalogue/catalogue.js';
import { FleetIndexing, type FleetIndexingModules } from '../../src/fleet/indexer/fleet-indexing.js';
import { FleetRouter } from '../../src/fleet/router/fleet-router.js';
import { Gateway } from '../../src/frontend/gateway/gateway.js';
import { WorkerProxy } from '../../src/frontend/proxy/worker-proxy.js';
import { makeReport, type ReportSketch, TestFleet } from '../support/fleet.js';
import { OpenThings } from '../support/open-things.js';
import { RecordingLogger } from '../support/recording-logger.js';

const open = new OpenThings();
afterEach(() => open.close());

/** Draws the same again for the same seed. */
class Dice {
  readonly #draw: () => number;

  constructor(seed: number) {
    this.#draw = seededRandom(seed).fraction;
  }

  below(count: number): number {
    return Math.floor(this.#draw() * count);
  }

  one<T>(...items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

/** An engine that answers well, streams, stalls, refuses, or leaves in the middle. */
async function startEngine(dice: Dice): Promise<string> {
  const answer = async (_request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const what = dice.one('json', 'stream', 'stream', 'stream', 'refuse', 'break', 'gone', 'slow');
    if (what === 'gone') return void response.destroy();
    if (what === 'refuse') return void response.writeHead(503).end('busy');
    if (what === 'slow') await sleep(systemClock, dice.below(30));
    if (what === 'json' || what === 'slow')
      return void response.end('{"usage":{"prompt_tokens":64,"prompt_tokens_details":{"cached_tokens":32}}}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let count = dice.below(40); count > 0 && !response.destroyed; count -= 1) {
      response.write(`data: {"choices":[{"delta":{"content":"${'x'.repeat(dice.below(2_000))}"}}]}\n\n`);
      if (dice.below(4) === 0) await sleep(systemClock, dice.below(5));
      if (what === 'break' && dice.below(5) === 0) return void response.destroy();
    }
    response.end('data: [DONE]\n\n');
  };
  const server = createServer((incoming, response) => {
    incoming.resume().once('end', () => void answer(incoming, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The frontend's parts over a fleet that the test drives by hand. */
class Frontend {
  readonly fleet = new TestFleet({ isStaticDiscovery: true, kvEvents: 'approximate' });
  readonly logger = new RecordingLogger();
  readonly registry = new Registry();
  readonly gateway: Gateway;
  readonly #proxy: WorkerProxy;
  readonly #routing: FleetRouter;
  readonly #indexing: FleetIndexing;
  #catalogue: Catalogue = { models: [], groups: [], reasons: [] };
  #revision = 0;

  constructor() {
    const { fleet, logger, registry } = this;
    const clock = systemClock;
    const random = { fraction: seededRandom(1).fraction, uniqueId: () => 'id' };
    const modules = { clock, logger, registry, random, edge: {} as FleetIndexingModules['edge'] };
    this.#indexing = new FleetIndexing(
      { approximate: { ttlMs: 120_000, maxBlocks: 1_000, pruneTargetRatio: 0.5 } },
      {
        ...modules,
        turns: { soon: (run) => clock.setTimer(0, run) },
        fleet: {
          view: fleet.view(),
          reportOf: () => undefined,
          reported: () => true,
          cacheViewChanged: () => undefined,
          mismatchedEvents: () => undefined,
        },
      },
    );
    const weights = { overlapScoreWeight: 1, hostCacheHitWeight: 0.75, diskCacheHitWeight: 0.25 };
    this.#routing = new FleetRouter(
      { mode: 'kv', temperature: 0.5, weights, decisionLog: 'none' },
      {
        ...modules,
        indexes: this.#indexing,
        fleet: {
          get view() {
            return fleet.view();
          },
          doubted: () => undefined,
          ejected: () => undefined,
        },
        isReachable: (member) => baseUrlOf(member, new Map()) !== undefined,
      },
    );
    this.#proxy = new WorkerProxy({}, { clock, logger });
    this.gateway = new Gateway(
      {
        listen: parseAddress('127.0.0.1:0') as Address,
        listenField: '--http-port',
        wantsTokens: true,
        bodyLimitBytes: 1024 * 1024,
        maxConnections: 256,
        corsOrigins: [],
      },
      {
        ...modules,
        catalogue: () => this.#catalogue,
        routing: this.#routing,
        proxy: this.#proxy,
        probes: new ProbeBoard(),
        engines: { get: () => Promise.resolve(undefined) },
        tokens: {
          // As an engine would be asked: not immediately.
          tokensOf: async ({ body }) => {
            await sleep(clock, 1);
            return { tokens: Uint32Array.from({ length: 100 }, (_, at) => at + Number(body['seed'])) };
          },
          close: async () => undefined,
        },
      },
    );
    open.add(async () => {
      await this.gateway.drain(0);
      await this.#proxy.close(0);
      await this.#routing.close();
      await this.#indexing.close();
    });
  }

  do(event: AgreementEvent): void {
    for (const effect of this.fleet.do(event))
      for (const part of [this.#indexing, this.#routing]) part.onEffect(effect);
    const view = this.fleet.view();
    for (const part of [this.#indexing, this.#routing]) part.onView(view);
    this.#catalogue = buildCatalogue(view, new Map());
    const urls = this.#catalogue.groups.flatMap(({ workers }) =>
      workers.flatMap(({ baseUrl }) => baseUrl ?? []),
    );
    this.#proxy.setWorkers(new Set(urls));
  }

  list(...targets: string[]): void {
    this.do({ type: 'listed', members: targets.map((target) => ({ target, draining: false })) });
  }

  report(target: string, sketch: ReportSketch): void {
    this.#revision += 1;
    this.do({ type: 'report', target, report: makeReport(target, { ...sketch, revision: this.#revision }) });
  }

  /** What the router and the proxy still hold of requests. */
  async held(): Promise<{ active: number[]; running: number }> {
    const text = await this.registry.metrics();
    const active = [...text.matchAll(/^kv_accord_router_active_\w+\{.*\} (.+)$/gm)].map(([, n]) => Number(n));
    return { active: active.filter((n) => n !== 0), running: this.#proxy.running };
  }
}

/** One client, which may leave at any moment. Resolves when nothing of it is left. */
function ask(port: number, dice: Dice): Promise<void> {
  return new Promise((resolve) => {
    const body = JSON.stringify({ model: 'tiny', messages: [], stream: true, seed: dice.below(3) });
    const call = request({ port, method: 'POST', path: '/v1/chat/completions', agent: false }, (response) => {
      response.on('data', () => {
        if (leavesAfter === 'piece' && dice.below(10) === 0) call.destroy();
      });
      response.on('error', () => undefined);
    });
    const leavesAfter = dice.one('never', 'never', 'piece', 'time', 'half');
    call.on('error', () => undefined);
    call.once('close', resolve);
    if (leavesAfter === 'time') void sleep(systemClock, dice.below(20)).then(() => call.destroy());
    call.setHeader('content-length', Buffer.byteLength(body));
    if (leavesAfter === 'half') call.write(body.slice(0, 20), () => call.destroy());
    else call.end(body);
  });
}

it.each([1, 2, 3])(
  'holds nothing of any request while its fleet changes under it (seed %i)',
  async (seed) => {
    const dice = new Dice(seed);
    const targets = ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3'];
    const urls = new Map<string, string>();
    for (const target of targets) urls.set(target, await startEngine(dice));
    const frontend = new Frontend();
    const address = await frontend.gateway.start();
    const port = address.type === 'tcp' ? address.port : 0;
    const report = (target: string, sketch: ReportSketch = {}): void =>
      frontend.report(target, { serving: { httpUrls: [urls.get(target) ?? ''] }, ...sketch });
    frontend.list(...targets);
    for (const target of targets) report(target);
    const clients: Promise<void>[] = [];
    for (let step = 0; step < 150; step += 1) {
      clients.push(ask(port, dice));
      const target = dice.one(...targets);
      switch (dice.below(12)) {
        case 0:
          frontend.list(...targets.filter((each) => each !== target));
          break;
        case 1:
          frontend.list(...targets);
          report(target, { instance: `${target}-${step}` });
          break;
        case 2:
          if (frontend.fleet.state.members.has(target)) report(target, { draining: true });
          break;
        case 3:
          for (const each of targets)
            if (frontend.fleet.state.members.has(each)) report(each, { size: dice.one(16, 32) });
          break;
        case 4:
          frontend.fleet.advance(60_000);
          frontend.do({ type: 'tick' });
          break;
        default:
          await sleep(systemClock, dice.below(8));
      }
      if (dice.below(5) === 0) {
        frontend.list(...targets);
        for (const each of targets) report(each);
      }
    }
    await Promise.all(clients);
    await expect.poll(() => frontend.held()).toEqual({ active: [], running: 0 });
    expect(frontend.logger.messages('error')).toEqual([]);
    const metrics = await frontend.registry.getSingleMetricAsString('kv_accord_frontend_requests_total');
    const statuses = new Set([...metrics.matchAll(/status="(\d+)"/g)].map(([, status]) => status));
    expect([...statuses].filter((status) => !['200', '499', '502', '503'].includes(status ?? ''))).toEqual(
      [],
    );
    expect(statuses).toContain('200');
  },
);
