import { afterEach, describe, expect, it, vi } from 'vitest';
import { followRouter } from '../../src/app/follow-router.js';
import type { Address } from '../../src/edge/platform/address.js';
import { systemClock } from '../../src/edge/platform/clock.js';
import { createPlaintextSecurity } from '../../src/edge/security/security.js';
import type { Pairing, Route } from '../../src/fleet/router/routing.js';
import { OpenThings } from '../support/open-things.js';
import {
  metricLines,
  metricSum,
  newPrompt,
  openPairStage,
  type PairStage,
  WORDS,
} from '../support/pair-stage.js';
import { RecordingLogger } from '../support/recording-logger.js';

const open = new OpenThings();
afterEach(() => open.close());

interface Fleet extends PairStage {
  readonly url: string;
}

async function openFleet(names: readonly string[]): Promise<Fleet> {
  const pairs = await openPairStage(names, open);
  const { url } = await pairs.stage.addFrontend();
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), 10_000);
  return { ...pairs, url };
}

function ask(url: string, body: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-model', max_tokens: 4, ...body }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** How many prompts an engine got. */
function asked({ stage }: Fleet, name: string): number {
  return stage.worker(name).engine.requests.get('POST /v1/completions') ?? 0;
}

/** What counts as active on all workers together. */
const active = (fleet: Fleet): Promise<number> => metricSum(fleet, 'kv_accord_router_active_requests{');

describe('requests of a model with prefill and decode workers', () => {
  it('go to both, and the answer is that of the decode worker', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const answer = await ask(fleet.url, { prompt: newPrompt() });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-kv-accord-worker')).toBe('decode-1');
    expect(answer.headers.get('x-kv-accord-prefill-worker')).toBe('prefill-1');
    expect(answer.headers.get('x-kv-accord-pair')).toMatch(/^nixl; class=unknown; tokens=400; expected-ms=/);
    expect(await answer.json()).toMatchObject({ usage: { prompt_tokens: WORDS, completion_tokens: 4 } });
    expect([asked(fleet, 'prefill-1'), asked(fleet, 'decode-1'), fleet.network.transfers]).toEqual([1, 1, 1]);
    expect(fleet.lines.some(({ message }) => message.startsWith('Workers of'))).toBe(false);
    expect(await metricLines(fleet, 'kv_accord_pd_transferred_tokens_total')).toEqual([
      `kv_accord_pd_transferred_tokens_total{group="demo-model"} ${WORDS}`,
    ]);
    expect(await metricLines(fleet, 'kv_accord_pd_recomputed_tokens_total')).toEqual([
      'kv_accord_pd_recomputed_tokens_total{group="demo-model"} 0',
    ]);
    expect(await active(fleet)).toBe(0);
  });

  it('are streamed as they come', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const answer = await ask(fleet.url, {
      prompt: newPrompt(),
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 3,
    });
    const text = await answer.text();
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(text.match(/^data: /gm)).toHaveLength(5);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(fleet.network.transfers).toBe(1);
  });

  it('go to one worker where their prompt is short, or is cached there', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const short = await ask(fleet.url, { prompt: newPrompt(20) });
    expect(short.headers.get('x-kv-accord-unsplit')).toBe('short');
    const text = newPrompt();
    await (await ask(fleet.url, { prompt: text })).json();
    await vi.waitFor(async () => {
      const again = await ask(fleet.url, { prompt: `${text} and more` });
      await again.json();
      expect(again.headers.get('x-kv-accord-unsplit')).toBe('cached');
    }, 5_000);
    expect(asked(fleet, 'prefill-1')).toBe(1);
  });

  it('go to one worker where their form cannot be split', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const several = await ask(fleet.url, { prompt: newPrompt(), n: 2 });
    expect(several.headers.get('x-kv-accord-unsplit')).toBe('request');
    expect(asked(fleet, 'prefill-1')).toBe(0);
  });

  it('leave workers in use that serve whole requests', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1', 'worker-1']);
    const workers = new Set<string | null>();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => ask(fleet.url, { prompt: newPrompt() })),
    );
    for (const answer of answers) {
      workers.add(answer.headers.get('x-kv-accord-worker'));
      await answer.json();
    }
    expect([...workers].sort()).toEqual(['decode-1', 'worker-1']);
    expect(await active(fleet)).toBe(0);
  });
});

