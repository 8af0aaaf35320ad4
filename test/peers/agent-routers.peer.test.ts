import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/ports.js';
import { AGENT_BODIES, cachedTokensOf } from './support/agent-bodies.js';
import { type ExactFleet, startExactFleet } from './support/exact-fleet.js';
import { probe, startFrontend } from './support/kv-accord.js';
import { lacks, type PeerName, peerPath } from './support/peers.js';
import { Program } from './support/program.js';
import { modelWithTokenizer, TOOL_FLAGS } from './support/tokenizer-model.js';
import { until } from './support/until.js';
import { startVllm, type Vllm } from './support/vllm.js';

/** `KV_ACCORD_ROUTER_TURNS`: turns of agents through each router; without it nothing is run, for it is a comparison, by hand. */
const TURNS = Number(process.env['KV_ACCORD_ROUTER_TURNS'] ?? 0);
const WIDTH = 32;
const MODEL = 'tiny-chatml';
/** Agents at work, whose turns come in turn. */
const AGENTS = 9;
/** Agents that have the same rules. */
const TEAM = 3;
/** Requests at a time, each of other agents; a router that looks at load spreads them. */
const AT_A_TIME = 3;
/** Turns of one conversation; then another one begins. */
const CONVERSATION = 6;
/** What the agents of a team have in common, about 200 tokens. */
const rulesOf = (team: number): string =>
  Array.from({ length: 20 }, (_, at) => `Rule ${team}.${at}: answer briefly and say what you know.`).join(
    ' ',
  );

/** One turn of the mix: chats, responses and messages by agent, every other turn as a stream. */
function turnOf(at: number): { readonly path: string; readonly body: object; readonly isStream: boolean } {
  const agent = at % AGENTS;
  const round = Math.floor(at / AGENTS);
  const conversation = Math.floor(round / CONVERSATION);
  const makeBody = AGENT_BODIES[agent % AGENT_BODIES.length] as (typeof AGENT_BODIES)[number];
  const name = `${rulesOf(Math.floor(agent / TEAM))} You are agent ${agent} in conversation ${conversation}.`;
  const [path, body] = makeBody(name, 1 + (round % CONVERSATION));
  const isStream = (agent + round) % 2 === 0;
  const stream = path.endsWith('/completions')
    ? { stream: true, stream_options: { include_usage: true } }
    : { stream: true };
  return { path, isStream, body: { model: MODEL, ...body, ...(isStream ? stream : {}) } };
}

/** What came of all turns through one router. */
interface Figures {
  readonly name: string;
  readonly cachedTokens: number;
  readonly hits: number;
  readonly answered: number;
  readonly statuses: ReadonlyMap<string, number>;
  readonly firstMs: readonly number[];
  /** Predictions that were not what the engine reported; undefined where there are none. */
  readonly wrong: number | undefined;
  /** The wrong ones, for a person: what was predicted and reported. */
  readonly wrongOnes: readonly string[];
}

/** Sends all turns, so many at a time. The turns of one agent never overlap. */
async function play(name: string, url: string, predicts: boolean, atATime: number): Promise<Figures> {
  const statuses = new Map<string, number>();
  const firstMs: number[] = [];
  const wrongOnes: string[] = [];
  let [cachedTokens, hits, answered, wrong] = [0, 0, 0, 0];
  const send = async (at: number): Promise<void> => {
    const { path, body, isStream } = turnOf(at);
    const startedMs = performance.now();
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(60_000),
    });
    let answer = '';
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) {
      if (answer === '' && isStream && response.ok) firstMs.push(performance.now() - startedMs);
      answer += decoder.decode(piece as Uint8Array, { stream: true });
    }
    if (!response.ok) {
      const key = `${response.status} ${path}`;
      statuses.set(key, (statuses.get(key) ?? 0) + 1);
      return;
    }
    const cached = cachedTokensOf(answer);
    answered += 1;
    cachedTokens += cached;
    if (cached > 0) hits += 1;
    if (!predicts) return;
    const predicted = Number(response.headers.get('x-kv-accord-cached-blocks')) * WIDTH;
    const mode = response.headers.get('x-kv-accord-routing-mode') ?? '';
    if (predicted === cached && mode === 'exact') return;
    wrong += 1;
    wrongOnes.push(`turn ${at}: ${predicted} predicted, ${cached} reported, ${mode}`);
  };
  const lane = async (first: number): Promise<void> => {
    // Agents by lane, so that each waits for its own answer alone.
    for (let at = 0; at < TURNS; at += 1) if ((at % AGENTS) % atATime === first) await send(at);
  };
  await Promise.all(Array.from({ length: atATime }, (_, first) => lane(first)));
  return {
    name,
    cachedTokens,
    hits,
    answered,
    statuses,
    firstMs: firstMs.sort((a, b) => a - b),
    wrong: predicts ? wrong : undefined,
    wrongOnes,
  };
}

function rowOf({ name, cachedTokens, hits, answered, statuses, firstMs, wrong }: Figures): string {
  const at = (share: number): string => `${(firstMs[Math.floor(firstMs.length * share)] ?? 0).toFixed(0)} ms`;
  const refused = [...statuses].map(([key, count]) => `${count} × ${key}`).join(', ') || 'none';
  const predictions = wrong === undefined ? 'none' : `${answered - wrong} of ${answered} right`;
  return `| ${name} | ${cachedTokens} | ${hits} of ${answered} | ${at(0.5)} / ${at(0.99)} | ${refused} | ${predictions} |`;
}

