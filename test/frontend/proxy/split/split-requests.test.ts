import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type PairDecision, RoutingError, type SeenTransfer } from '../../../../src/fleet/router/routing.js';
import type { Picked, SplitBodies } from '../../../../src/frontend/proxy/proxied-request.js';
import { bootstrapRoom, hostAndPort } from '../../../../src/frontend/proxy/split/bootstrap.js';
import { OpenThings } from '../../../support/open-things.js';
import { CLOSED_URL, ProxyHarness, RecordedRoute, ScriptedWorker } from '../proxy-harness.js';

const open = new OpenThings();
afterEach(() => open.close());

const SPLIT: SplitBodies = {
  forPrefill: () => Buffer.from('for prefill'),
  withTransfer: (parameters) => Buffer.from(`with ${parameters}`),
  withBootstrap: (host, port, room) => Buffer.from(`meet at ${host} ${port} ${room % 4n}`),
};

/** A worker that notes what it is sent. */
async function worker(
  answer: (body: string, response: ServerResponse) => void,
): Promise<ScriptedWorker & { readonly bodies: string[] }> {
  const bodies: string[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      bodies.push(body);
      answer(body, response);
    });
  };
  const made = await ScriptedWorker.http(handle);
  open.add(() => made.stop());
  return Object.assign(made, { bodies });
}

/** A route with a prefill worker. */
class PairRoute extends RecordedRoute {
  readonly prefill: RecordedRoute;
  readonly transfers: SeenTransfer[] = [];

  constructor(protocol: PairDecision['protocol']) {
    const prefill = new RecordedRoute('prefill', { rank: 3, rankCount: 4 });
    super('decode', {
      pair: {
        prefill: prefill.decision,
        protocol,
        bootstrapAddress: '10.0.0.1:8998',
        pairClass: 'unknown',
        expectedTransferMs: 1,
        transferredTokens: 16,
      },
    });
    this.prefill = prefill;
  }

  transferred(seen: SeenTransfer): void {
    this.transfers.push(seen);
  }
}

interface Played {
  readonly harness: ProxyHarness;
  readonly routes: RecordedRoute[];
  readonly asked: boolean[];
}

/** The first pick is a pair, later ones are one worker. */
async function play(
  protocol: PairDecision['protocol'],
  urls: { readonly prefill: string; readonly decode: string; readonly alone?: string },
  fallsBack = true,
): Promise<Played> {
  const routes: RecordedRoute[] = [];
  const asked: boolean[] = [];
  const harness = await ProxyHarness.start({
    split: SPLIT,
    proxy: { fallsBack, decisionHeaders: true },
    pick: async (_, isUnsplit = false): Promise<Picked> => {
      asked.push(isUnsplit);
      if (routes.length > 0 && urls.alone === undefined)
        throw new RoutingError('no_worker', 'nobody is left');
      const route =
        routes.length === 0 ? new PairRoute(protocol) : new RecordedRoute('alone', { unsplit: 'fallback' });
      routes.push(route);
      return routes.length === 1
        ? { route, baseUrl: urls.decode, prefillBaseUrl: urls.prefill }
        : { route, baseUrl: urls.alone ?? '' };
    },
  });
  open.add(() => harness.stop());
  return { harness, routes, asked };
}

const ask = (harness: ProxyHarness): Promise<Response> =>
  fetch(`${harness.url}/v1/chat/completions`, { method: 'POST', body: '{}' });

const USAGE =
  '"usage":{"prompt_tokens":32,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":16}}';