describe('over the router of another process', () => {
  it('both workers are reserved, ended apart, and what became of the blocks is counted there', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const security = createPlaintextSecurity();
    open.add(() => security.close());
    const logger = new RecordingLogger();
    const followed = followRouter(
      {
        address: fleet.stage.addresses?.grpc as Address,
        maxWaiting: 10,
        logsConflicts: false,
        given: new Map(),
      },
      { clock: systemClock, logger, security },
    );
    open.add(() => followed.close());
    await followed.answered;
    expect(followed.catalogue().groups[0]?.hasPairs).toBe(true);
    const ask = (pairing: Pairing): Promise<Route> =>
      followed.routing.route({
        ...{ group: 'demo-model', loraName: '', cacheSalt: '', excluded: [], pairing },
        tokens: Uint32Array.from({ length: WORDS }, (_, at) => at),
      });
    const route = await ask({ protocols: ['nixl'] });
    expect(route.decision).toMatchObject({
      target: 'decode-1',
      pair: {
        prefill: { target: 'prefill-1' },
        protocol: 'nixl',
        pairClass: 'unknown',
        transferredTokens: WORDS,
      },
    });
    expect(await active(fleet)).toBe(2);
    route.prefill?.prefillDone();
    route.prefill?.release({ promptTokens: WORDS, cachedTokens: 0 });
    await vi.waitFor(async () => expect(await active(fleet)).toBe(1));
    route.transferred?.({ transferredTokens: WORDS, recomputedTokens: 0, durationMs: 5 });
    route.release();
    await vi.waitFor(async () => expect(await active(fleet)).toBe(0));
    expect(await metricLines(fleet, 'kv_accord_pd_transferred_tokens_total')).toEqual([
      `kv_accord_pd_transferred_tokens_total{group="demo-model"} ${WORDS}`,
    ]);
    const alone = await ask({ protocols: [] });
    expect(alone.decision).toMatchObject({ target: 'decode-1', unsplit: 'request' });
    alone.release();
  });
});

describe('where a part of it fails', () => {
  it('one worker computes all when the prefill worker is gone, and the log says so', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const asking = ask(fleet.url, { prompt: newPrompt(5_000) });
    // While it works: of an engine that is gone before, the sidecar may know first.
    await vi.waitFor(() => expect(asked(fleet, 'prefill-1')).toBe(1), { timeout: 10_000, interval: 1 });
    fleet.stage.worker('prefill-1').engine.crash();
    const answer = await asking;
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-kv-accord-unsplit')).toBe('fallback');
    expect(await answer.json()).toMatchObject({ usage: { prompt_tokens: 5_000 } });
    expect(fleet.lines.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(
        /^Prefill worker prefill-1 .*failed a request .*one worker is to compute the whole prompt$/,
      ),
    );
    expect(await active(fleet)).toBe(0);
  });

  it.each([false, true])(
    'one worker computes all when the blocks do not come over, streamed: %s',
    async (stream) => {
      const fleet = await openFleet(['prefill-1', 'decode-1']);
      fleet.network.failure = 'NIXL compatibility hash mismatch. Local: a, Remote: b';
      const answer = await ask(fleet.url, { prompt: newPrompt(), stream });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-kv-accord-unsplit')).toBe('fallback');
      expect(await answer.text()).not.toContain('"error"');
      expect(fleet.lines.map(({ message }) => message)).toContainEqual(
        expect.stringMatching(/^The pair prefill-1 .*→ decode-1 .*failed a request/),
      );
      expect(await metricLines(fleet, 'kv_accord_pd_failed_transfers_total')).toEqual([
        'kv_accord_pd_failed_transfers_total{group="demo-model"} 1',
      ]);
      expect(await active(fleet)).toBe(0);
    },
  );

  it('a stream whose decode worker is killed ends with an error event, and nothing stays reserved', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    const answer = await ask(fleet.url, { prompt: newPrompt(), stream: true, max_tokens: 200 });
    const reader = answer.body?.getReader();
    await reader?.read();
    fleet.stage.worker('decode-1').engine.crash();
    let text = '';
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) break;
      text += Buffer.from(value ?? []).toString();
    }
    expect(text).toContain('worker_cut');
    await vi.waitFor(async () => expect(await active(fleet)).toBe(0));
  });

  it('a slow way between both is waited for', async () => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    fleet.network.msPerToken = 1;
    const answer = await ask(fleet.url, { prompt: newPrompt() });
    expect(answer.headers.get('x-kv-accord-pair')).toContain('nixl');
    await answer.json();
    const [line = ''] = await metricLines(fleet, 'kv_accord_pd_transfer_seconds_total');
    expect(Number(line.split(' ').at(-1))).toBeGreaterThan(0.3);
  });

  it.each(['prefill-1', 'decode-1'])('a client that leaves while %s works releases both', async (busy) => {
    const fleet = await openFleet(['prefill-1', 'decode-1']);
    fleet.network.msPerToken = 10;
    const gone = new AbortController();
    const body = newPrompt(busy === 'prefill-1' ? 5_000 : WORDS);
    const answer = ask(fleet.url, { prompt: body }, gone.signal);
    await vi.waitFor(() => expect(asked(fleet, busy)).toBe(1), 10_000);
    gone.abort();
    await expect(answer).rejects.toThrow();
    await vi.waitFor(async () => expect(await active(fleet)).toBe(0));
    expect(fleet.network.transfers).toBe(0);
  });
});
