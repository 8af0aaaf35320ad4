import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Decision } from '../../../../src/fleet/router/routing.js';
import { RoutingError } from '../../../../src/fleet/router/routing.js';
import type { ProxiedRequest } from '../../../../src/frontend/proxy/proxied-request.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';
import { propertyRuns } from '../../../support/property-runs.js';
import { turns, until } from '../../../support/turns.js';
import {
  CLOSED_URL,
  type HarnessOptions,
  ProxyHarness,
  RecordedRoute,
  ScriptedWorker,
} from '../proxy-harness.js';

const open = new OpenThings();
afterEach(() => open.close());

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
const FAILED = 'HTTP/1.1 500 No\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
const proxy = { firstByteTimeoutMs: 4_000, headersTimeoutMs: 120_000 };
const RUNS = 30;

/** A worker as a router offers it. */
interface Offered {
  readonly url: string;
  readonly decision?: Partial<Decision>;
}

/** A router that offers the first worker that is not excluded, with its decision, and all its routes. */
function routerOf(workers: readonly Offered[]): { pick: ProxiedRequest['pick']; routes: RecordedRoute[] } {
  const routes: RecordedRoute[] = [];
  return {
    routes,
    pick: async (excluded) => {
      const at = workers.findIndex((_, index) => !excluded.includes(String(index)));
      const worker = workers[at];
      if (worker === undefined) throw new RoutingError('no_worker', 'nobody is left');
      const route = new RecordedRoute(String(at), worker.decision);
      routes.push(route);
      return { route, baseUrl: worker.url };
    },
  };
}

async function worker(answer: string | undefined): Promise<ScriptedWorker> {
  const made = await ScriptedWorker.raw((socket) => {
    if (answer !== undefined) socket.write(answer);
  });
  open.add(() => made.stop());
  return made;
}

const silent = (): Promise<ScriptedWorker> => worker(undefined);

async function harness(options: HarnessOptions): Promise<ProxyHarness> {
  const made = await ProxyHarness.start(options);
  open.add(() => made.stop());
  return made;
}

/** Lets time pass, and the network move between its steps, until one request is over or so much has passed. */
async function passTime(gateway: ProxyHarness, clock: FakeClock, limitMs: number): Promise<number> {
  let passedMs = 0;
  for (; passedMs < limitMs && gateway.outcomes.length === 0; passedMs += 500) {
    await clock.advanceMs(500);
    await turns(20);
  }
  return passedMs;
}

/** Sends a request, and says how it ended and after which time of the clock. */
async function ask(
  options: Pick<HarnessOptions, 'pick' | 'workers'> & { readonly more?: HarnessOptions['proxy'] },
  limitMs = 200_000,
): Promise<{ status: number; text: string; afterMs: number; gateway: ProxyHarness }> {
  const clock = new FakeClock();
  const { more, ...others } = options;
  const gateway = await harness({ ...others, clock, proxy: { ...proxy, ...more } });
  const answer = fetch(gateway.url, { method: 'POST', body: '{}' });
  await until(() => gateway.responses.length === 1);
  const afterMs = await passTime(gateway, clock, limitMs);
  const { status } = await answer;
  return { status, text: await (await answer).text(), afterMs, gateway };
}

