import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Address, parseAddress } from '../../../src/edge/platform/address.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { createHttpGet, createHttpPostJson } from '../../../src/edge/platform/net/http-get.js';
import { EngineEventReader } from '../../../src/worker/kv-events/engine-event-reader.js';
import { fixedLocation } from '../../../src/worker/sidecar/probing/engine-locator.js';
import { Sidecar } from '../../../src/worker/sidecar/sidecar.js';
import { briskClock } from '../../support/brisk-clock.js';
import { turns } from '../../support/turns.js';
import { batchOf, FakePublisher } from '../kv-events/support/fake-publisher.js';
import { sidecarModules } from './support/sidecar-modules.js';

const WIDTH = 32;
const FREE_PORT = parseAddress('127.0.0.1:0') as Address;
const KEY = 'sk-engine-key';
/** How long blocks that never come are waited for is no matter here. */
const CLOCK = briskClock((delayMs) => delayMs === 5_000);

/** What one test has opened; closed in the reverse order. */
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A vLLM whose HTTP never names the block size, that caches prompts and publishes their blocks. */
class Engine {
  readonly publisher: FakePublisher;
  readonly url: string;
  /** Keys that came with prompts. */
  readonly keys = new Set<string | undefined>();

  static async start(): Promise<Engine> {
    const publisher = await FakePublisher.start();
    open.push(() => publisher.stop());
    const engine: { current?: Engine } = {};
    const server = createServer((request, response) => {
      void bodyOf(request).then(async (body) => {
        const [status, answer] = (await engine.current?.answer(request, body)) ?? [503, ''];
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(answer);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    engine.current = new Engine(publisher, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return engine.current;
  }

  readonly #cached = new Set<string>();
  #blocks = 0;

  private constructor(publisher: FakePublisher, url: string) {
    this.publisher = publisher;
    this.url = url;
  }

  async answer({ url, headers }: IncomingMessage, body: string): Promise<[number, string]> {
    switch (url) {
      case '/v1/models':
        return [
          200,
          '{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"vllm","max_model_len":2048}]}',
        ];
      case '/version':
        return [200, '{"version":"0.32.0"}'];
      case '/metrics':
        return [200, 'vllm:num_requests_running{engine="0"} 0\nvllm:num_requests_waiting{engine="0"} 0\n'];
      case '/v1/completions': {
        this.keys.add(headers.authorization);
        const { prompt } = JSON.parse(body) as { prompt: number[] };
        const isCached = this.#cached.has(body);
        if (!isCached) await this.#store(prompt);
        this.#cached.add(body);
        const cached = isCached ? Math.floor((prompt.length - 1) / WIDTH) * WIDTH : 0;
        return [
          200,
          JSON.stringify({
            usage: { prompt_tokens: prompt.length, prompt_tokens_details: { cached_tokens: cached } },
          }),
        ];
      }
      default:
        return [404, '{}'];
    }
  }

  async #store(prompt: readonly number[]): Promise<void> {
    const count = Math.floor(prompt.length / WIDTH);
    const hashes = Array.from({ length: count }, () => {
      this.#blocks += 1;
      return this.#blocks;
    });
    const event = {
      type: 'BlockStored',
      block_hashes: hashes,
      parent_block_hash: null,
      token_ids: prompt.slice(0, count * WIDTH),
      block_size: WIDTH,
      medium: 'GPU',
    };
    await this.publisher.publish(batchOf(event));
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

interface Reported {
  readonly contract?: { readonly tokensPerBlock?: number };
  readonly completeness: { readonly state: string };
  readonly canary?: { readonly state: string; readonly reason: string };
  readonly warnings?: readonly string[];
}

/** A sidecar beside `engine` that reads the events of `events`, once its canary has ended. */
async function sung(
  engine: Engine,
  events: Engine,
): Promise<{ report: Reported; events: { reason: string } }> {
  const sidecar = new Sidecar(
    {
      version: '1.2.3',
      workerId: 'w-1',
      listen: FREE_PORT,
      httpListen: FREE_PORT,
      declaredFacts: [],
      probeIntervalMs: 20,
    },
    {
      ...sidecarModules(),
      clock: CLOCK,
      locate: async () => fixedLocation([{ httpBaseUrl: engine.url }]),
      eventReading: {
        settings: { from: 'operator', sources: [events.publisher.source] },
        loadReader: async (modules) => new EngineEventReader({}, modules),
      },
      canary: { get: createHttpGet(), post: createHttpPostJson({ bearerKey: KEY }, { clock: systemClock }) },
    },
  );
  const { http } = await sidecar.start();
  const stop = new AbortController();
  const ended = sidecar.run(stop.signal);
  open.push(() => {
    stop.abort();
    return ended;
  });
  const get = async <Answer>(path: string): Promise<Answer> =>
    (await (
      await fetch(`http://${http.text}/api/v1/${path}`, { headers: { connection: 'close' } })
    ).json()) as Answer;
  for (;;) {
    const report = await get<Reported>('capabilities');
    const state = report.canary?.state ?? 'STATE_WAITING';
    if (state !== 'STATE_WAITING') return { report, events: await get<{ reason: string }>('kv-events') };
    await turns();
  }
}

describe('a sidecar that sends a canary', () => {
  it('learns the block size of a fresh engine that nothing else says, with the key of the engine', async () => {
    const engine = await Engine.start();
    const { report, events } = await sung(engine, engine);
    expect(report.canary).toMatchObject({
      state: 'STATE_PASSED',
      reason: expect.stringContaining('blocks arrived as hashed'),
    });
    expect(report.contract?.tokensPerBlock).toBe(WIDTH);
    expect(report.completeness.state).toBe('STATE_COMPLETE');
    expect(events.reason).toBe('');
    expect([...engine.keys]).toEqual([`Bearer ${KEY}`]);
  });

  it('passes nothing on of the events of another engine, and believes no block size of them', async () => {
    const [one, two] = [await Engine.start(), await Engine.start()];
    const body = JSON.stringify({ prompt: Array.from({ length: 2 * WIDTH }, (_, at) => at) });
    await two.answer({ url: '/v1/completions', headers: {} } as IncomingMessage, body);
    const { report, events } = await sung(one, two);
    expect(report.canary).toMatchObject({
      state: 'STATE_FAILED',
      reason: expect.stringContaining("these are another engine's events"),
    });
    expect(report.warnings?.join()).toContain('the canary failed');
    expect(report.contract?.tokensPerBlock).toBeUndefined();
    expect(events.reason).toContain("another engine's events");
  }, 60_000);
});