describe('by nixl', () => {
  it('what the prefill worker answers goes with the request to the decode worker, and both are released once', async () => {
    const prefill = await worker((_, response) =>
      response.end(`{"id":"x","kv_transfer_params": {"remote_block_ids":[[1,2]]} ,${USAGE}}`),
    );
    const decode = await worker((_, response) => response.end(`{${USAGE}}`));
    const { harness, routes } = await play('nixl', { prefill: prefill.url, decode: decode.url });
    const answer = await ask(harness);
    expect(await answer.text()).toBe(`{${USAGE}}`);
    expect(answer.headers.get('x-kv-accord-pair')).toBe('nixl; class=unknown; tokens=16; expected-ms=1.0');
    await harness.settled();
    expect([prefill.bodies, decode.bodies]).toEqual([
      ['for prefill'],
      ['with  {"remote_block_ids":[[1,2]]} '],
    ]);
    const [route] = routes as PairRoute[];
    expect(route?.prefill).toMatchObject({
      releases: 1,
      reported: ['prefill', 'release'],
      usage: { cachedTokens: 16 },
    });
    expect(route).toMatchObject({ releases: 1, transfers: [{ transferredTokens: 16, recomputedTokens: 0 }] });
  });

  it('fields of the prefill answer that nobody here knows go on byte by byte', async () => {
    // vLLM 0.33 adds remote_registration_generation; numbers may be ones that JavaScript does not have.
    const parameters =
      '{"do_remote_prefill":true, "remote_engine_id":"e\\u0031","remote_registration_generation": 18446744073709551615,"later":{"kv_transfer_params":{"a":[1.0,null]}}}';
    const prefill = await worker((_, response) =>
      response.end(`{"id":"x","kv_transfer_params":${parameters},"later":1,${USAGE}}`),
    );
    const decode = await worker((_, response) => response.end(`{${USAGE}}`));
    const { harness } = await play('nixl', { prefill: prefill.url, decode: decode.url });
    await (await ask(harness)).text();
    await harness.settled();
    expect(decode.bodies).toEqual([`with ${parameters}`]);
  });

  it('a decode engine that computed what it should have received is seen by its own count', async () => {
    const prefill = await worker((_, response) => response.end(`{"kv_transfer_params":{},${USAGE}}`));
    const decode = await worker((_, response) =>
      response.end('{"usage":{"prompt_tokens":32,"prompt_tokens_details":{"cached_tokens":0}}}'),
    );
    const { harness, routes } = await play('nixl', { prefill: prefill.url, decode: decode.url });
    await (await ask(harness)).text();
    await harness.settled();
    expect((routes[0] as PairRoute).transfers).toMatchObject([
      { recomputedTokens: 32, transferredTokens: 0 },
    ]);
  });

  it.each([
    ['cannot be reached', undefined, ['unreachable']],
    ['answers with an error', 500, ['server_error']],
    ['answers without parameters', 200, []],
    ['refuses the request', 400, []],
  ])('one worker computes all when the prefill worker %s', async (_, status, faults) => {
    const prefill =
      status === undefined ? undefined : await worker((__, response) => response.writeHead(status).end('{}'));
    const decode = await worker((__, response) => response.end('never'));
    const alone = await worker((__, response) => response.end('{}'));
    const { harness, routes, asked } = await play('nixl', {
      prefill: prefill?.url ?? CLOSED_URL,
      decode: decode.url,
      alone: alone.url,
    });
    const answer = await ask(harness);
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    await harness.settled();
    expect(answer.headers.get('x-kv-accord-unsplit')).toBe('fallback');
    expect([asked, decode.bodies, alone.bodies]).toEqual([[false, true], [], ['{}']]);
    const [route] = routes as PairRoute[];
    expect(route?.prefill.faults).toEqual(faults);
    expect([route?.releases, route?.faults]).toEqual([1, []]);
  });

  it('is refused where no pair is left and no worker may serve it alone', async () => {
    const alone = await worker((_, response) => response.end('never'));
    const route = new RecordedRoute('alone', { unsplit: 'no_pair' });
    const harness = await ProxyHarness.start({
      split: SPLIT,
      proxy: { fallsBack: false },
      pick: async () => ({ route, baseUrl: alone.url }),
    });
    open.add(() => harness.stop());
    const answer = await ask(harness);
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining('--no-pd-fallback')]);
    expect([alone.bodies, route.releases]).toEqual([[], 1]);
  });

  it('what the prefill worker refuses is passed on where nobody else may compute it', async () => {
    const prefill = await worker((_, response) => response.writeHead(400).end('{"error":"too long"}'));
    const decode = await worker((_, response) => response.end('never'));
    const { harness } = await play('nixl', { prefill: prefill.url, decode: decode.url }, false);
    const answer = await ask(harness);
    expect([answer.status, await answer.text()]).toEqual([400, '{"error":"too long"}']);
  });

  it.each([
    ['status 500', (response: ServerResponse) => response.writeHead(500).end('{}')],
    [
      'an error as the first event',
      (response: ServerResponse) =>
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end('data: {"error":{"code":500}}\n\n'),
    ],
  ])('%s of the decode engine is the fault of the pair', async (_, fail) => {
    const prefill = await worker((__, response) => response.end(`{"kv_transfer_params":{},${USAGE}}`));
    const decode = await worker((__, response) => void fail(response));
    const alone = await worker((__, response) => response.end('{}'));
    const { harness, routes } = await play('nixl', {
      prefill: prefill.url,
      decode: decode.url,
      alone: alone.url,
    });
    expect(await (await ask(harness)).text()).toBe('{}');
    await harness.settled();
    const [route] = routes as PairRoute[];
    expect(route?.transfers).toMatchObject([{ failure: expect.stringMatching(/status 500|an error/) }]);
    expect([route?.faults, route?.prefill.faults, route?.releases]).toEqual([[], [], 1]);
  });
});

