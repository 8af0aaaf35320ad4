import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeSidecar } from '../support/fake-sidecar.js';
import { POOL, type PoolSketch, startPoolApi } from '../support/pool-api.js';
import { makeWireReport } from '../support/reports.js';
import { type Envoy, startEnvoy } from './support/envoy.js';
import { forThisTest } from './support/for-this-test.js';
import { probe, type Served, startEppWith } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { scratchFolder } from './support/scratch.js';
import { until } from './support/until.js';

const MODEL = 'tiny';
const SIDECAR_PORT = 50_061;
const HEARTBEAT_MS = 5_000;
/** So many requests must leave nothing reserved. */
const REQUESTS = Number(process.env['KV_ACCORD_EPP_REQUESTS'] ?? 2_000);

/** Addresses of the loopback that this file has for itself. */
const HOSTS = ['127.0.41.1', '127.0.41.2'] as const;

/** An engine that a test plays. */
class Engine {
  /** `x-data-parallel-rank` of each request, empty for none. */
  readonly ranks: string[] = [];
  /** What requests are answered with. */
  status = 200;
  /** Requests are held as long as this is set. */
  isHolding = false;
  readonly #held: ServerResponse[] = [];
  readonly #server = createServer((request, response) => this.#serve(request, response));

  /** Starts one, until the current test is over. */
  static async start(host: string, port = 0): Promise<Engine> {
    const engine = new Engine();
    await new Promise<void>((resolve) => engine.#server.listen(port, host, resolve));
    onTestFinished(() => engine.end());
    return engine;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get held(): number {
    return this.#held.length;
  }

  letGo(): void {
    this.isHolding = false;
    for (const response of this.#held.splice(0)) this.#answer(response);
  }

  end(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    // What it may be asked beside, such as for tokens, it does not have.
    if (request.url !== '/v1/completions') {
      response.writeHead(404).end();
      return;
    }
    request.resume().on('end', () => {
      this.ranks.push(String(request.headers['x-data-parallel-rank'] ?? ''));
      if (this.isHolding) this.#held.push(response);
      else this.#answer(response);
    });
  }

  #answer(response: ServerResponse): void {
    const usage = { prompt_tokens: 3, completion_tokens: 1 };
    const body =
      this.status === 200 ? { model: MODEL, choices: [], usage } : { error: { message: 'it broke' } };
    response.writeHead(this.status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}

/** An Envoy over a pool, whose picker is kv-accord. */
interface Door {
  readonly envoy: Envoy;
  readonly epp: Served;
}

/** Starts them over the engines of a pool, until the current test is over. `ranks`: of each pod. */
async function open(sketch: PoolSketch, ranks: number, ...flags: readonly string[]): Promise<Door> {
  const api = await startPoolApi(sketch);
  onTestFinished(() => api.stop());
  const kubeconfig = join(scratchFolder(), `pool-${sketch.ports.join('-')}.json`);
  writeFileSync(kubeconfig, api.kubeconfig);
  for (const [at, host] of sketch.addresses.entries()) {
    const report = { ...makeWireReport(`engine-${at}`), parallelism: { dataParallelSize: ranks } };
    const sidecar = await FakeSidecar.start({ host, port: SIDECAR_PORT, report });
    const beat = setInterval(() => sidecar.sendHeartbeat(), HEARTBEAT_MS);
    onTestFinished(async () => {
      clearInterval(beat);
      await sidecar.stop();
    });
  }
  const pool = ['--pool', `${POOL.namespace}/${POOL.name}`, '--kubeconfig', kubeconfig, '--insecure'];
  const epp = forThisTest(await startEppWith('epp', [...pool, '--settle', '500ms', ...flags]));
  await until('the gate to open', async () => (await probe(epp, '/readyz')).status === 200, {
    needs: [epp.program],
  });
  const engines = sketch.addresses.flatMap((host) => sketch.ports.map((port) => `${host}:${port}`));
  return { epp, envoy: forThisTest(await startEnvoy('envoy', { pickerPort: epp.pickerPort, engines })) };
}

async function ask({ envoy }: Door, prompt: string, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await fetch(`${envoy.url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: MODEL, prompt }),
  });
  await answer.clone().arrayBuffer();
  return answer;
}

async function metric({ epp }: Door, pattern: RegExp): Promise<number> {
  const { body } = await probe(epp, '/metrics');
  return [...body.matchAll(new RegExp(pattern, 'gm'))].reduce((sum, [, value]) => sum + Number(value), 0);
}

const RESERVED = /^kv_accord_epp_reserved_requests (\S+)$/;
const EJECTED = /^kv_accord_router_worker_ejected\{[^}]*\} (\S+)$/;

describe.skipIf(lacks('envoy'))('a pool behind a real Envoy', () => {
  it('whose ranks have a port each gets requests at all of them, without a header', async () => {
    const engines = [await Engine.start(HOSTS[0]), await Engine.start(HOSTS[0])];
    const door = await open({ addresses: [HOSTS[0]], ports: engines.map(({ port }) => port) }, 2);
    for (const engine of engines) engine.isHolding = true;
    const answers = Array.from({ length: 4 }, (_, at) => ask(door, `p${at}`));
    await until('both ranks to have two', async () => engines.every(({ held }) => held === 2));
    for (const engine of engines) engine.letGo();
    for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
    for (const { ranks } of engines) expect(ranks).toEqual(['', '']);
  });

  it('whose ranks share a port gets the rank in a header, which clients cannot choose', async () => {
    const engine = await Engine.start(HOSTS[0]);
    const door = await open({ addresses: [HOSTS[0]], ports: [engine.port] }, 2);
    engine.isHolding = true;
    const answers = Array.from({ length: 4 }, (_, at) =>
      ask(door, `p${at}`, { 'x-data-parallel-rank': '7' }),
    );
    await until('all four', async () => engine.held === 4);
    engine.letGo();
    await Promise.all(answers);
    expect([...engine.ranks].sort()).toEqual(['0', '0', '1', '1']);
  });

  it('sheds requests of a lower priority first, with 429', async () => {
    const engine = await Engine.start(HOSTS[0]);
    const sketch = { addresses: [HOSTS[0]], ports: [engine.port], priorities: { batch: -5 } };
    const door = await open(sketch, 1, '--max-requests-per-worker', '2');
    const batch = { 'x-gateway-inference-objective': 'batch' };
    engine.isHolding = true;
    const first = ask(door, 'a', batch);
    await until('the first', async () => engine.held === 1);
    const shed = await ask(door, 'b', batch);
    expect(shed.status).toBe(429);
    expect(shed.headers.get('retry-after')).toBe('1');
    expect(await shed.json()).toMatchObject({ error: { code: 'workers_full' } });
    const second = ask(door, 'c');
    await until('the second', async () => engine.held === 2);
    expect((await ask(door, 'd')).status).toBe(429);
    engine.letGo();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    await until('nothing to be reserved', async () => (await metric(door, RESERVED)) === 0);
  });

  it('has a worker ejected that answers with errors, and not for one bad request', async () => {
    const [good, bad] = [await Engine.start(HOSTS[0]), await Engine.start(HOSTS[1])];
    await bad.end();
    const broken = await Engine.start(HOSTS[1], good.port);
    broken.status = 500;
    const sketch = { addresses: HOSTS, ports: [good.port] };
    const door = await open(sketch, 1, '--router-mode', 'round-robin', '--fallback-endpoints', '0');
    const poison = 'the same every time';
    good.status = 500;
    for (let at = 0; at < 12; at += 1) expect((await ask(door, poison)).status).toBe(500);
    expect(await metric(door, EJECTED)).toBe(0);
    good.status = 200;
    let asked = 0;
    await until(
      'it to be ejected',
      async () => {
        asked += 1;
        await ask(door, `another one: ${asked}`);
        return (await metric(door, EJECTED)) === 1;
      },
      { pollMs: 10 },
    );
    expect(asked).toBeLessThan(12);
    expect((await probe(door.epp, '/metrics')).body).toMatch(
      /^kv_accord_router_worker_ejections_total\{[^}]*seen="server_error"[^}]*\} 1$/m,
    );
    for (let at = 0; at < 4; at += 1) expect((await ask(door, `now ${at}`)).status).toBe(200);
  });

  it('has a worker ejected that cannot be reached, also where no fallback serves', async () => {
    const [good, gone] = [await Engine.start(HOSTS[0]), await Engine.start(HOSTS[1])];
    await gone.end();
    const sketch = { addresses: HOSTS, ports: [good.port] };
    const door = await open(sketch, 1, '--router-mode', 'round-robin', '--fallback-endpoints', '0');
    await until(
      'it to be ejected',
      async () => {
        await ask(door, 'anything');
        return (await metric(door, EJECTED)) === 1;
      },
      { pollMs: 10 },
    );
    expect(await metric(door, /^kv_accord_epp_failures_total\{seen="unreachable"\} (\S+)$/)).toBe(3);
    for (let at = 0; at < 4; at += 1) expect((await ask(door, `now ${at}`)).status).toBe(200);
  });

  it('leaves nothing reserved after thousands of requests, a third of them given up', async () => {
    const engines = [await Engine.start(HOSTS[0])];
    engines.push(await Engine.start(HOSTS[1], engines[0]?.port));
    const door = await open({ addresses: HOSTS, ports: [engines[0]?.port ?? 0] }, 1);
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < REQUESTS) {
        next += 1;
        const body = JSON.stringify({ model: MODEL, prompt: `request ${next}` });
        const signal = next % 3 === 0 ? AbortSignal.timeout(1 + (next % 20)) : AbortSignal.timeout(60_000);
        const headers = { 'content-type': 'application/json' };
        await fetch(`${door.envoy.url}/v1/completions`, { method: 'POST', headers, body, signal }).then(
          (answer) => answer.arrayBuffer().catch(() => undefined),
          () => undefined,
        );
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    await until('nothing to be reserved', async () => {
      const reserved = await metric(door, RESERVED);
      const active = await metric(door, /^kv_accord_router_active_requests\{[^}]*\} (\S+)$/);
      return reserved === 0 && active === 0;
    });
    expect(await metric(door, /^kv_accord_frontend_requests_total\{[^}]*\} (\S+)$/)).toBeGreaterThan(
      REQUESTS / 2,
    );
    console.log(
      `${next} requests, ${engines.reduce((sum, { ranks }) => sum + ranks.length, 0)} at the engines`,
    );
  }, 1_200_000);
});
