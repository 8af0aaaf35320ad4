import { cpus } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plainTable } from '../../src/edge/platform/data/plain-table.js';
import { probe, startFrontendWith } from '../../test/peers/support/kv-accord.js';
import { MODEL, PairFleet, PROMPT } from '../../test/peers/support/pair-fleet.js';
import { lacks, type PeerName, peerPath } from '../../test/peers/support/peers.js';
import { Program } from '../../test/peers/support/program.js';
import { tinyModel } from '../../test/peers/support/tiny-model.js';
import { until } from '../../test/peers/support/until.js';
import { receivedTokens } from '../../test/peers/support/vllm-pair.js';
import { freePort } from '../../test/support/ports.js';
import { median } from '../support/figures.js';
import { cpuMsOf } from '../support/server-process.js';
import { type PairTurn, playPairChat, type Target } from './pair-chat.js';

/** Conversations of each side, in all rounds together; each is a first turn and a follow-up. */
const CHATS = Number(process.env['KV_ACCORD_PAIR_CHATS'] ?? 60);
/** The sides take turns so often. */
const ROUNDS = 6;
const AT_A_TIME = [1, 4];
/** A router that serves has found its engines by then. */
const NEEDED_MS = 30_000;

/** One way to the two engines. */
interface Side {
  readonly name: string;
  readonly target: Target;
  /** Whose processor time counts; none where the client asks the engines itself. */
  readonly programs: readonly Program[];
}

/** What came of one side at one load. */
interface Outcome {
  readonly side: Side;
  readonly turns: PairTurn[];
  cpuMs: number;
  sidecarsMs: number;
  received: number;
}