describe('a request at a silent worker', () => {
  it('passes over a second silent worker, and is served by the third', async () => {
    const urls = [await silent(), await silent(), await worker(OK)].map(({ url }) => url);
    const { status, afterMs, gateway } = await ask({ workers: urls });
    expect(status).toBe(200);
    expect(afterMs).toBeLessThanOrEqual(10_000);
    expect(gateway.routes.map(({ faults }) => faults)).toEqual([['silent'], ['silent'], []]);
  });

  it('is given to an ejected worker when nobody else is left and the silent one is gone', async () => {
    const { pick, routes } = routerOf([
      { url: (await silent()).url },
      { url: (await worker(OK)).url, decision: { isTrial: true } },
    ]);
    const { status, afterMs } = await ask({ pick });
    expect(status).toBe(200);
    expect(afterMs).toBeGreaterThan(15_000);
    expect(afterMs).toBeLessThanOrEqual(20_000);
    expect(routes.every(({ releases }) => releases === 1)).toBe(true);
  });

  it('waits no longer for an ejected worker because the worker before had more time', async () => {
    const { pick } = routerOf([
      { url: (await silent()).url },
      { url: CLOSED_URL },
      { url: (await silent()).url, decision: { isTrial: true } },
      { url: (await worker(OK)).url },
    ]);
    const workers = { firstByteTimeoutMs: 60_000 };
    // The first is left after a minute, the second closes, and the third is the try of an ejected one.
    const { status, afterMs } = await ask({ pick, more: workers });
    expect(status).toBe(200);
    expect(afterMs).toBeLessThanOrEqual(67_000);
  });

  it('ends when its tries are used up, the worker is gone, and another one could serve it', async () => {
    const { pick, routes } = routerOf([{ url: (await silent()).url }, { url: (await worker(OK)).url }]);
    const { status, text, afterMs, gateway } = await ask({ pick, more: { maxRetries: 0 } });
    expect(status).toBe(504);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'worker_silent' } });
    expect(afterMs).toBeLessThanOrEqual(20_000);
    expect(routes.map(({ releases }) => releases)).toEqual([1, 1]);
    expect(gateway.logger.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: 'A request failed: The worker did not answer. The last one was worker-of-0 (0).',
      }),
    );
  });

  it('stays there when its tries are used up and nobody else could serve it, until its time is over', async () => {
    const { status, afterMs, gateway } = await ask({
      workers: [(await silent()).url],
      more: { maxRetries: 0 },
    });
    expect(status).toBe(504);
    expect(afterMs).toBeGreaterThanOrEqual(120_000);
    expect(gateway.logger.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message:
          'A request failed: No worker answered within the time that a request may take. The last one was worker-of-0 (0).',
      }),
    );
  });

  it('asks no further when the router offers what was excluded', async () => {
    const stopped = await silent();
    const routes: RecordedRoute[] = [];
    const { status } = await ask({
      pick: async () => {
        const route = new RecordedRoute('0', { isTrial: routes.length > 0 });
        routes.push(route);
        return { route, baseUrl: stopped.url };
      },
    });
    expect(status).toBe(504);
    // One for each time that the silence was over again.
    expect(routes.length).toBeLessThanOrEqual(40);
    expect(routes.every(({ releases }) => releases === 1)).toBe(true);
  });

  it('survives a router that throws', async () => {
    const stopped = await silent();
    let asked = 0;
    const { status } = await ask({
      pick: () => {
        asked += 1;
        if (asked > 1) throw new Error('a fault of the router');
        return Promise.resolve({ route: new RecordedRoute('0'), baseUrl: stopped.url });
      },
    });
    expect(status).toBe(504);
  });
});

it('a worker whose address is not a URL is at fault', async () => {
  const { pick, routes } = routerOf([{ url: 'nowhere' }, { url: (await worker(OK)).url }]);
  const { status } = await ask({ pick });
  expect(status).toBe(200);
  expect(routes.map(({ faults }) => faults)).toEqual([['unreachable'], []]);
});

it('every request ends within the time of its tries, whatever workers do and the router offers', async () => {
  const kinds = fc.constantFrom('silent', 'closed', 'fails', 'ends', 'answers', 'no URL');
  const workers = fc.array(fc.record({ kind: kinds, isTrial: fc.boolean() }), { minLength: 1, maxLength: 6 });
  const answers = { silent: undefined, fails: FAILED, answers: OK } as const;
  await fc.assert(
    fc.asyncProperty(workers, fc.nat({ max: 3 }), async (scripts, maxRetries) => {
      const ends = await ScriptedWorker.raw((socket) => socket.destroy());
      const made = [ends];
      const offered: Offered[] = [];
      for (const { kind, isTrial } of scripts) {
        const decision = { isTrial };
        if (kind === 'closed') offered.push({ url: CLOSED_URL, decision });
        else if (kind === 'no URL') offered.push({ url: 'nowhere', decision });
        else if (kind === 'ends') offered.push({ url: ends.url, decision });
        else {
          const one = await worker(answers[kind]);
          made.push(one);
          offered.push({ url: one.url, decision });
        }
      }
      const { pick, routes } = routerOf(offered);
      const { status, afterMs, gateway } = await ask({ pick, more: { maxRetries } }, 1_000_000);
      const couldServe = scripts.findIndex(({ kind }) => kind === 'answers');
      // Where a sound worker is left, and tries to reach it, no request waits for silent ones to the last. An ejected one
      // is passed over for one that is not, which may be silent, too.
      const isInOrder = scripts.every(({ isTrial }) => !isTrial);
      if (isInOrder && couldServe !== -1 && couldServe <= Math.min(maxRetries, 1)) expect(status).toBe(200);
      if (couldServe !== -1) expect(afterMs).toBeLessThan(120_000);
      expect(afterMs).toBeLessThan(240_000);
      expect(routes.map(({ releases }) => releases)).toEqual(routes.map(() => 1));
      await gateway.stop();
      await Promise.all(made.map((each) => each.stop()));
    }),
    { numRuns: propertyRuns(RUNS) },
  );
});