describe('by bootstrap', () => {
  it('both get the same request at the same time, and meet at the rank that was chosen', async () => {
    let arrive = (): void => {};
    const both = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const prefill = await worker((_, response) => {
      response.end(`{${USAGE}}`);
      arrive();
    });
    const decode = await worker((_, response) => void both.then(() => response.end(`{${USAGE}}`)));
    const { harness, routes } = await play('bootstrap', { prefill: prefill.url, decode: decode.url });
    expect(await (await ask(harness)).text()).toBe(`{${USAGE}}`);
    await harness.settled();
    expect([prefill.bodies, decode.bodies]).toEqual([
      ['meet at 10.0.0.1 8998 3'],
      ['meet at 10.0.0.1 8998 3'],
    ]);
    expect((routes[0] as PairRoute).transfers).toMatchObject([{ recomputedTokens: 0 }]);
    expect(routes[0]?.releases).toBe(1);
  });

  it('the decode worker is left when the prefill worker fails', async () => {
    const prefill = await worker((_, response) => response.writeHead(500).end());
    const decode = await worker(() => undefined);
    const alone = await worker((_, response) => response.end('{}'));
    const { harness, routes } = await play('bootstrap', {
      prefill: prefill.url,
      decode: decode.url,
      alone: alone.url,
    });
    expect(await (await ask(harness)).text()).toBe('{}');
    await harness.settled();
    expect(routes.map(({ releases }) => releases)).toEqual([1, 1]);
    expect((routes[0] as PairRoute).prefill.faults).toEqual(['server_error']);
  });

  it('a request that nobody else answers is said of the prefill worker that ended it', async () => {
    const prefill = await worker((_, response) => response.destroy());
    const decode = await worker(() => undefined);
    const { harness } = await play('bootstrap', { prefill: prefill.url, decode: decode.url });
    expect((await ask(harness)).status).toBe(502);
    await harness.settled();
    expect(harness.logger.lines.map(({ message }) => message)).toContain(
      'A request failed: The worker closed the connection before it answered. The last one was worker-of-prefill (prefill).',
    );
  });
});

it('the number of a meeting leads to its rank', () => {
  for (let rank = 0; rank < 3; rank += 1)
    expect(bootstrapRoom({ rank, rankCount: 3 }) % 3n).toBe(BigInt(rank));
  expect(bootstrapRoom({ rank: 0, rankCount: 1 })).toBeLessThan(2n ** 62n);
});

it.each([
  ['10.0.0.1:8998', { host: '10.0.0.1', port: 8998 }],
  ['[fd00::1]:8998', { host: 'fd00::1', port: 8998 }],
  ['8998', undefined],
  ['host:0', undefined],
  ['host:99999', undefined],
])('%s is read as %j', (address, expected) => {
  expect(hostAndPort(address)).toEqual(expected);
});