describe.skipIf(lacks('vllm', 'nixl', 'vllm-router'))(
  'one prefill and one decode vLLM behind routers',
  () => {
    const fleet = new PairFleet();
    const sides: Side[] = [];
    const own: Program[] = [];
    const refused: string[] = [];

    beforeAll(async () => {
      await Promise.all(
        ['prefill-0', 'decode-0'].map((name) => fleet.startEngine(name, { developerMode: true })),
      );
      await fleet.serveWith('prefill-0', 'decode-0');
      const { url: prefill } = fleet.engine('prefill-0');
      const { url: decode } = fleet.engine('decode-0');
      sides.push({ name: 'the client itself', target: { type: 'engines', prefill, decode }, programs: [] });
      for (const [name, ...flags] of [
        ['kv-accord frontend'],
        ['kv-accord frontend, --tokenizer DIR', '--tokenizer', tinyModel(MODEL)],
      ] as const) {
        const served = await startFrontendWith(name.replaceAll(/\W+/g, '-'), [
          ...['--workers', fleet.workers, '--log-level', 'warn', ...flags],
        ]);
        own.push(served.program);
        await until(`${name} to be ready`, async () => (await probe(served, '/readyz')).status === 200, {
          needs: [served.program],
          timeoutMs: NEEDED_MS,
        });
        sides.push({ name, target: { type: 'router', url: served.url }, programs: [served.program] });
      }
      const workers = ['--prefill', prefill, '--decode', decode];
      await Promise.all([
        addPeer('vllm-router 0.1.17, cache_aware', 'vllm-router', [
          ...['--vllm-pd-disaggregation', '--worker-startup-check-interval', '1', ...workers],
          ...['--log-level', 'warning'],
        ]),
        addPeer('smg 1.13.0, cache_aware', 'smg', [
          ...['launch', '--pd-disaggregation', '--backend', 'vllm', '--log-level', 'warn', ...workers],
        ]),
      ]);
      // Until V8 and the engines' kernels are warm.
      await play(Math.max(...AT_A_TIME), 1);
    });
    afterAll(async () => {
      for (const program of own) await program.stop();
      await fleet.stop();
    });

    /** A router of others; one that does not serve these engines is said, with what it answered. */
    async function addPeer(name: string, peer: PeerName, flags: readonly string[]): Promise<void> {
      if (lacks(peer)) return;
      const port = await freePort();
      const program = new Program({
        name: name.replaceAll(/\W+/g, '-'),
        command: [
          ...[peerPath(peer, 'bin', peer), ...flags, '--host', '127.0.0.1', '--port', String(port)],
          ...['--prometheus-host', '127.0.0.1', '--prometheus-port', String(await freePort())],
        ],
      });
      own.push(program);
      const target: Target = { type: 'router', url: `http://127.0.0.1:${port}` };
      let last = '';
      try {
        await until(
          `${name} to serve`,
          async () => {
            const { status, text } = await playPairChat(target, { model: MODEL, words: 40, seed: 1 });
            last = `${status} ${text.slice(0, 300)}`;
            return status === 200;
          },
          { needs: [program], timeoutMs: NEEDED_MS, pollMs: 1_000 },
        );
        sides.push({ name, target, programs: [program] });
      } catch {
        refused.push(`${name} was not compared: ${last || program.logTail}`);
        await program.stop();
      }
    }

    const cpuOf = (programs: readonly Program[]): number =>
      programs.reduce((sumMs, { pid }) => sumMs + cpuMsOf(pid ?? 0), 0);

    /** So many rounds of all sides in turns. */
    async function play(atATime: number, rounds: number): Promise<Outcome[]> {
      const outcomes = sides.map((side): Outcome => {
        return { side, turns: [], cpuMs: 0, sidecarsMs: 0, received: 0 };
      });
      const sidecars = ['prefill-0', 'decode-0'].map((name) => fleet.sidecar(name).program);
      const decode = fleet.engine('decode-0');
      for (let round = 0; round < rounds; round += 1) {
        for (const outcome of outcomes) {
          const { side, turns } = outcome;
          const before = [cpuOf(side.programs), cpuOf(sidecars), await receivedTokens(decode)] as const;
          let left = Math.ceil(CHATS / ROUNDS);
          const lane = async (): Promise<void> => {
            for (; left > 0; ) {
              left -= 1;
              const first = await playPairChat(side.target, {
                model: MODEL,
                words: PROMPT,
                seed: nextSeed(),
              });
              const next = await playPairChat(side.target, {
                model: MODEL,
                words: 48,
                seed: nextSeed(),
                after: first,
              });
              turns.push(first, next);
            }
          };
          await Promise.all(Array.from({ length: atATime }, lane));
          outcome.cpuMs += cpuOf(side.programs) - before[0];
          outcome.sidecarsMs += cpuOf(sidecars) - before[1];
          outcome.received += (await receivedTokens(decode)) - before[2];
        }
      }
      return outcomes;
    }

    let seeds = 1;
    const nextSeed = (): number => {
      seeds += 1;
      return seeds;
    };

    it.each(AT_A_TIME)('are compared, %d at a time', async (atATime) => {
      const outcomes = await play(atATime, ROUNDS);
      const [cpu] = cpus();
      console.log(
        `${CHATS} chats of two turns for each side, ${atATime} at a time; ${cpus().length} cores of ${cpu?.model ?? 'an unknown processor'}\n${tableOf(outcomes)}\n${refused.join('\n')}`,
      );
      for (const { turns } of outcomes)
        expect(turns.map(({ status }) => status).every((s) => s === 200)).toBe(true);
    });
  },
);

function tableOf(outcomes: readonly Outcome[]): string {
  const table = plainTable([
    ...['router', 'first turns: TTFT p50', 'p90', 'whole', 'follow-ups: TTFT p50', 'p90', 'whole'],
    ...['CPU a request', 'sidecars', 'received a chat'],
  ]);
  for (const { side, turns, cpuMs, sidecarsMs, received } of outcomes) {
    const [first, next] = [0, 1].map((turn) => turns.filter((_, at) => at % 2 === turn));
    table.push([
      side.name,
      ...[first, next].flatMap((some = []) => [
        ms(median(some.map(({ firstMs }) => firstMs))),
        ms(
          quantile(
            some.map(({ firstMs }) => firstMs),
            0.9,
          ),
        ),
        ms(median(some.map(({ wholeMs }) => wholeMs))),
      ]),
      side.programs.length === 0 ? '-' : ms(cpuMs / turns.length),
      ms(sidecarsMs / turns.length),
      String(Math.round(received / (turns.length / 2))),
    ]);
  }
  return table.toString();
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`;
}