describe.skipIf(TURNS === 0 || lacks('vllm', 'smg', 'vllm-router', 'grpcurl'))(
  'agents through three routers',
  () => {
    const engines: Vllm[] = [];
    let fleet: ExactFleet;

    beforeAll(async () => {
      const model = modelWithTokenizer('chatml');
      const starts = [0, 1].map(() =>
        startVllm({ model, blockSize: WIDTH, flags: TOOL_FLAGS, developerMode: true }),
      );
      for (const start of await Promise.allSettled(starts))
        if (start.status === 'fulfilled') engines.push(start.value);
      await Promise.all(starts);
      fleet = await startExactFleet(engines);
      await until('the frontend to be ready', async () => {
        return (await probe(fleet.frontend, '/readyz')).status === 200;
      });
    });
    afterAll(async () => {
      await fleet?.stopOwn();
      for (const { program } of engines) await program.stop();
    });

    /** Has each engine compute a step: what it publishes goes out with one. */
    async function step(url: string): Promise<void> {
      const warm = { model: MODEL, prompt: Array(100).fill(5), max_tokens: 1 };
      const answer = await fetch(`${url}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(warm),
      });
      await answer.text();
    }

    /** Empties the caches of both, and waits until that is known: vLLM says so with its next step. */
    async function reset(): Promise<void> {
      for (const { url } of engines) {
        await step(url);
        expect((await fetch(`${url}/reset_prefix_cache`, { method: 'POST' })).status).toBe(200);
        await step(url);
      }
      await fleet.settled();
    }

    /** What was cached elsewhere and not used, by reason, and what results contradict. */
    async function lostHits(): Promise<string> {
      const page = await (await fetch(`${fleet.frontend.url}/metrics`)).text();
      return (page.match(/^kv_accord_router_(lost_|unexplained|worker_doubted|results).*$/gm) ?? []).join(
        '\n',
      );
    }

    /** Plays through a program of others. */
    async function through(
      name: string,
      peer: PeerName,
      command: (port: number, metricsPort: number) => readonly string[],
    ): Promise<Figures> {
      const port = await freePort();
      const program = new Program({
        name: name.replaceAll(/\W+/g, '-'),
        command: [peerPath(peer, 'bin', peer), ...command(port, await freePort())],
      });
      try {
        const url = `http://127.0.0.1:${port}`;
        const chat = JSON.stringify({
          model: MODEL,
          messages: [{ role: 'user', content: 'x' }],
          max_tokens: 1,
        });
        await until(
          `${name} to serve`,
          async () => {
            const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body: chat };
            return (await fetch(`${url}/v1/chat/completions`, asked)).ok;
          },
          { needs: [program] },
        );
        await reset();
        return await play(name, url, false, AT_A_TIME);
      } finally {
        await program.stop();
      }
    }

    it('is compared', async () => {
      const urls = engines.map(({ url }) => url);
      await reset();
      const alone = await play('kv-accord frontend, one at a time', fleet.frontend.url, true, 1);
      await reset();
      const lostBefore = await lostHits();
      const all = [alone, await play('kv-accord frontend', fleet.frontend.url, true, AT_A_TIME)];
      for (const weight of ['2', '4']) {
        const heavy = await startFrontend(
          `frontend-${weight}`,
          fleet.sidecars,
          ...['--decision-headers', '--tokenize-timeout', '30s', '--kv-overlap-score-weight', weight],
        );
        try {
          await until('the frontend', async () => (await probe(heavy, '/readyz')).status === 200);
          await reset();
          all.push(await play(`kv-accord frontend, weight ${weight}`, heavy.url, true, AT_A_TIME));
        } finally {
          await heavy.program.stop();
        }
      }
      console.log(all.flatMap(({ name, wrongOnes }) => [name, ...wrongOnes]).join('\n'));
      console.log(`lost hits before and after it:\n${lostBefore}\n${await lostHits()}`);
      const sources = engines.flatMap(({ url, ports }) => [
        ...['--kv-event-source', `${url}=tcp://127.0.0.1:${ports.zmq}`],
        ...['--kv-event-replay-source', `${url}=tcp://127.0.0.1:${ports.zmq + 1}`],
      ]);
      const others = [
        [
          'vllm-router, kv_aware',
          'vllm-router',
          [
            '--policy',
            'kv_aware',
            '--kv-event-block-size',
            String(WIDTH),
            '--kv-event-model',
            MODEL,
            ...sources,
          ],
        ],
        ['vllm-router, cache_aware', 'vllm-router', ['--policy', 'cache_aware']],
        ['smg, cache_aware', 'smg', ['--policy', 'cache_aware', '--backend', 'vllm']],
      ] as const;
      for (const [name, peer, flags] of others) {
        try {
          all.push(
            await through(name, peer, (port, metricsPort) => [
              ...(peer === 'smg' ? ['launch'] : []),
              ...['--host', '127.0.0.1', '--port', String(port), '--worker-urls', ...urls, ...flags],
              ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(metricsPort)],
            ]),
          );
        } catch (error) {
          console.log(`${name} was not compared: ${String(error)}`);
        }
      }
      console.log(all.map(rowOf).join('\n'));
      expect(alone).toMatchObject({ wrong: 0, answered: TURNS });
    }, 1_800_000);
  },
);
