import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/edge/platform/clock.js';
import { systemRandom } from '../../src/edge/platform/random.js';
import { EngineRole } from '../../src/gen/kvaccord/v1/capabilities.js';
import { simulatedVllm } from '../../src/tools/demo/engines/simulated-vllm.js';
import { TransferNetwork } from '../../src/tools/demo/engines/transfer-network.js';
import { planWorker, running } from '../../src/tools/demo/scenes/fleet.js';
import { Stage } from '../../src/tools/demo/stage.js';
import { words } from './support/completions.js';
import { type Envoy, startEnvoy } from './support/envoy.js';
import { forThisTest } from './support/for-this-test.js';
import { logLines, probe, type Served, startEppWith, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { startRoutingSidecar } from './support/routing-sidecars.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { receivedTokens, startPairEngine } from './support/vllm-pair.js';

/** Two engines that exchange blocks want more than two processors: they run by hand alone. */
const IS_WANTED = process.env['KV_ACCORD_REAL_PAIRS'] === '1';
/** So many requests must leave nothing reserved. */
const REQUESTS = Number(process.env['KV_ACCORD_EPP_REQUESTS'] ?? 500);
/** Tokens of a prompt that is worth a transfer. */
const PROMPT = 400;

/** An Envoy whose picker is kv-accord. */
interface Door {
  readonly envoy: Envoy;
  readonly epp: Served;
}

/** A worker as the picker is given it: its sidecar, and where requests for it go. */
interface Given {
  readonly sidecar: string;
  readonly url: string;
}

async function open(workers: readonly Given[], ...flags: readonly string[]): Promise<Door> {
  const epp = forThisTest(
    await startEppWith('epp', [
      ...['--workers', workers.map(({ sidecar }) => sidecar).join(',')],
      ...['--worker-urls', workers.map(({ sidecar, url }) => `${sidecar}=${url}`).join(',')],
      ...['--settle', '500ms', '--tokenize-timeout', '30s', ...flags],
    ]),
  );
  await until('the gate to open', async () => (await probe(epp, '/readyz')).status === 200, {
    needs: [epp.program],
  });
  const engines = workers.map(({ url }) => new URL(url).host);
  return { epp, envoy: forThisTest(await startEnvoy('envoy', { pickerPort: epp.pickerPort, engines })) };
}

function ask({ envoy }: Door, body: object, more: RequestInit = {}): Promise<Response> {
  return fetch(`${envoy.url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-prefiller-host-port': '203.0.113.9:80' },
    body: JSON.stringify({ max_tokens: 4, temperature: 0, ...body }),
    ...more,
  });
}

async function metric({ epp }: Door, pattern: RegExp): Promise<number> {
  const { body } = await probe(epp, '/metrics');
  return [...body.matchAll(new RegExp(pattern, 'gm'))].reduce((sum, [, value]) => sum + Number(value), 0);
}

const SPLIT = /^kv_accord_pd_requests_total\{[^}]*how="split"[^}]*\} (\S+)$/;
const FAILED = /^kv_accord_pd_failed_transfers_total\{[^}]*\} (\S+)$/;
const RECOMPUTED = /^kv_accord_pd_recomputed_tokens_total\{[^}]*\} (\S+)$/;

const untilIdle = (door: Door): Promise<unknown> =>
  until('nothing to be reserved', async () => {
    const reserved = await metric(door, /^kv_accord_epp_reserved_requests (\S+)$/);
    const active = await metric(door, /^kv_accord_router_active_requests\{[^}]*\} (\S+)$/);
    return reserved === 0 && active === 0;
  });

describe.skipIf(lacks('envoy'))('prefill and decode workers behind a real Envoy', () => {
  /** Engines that are simulated, with sidecars; a routing sidecar before each decode engine. */
  async function openPlayed(
    ...names: readonly string[]
  ): Promise<Door & { readonly network: TransferNetwork }> {
    const network = new TransferNetwork();
    const stage = new Stage(
      { version: '0.0.0', probeIntervalMs: 100, settleMs: 100 },
      { clock: systemClock, random: systemRandom, onLine: () => undefined, onView: () => undefined },
    );
    onTestFinished(() => stage.close());
    await stage.open();
    await stage.addWorkers(
      names.map((name) => {
        const isPrefill = name.startsWith('prefill');
        const part = { role: isPrefill ? 'prefill' : 'decode', network } as const;
        const role = isPrefill ? EngineRole.PREFILL : EngineRole.DECODE;
        return { ...running(planWorker(name, 16, simulatedVllm, { part })), role };
      }),
    );
    const given: Given[] = [];
    for (const { name, engine, addresses } of stage.workers)
      given.push({
        sidecar: addresses?.grpc.text ?? '',
        url: name.startsWith('prefill') ? engine.url : await startRoutingSidecar(engine.url),
      });
    return { ...(await open(given)), network };
  }

  const prompt = (of: number): string => Array.from({ length: PROMPT }, (_, at) => `w${of}x${at}`).join(' ');

  it('share requests, whole and streamed, and nobody but the picker says who computes the prompt', async () => {
    const door = await openPlayed('prefill-1', 'decode-1');
    const whole = await ask(door, { model: 'demo-model', prompt: prompt(1) });
    expect(await whole.json()).toMatchObject({ usage: { prompt_tokens: PROMPT, completion_tokens: 4 } });
    const streamed = await ask(door, { model: 'demo-model', prompt: prompt(2), stream: true });
    expect((await streamed.text()).endsWith('data: [DONE]\n\n')).toBe(true);
    expect(door.network.transfers).toBe(2);
    const short = await ask(door, { model: 'demo-model', prompt: 'one two three' });
    expect(short.status).toBe(200);
    expect(door.network.transfers).toBe(2);
    expect(await metric(door, SPLIT)).toBe(2);
    expect(await metric(door, FAILED)).toBe(0);
    await untilIdle(door);
  });

  it('fail a pair and not its workers where nothing comes over', async () => {
    const door = await openPlayed('prefill-1', 'decode-1');
    door.network.failure = 'NIXL compatibility hash mismatch';
    for (let at = 0; at < 3; at += 1)
      expect((await ask(door, { model: 'demo-model', prompt: prompt(10 + at) })).status).toBe(500);
    expect(await metric(door, FAILED)).toBe(3);
    expect(await metric(door, /^kv_accord_pairs\{[^}]*state="set_aside"\} (\S+)$/)).toBe(1);
    expect(await metric(door, /^kv_accord_router_worker_ejected\{[^}]*\} (\S+)$/)).toBe(0);
    expect(logLines(door.epp.program).some(({ msg }) => msg.startsWith('The pair '))).toBe(true);
    await untilIdle(door);
  });

  it(`leave nothing reserved after ${REQUESTS} requests, a third of them given up`, async () => {
    const door = await openPlayed('prefill-1', 'prefill-2', 'decode-1', 'decode-2');
    for (let at = 0; at < REQUESTS; at += 25)
      await Promise.all(
        Array.from({ length: 25 }, async (_, of) => {
          const gone = new AbortController();
          const body = { model: 'demo-model', prompt: prompt(1_000 + at + of), stream: of % 2 === 0 };
          const answer = ask(door, body, { signal: gone.signal }).then((response) => response.text());
          if (of % 3 === 0) gone.abort();
          await answer.catch(() => undefined);
        }),
      );
    await untilIdle(door);
    expect(await metric(door, FAILED)).toBe(0);
  });
});

describe.skipIf(!IS_WANTED || lacks('envoy', 'vllm', 'nixl'))(
  'real pairs of vLLM engines behind a real Envoy',
  () => {
    it('share requests: the blocks move, and what the prefill engine had is what was predicted', async () => {
      const model = tinyModel('tiny');
      const engines = await Promise.all(
        (['prefill', 'decode'] as const).map((role) => startPairEngine({ model, role, developerMode: true })),
      );
      const given: Given[] = [];
      for (const { program, role, url, sideChannel } of engines) {
        onTestFinished(() => program.stop().then(() => undefined));
        const sidecar = await startSidecar(role, '--engine', url, '--side-channel', sideChannel);
        forThisTest(sidecar);
        const at = role === 'prefill' ? url : await startRoutingSidecar(url);
        given.push({ sidecar: `127.0.0.1:${sidecar.grpcPort}`, url: at });
      }
      const door = await open(given);
      const first = words(PROMPT, 3);
      const before = await receivedTokens(engines[1] as (typeof engines)[number]);
      const one = (await (await ask(door, { model: 'tiny', prompt: first })).json()) as Completion;
      expect(one.usage?.prompt_tokens).toBe(PROMPT);
      expect(await receivedTokens(engines[1] as (typeof engines)[number])).toBeGreaterThan(before);
      await untilIdle(door);
      let predicted = 0;
      await until('a follow-up to be predicted', async () => {
        const next = [...first, ...words(PROMPT, 500 + predicted)];
        const answer = (await (await ask(door, { model: 'tiny', prompt: next })).json()) as Completion;
        predicted += 1;
        return (answer.usage?.prompt_tokens_details?.cached_tokens ?? 0) > 0;
      });
      await untilIdle(door);
      const { groups } = JSON.parse((await probe(door.epp, '/api/v1/results')).body) as {
        groups: { ranks: { total: Record<string, string | undefined> }[] }[];
      };
      const sum = (name: string): number =>
        groups.flatMap(({ ranks }) => ranks).reduce((all, { total }) => all + Number(total[name] ?? 0), 0);
      expect(sum('predictedTokens')).toBeGreaterThan(0);
      expect(sum('overTokens')).toBe(0);
      expect(await metric(door, RECOMPUTED)).toBe(0);
      expect(await metric(door, FAILED)).toBe(0);
    });
  },
);

interface Completion {
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
  };
}
