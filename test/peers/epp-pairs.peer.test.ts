import { describe, expect, it, onTestFinished } from 'vitest';
import type { TransferNetwork } from '../../src/tools/demo/engines/transfer-network.js';
import { newPrompt, openPairStage, WORDS } from '../support/pair-stage.js';
import { type Envoy, startEnvoy } from './support/envoy.js';
import { forThisTest } from './support/for-this-test.js';
import { logLines, probe, type Served, startEppWith } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { startRoutingSidecar } from './support/routing-sidecars.js';
import { until } from './support/until.js';

/** So many requests must leave nothing reserved. */
const REQUESTS = Number(process.env['KV_ACCORD_EPP_REQUESTS'] ?? 500);

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
    const { stage, network } = await openPairStage(names, {
      add: (close) => onTestFinished(async () => void (await close())),
    });
    const given: Given[] = [];
    for (const { name, engine, addresses } of stage.workers)
      given.push({
        sidecar: addresses?.grpc.text ?? '',
        url: name.startsWith('prefill') ? engine.url : await routingSidecarOf(engine.url),
      });
    return { ...(await open(given)), network };
  }

  it('share requests, whole and streamed, and nobody but the picker says who computes the prompt', async () => {
    const door = await openPlayed('prefill-1', 'decode-1');
    const whole = await ask(door, { model: 'demo-model', prompt: newPrompt() });
    expect(await whole.json()).toMatchObject({ usage: { prompt_tokens: WORDS, completion_tokens: 4 } });
    const streamed = await ask(door, { model: 'demo-model', prompt: newPrompt(), stream: true });
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
      expect((await ask(door, { model: 'demo-model', prompt: newPrompt() })).status).toBe(500);
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
          const body = { model: 'demo-model', prompt: newPrompt(), stream: of % 2 === 0 };
          const answer = ask(door, body, { signal: gone.signal }).then((response) => response.text());
          if (of % 3 === 0) gone.abort();
          await answer.catch(() => undefined);
        }),
      );
    await untilIdle(door);
    expect(await metric(door, FAILED)).toBe(0);
  });
});

/** Before a decode engine, until the test is over; comes back with its base URL. */
async function routingSidecarOf(engineUrl: string): Promise<string> {
  const { url, stop } = await startRoutingSidecar(engineUrl);
  onTestFinished(async () => void (await stop()));
  return url;
}
