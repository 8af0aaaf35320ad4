/**
 * Requests over pairs of prefill and decode workers: what a decision over 1,000 x 1,000 of them costs, and what a worker takes
 * in memory, with the book of pairs that judges them while transfers end, fail and workers start again; and, in a simulated
 * fleet of 64 and 64 on 16 hosts in 4 racks, how long the first token takes and how much is moved between hosts, against
 * workers in turn and against the same host first.
 */
import { loadavg } from 'node:os';
import type { PairBook } from '../src/core/pairs/pair-book.js';
import { seededRandom } from '../src/edge/platform/random.js';
import { type Candidate, PARTS } from '../src/fleet/router/choice/candidates.js';
import { DEFAULT_COST_WEIGHTS } from '../src/fleet/router/choice/cost.js';
import type { Reservation } from '../src/fleet/router/choice/reserved-request.js';
import { type RoutedPrompt, WorkerSelector } from '../src/fleet/router/choice/worker-selector.js';
import { choosePair, DEFAULT_PAIR_OPTIONS } from '../src/fleet/router/pairs/choose-pair.js';
import { DecodeLinks } from '../src/fleet/router/pairs/decode-links.js';
import type { PairKnowledge } from '../src/fleet/router/pairs/pair-knowledge.js';
import { knownPairs } from '../test/fleet/router/support/known-pairs.js';
import { FilledIndex } from '../test/support/filled-index.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';
import { collectGarbage } from './support/garbage.js';
import { bookOf, join, memberOf, targetOf } from './support/pair-members.js';

const TOKENS_PER_BLOCK = 16;
const BYTES_PER_TOKEN = 128 * 1024;
const MIB = 1_048_576;
const AIM_P99_US = 1_000;
const { fraction } = seededRandom(7);

const upTo = (limit: number): number => Math.floor(fraction() * limit);

interface Placed extends Candidate {
  readonly host: number;
  readonly rack: number;
}

/** So many workers of either part, spread over hosts evenly. */
function fleetOf(count: number, hosts: number, hostsPerRack: number): readonly Placed[] {
  return (['prefill', 'decode'] as const).flatMap((part) =>
    Array.from({ length: count }, (_, nth) => {
      const host = nth % hosts;
      const target = targetOf(part, nth);
      return {
        ...{ target, workerId: target, instanceId: 'i-1', rank: 0, rankCount: 1, offer: 'full' as const },
        parts: part === 'prefill' ? PARTS.prefill : PARTS.decode | PARTS.whole,
        split: { protocol: 'nixl' as const, bootstrapAddresses: new Map(), bytesPerToken: BYTES_PER_TOKEN },
        host,
        rack: Math.floor(host / hostsPerRack),
      };
    }),
  );
}

/** What a link takes in ms for a MiB: NVLink within a host, RDMA within a rack, a third of that between racks. */
const LINKS = { host: 0.02, rack: 0.1, apart: 0.3 } as const;

function costOf(a: Placed, b: Placed): number {
  return a.host === b.host ? LINKS.host : a.rack === b.rack ? LINKS.rack : LINKS.apart;
}

function knowledgeOf(placed: readonly Placed[]): PairKnowledge {
  const byTarget = new Map(placed.map((one) => [one.target, one]));
  return knownPairs([...byTarget.keys()], {
    millisecondsPerMebibyte: (prefill, decode) =>
      costOf(byTarget.get(prefill) as Placed, byTarget.get(decode) as Placed),
  });
}

function selectorOf(placed: readonly Placed[]): WorkerSelector {
  const selector = new WorkerSelector(
    { mode: 'kv', weights: DEFAULT_COST_WEIGHTS, temperature: 0 },
    { random: { fraction } },
  );
  selector.begin(new FilledIndex(TOKENS_PER_BLOCK), TOKENS_PER_BLOCK);
  selector.setCandidates(placed);
  return selector;
}

/** A prompt that nobody has. */
function promptOf(tokens: number): RoutedPrompt {
  const words = Uint32Array.from({ length: 2 * Math.floor(tokens / TOKENS_PER_BLOCK) }, () => upTo(2 ** 32));
  return { sequenceHashes: new Uint8Array(words.buffer), tokenCount: tokens };
}

interface Pair {
  readonly prefill: Placed;
  readonly decode: Placed;
  prefilled(): void;
  ended(): void;
}

type Choose = (prompt: RoutedPrompt) => Pair;

function pairAware(placed: readonly Placed[], pairs: PairKnowledge, selector = selectorOf(placed)): Choose {
  const links = new DecodeLinks();
  const byTarget = new Map(placed.map((one) => [one.target, one]));
  return (prompt) => {
    const pairing = { protocols: ['nixl' as const] };
    const choice = choosePair(
      { prompt, tokenCount: prompt.tokenCount, excluded: [], about: {}, pairing },
      { selector, pairs, links, options: DEFAULT_PAIR_OPTIONS },
    );
    if (choice?.type !== 'pair') throw new Error('no pair was chosen');
    const first = selector.count(choice.prefill, prompt);
    const second = selector.count(choice.decode, prompt, true);
    return {
      prefill: byTarget.get(choice.prefill.decided.candidate.target) as Placed,
      decode: byTarget.get(choice.decode.decided.candidate.target) as Placed,
      prefilled: () => end(first),
      ended: () => end(second),
    };
  };
}

function end(reservation: Reservation): void {
  reservation.flight?.end();
  reservation.release();
}

function split(placed: readonly Placed[]): { readonly prefills: Placed[]; readonly decodes: Placed[] } {
  const isPrefill = ({ target }: Placed): boolean => target.startsWith('prefill');
  return { prefills: placed.filter(isPrefill), decodes: placed.filter((one) => !isPrefill(one)) };
}

const NOTHING = (): void => {};

function inTurn(placed: readonly Placed[]): Choose {
  const { prefills, decodes } = split(placed);
  let turn = 0;
  return () => {
    turn += 1;
    // A step apart, or both would stand on one host each time.
    const prefill = prefills[turn % prefills.length] as Placed;
    const decode = decodes[(turn * 7 + 3) % decodes.length] as Placed;
    return { prefill, decode, prefilled: NOTHING, ended: NOTHING };
  };
}

/** The prefill worker in turn, then the decode worker of its host with the fewest requests. */
function sameHostFirst(placed: readonly Placed[]): Choose {
  const { prefills, decodes } = split(placed);
  const active = new Map(decodes.map((one) => [one, 0]));
  const add = (one: Placed, change: number): void => {
    active.set(one, (active.get(one) ?? 0) + change);
  };
  let turn = 0;
  return () => {
    turn += 1;
    const prefill = prefills[turn % prefills.length] as Placed;
    const near = decodes.filter(({ host }) => host === prefill.host);
    const decode = near.reduce((least, one) =>
      (active.get(one) ?? 0) < (active.get(least) ?? 0) ? one : least,
    );
    add(decode, 1);
    return { prefill, decode, prefilled: NOTHING, ended: () => add(decode, -1) };
  };
}

/** Events by their time. */
class Agenda {
  readonly #heap: { readonly atMs: number; readonly run: () => void }[] = [];
  nowMs = 0;

  at(atMs: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ atMs, run });
    for (let at = heap.length - 1; at > 0; ) {
      const above = (at - 1) >> 1;
      if ((heap[above]?.atMs ?? 0) <= (heap[at]?.atMs ?? 0)) break;
      [heap[above], heap[at]] = [heap[at] as never, heap[above] as never];
      at = above;
    }
  }

  run(): void {
    const heap = this.#heap;
    for (let next = heap[0]; next !== undefined; next = heap[0]) {
      const last = heap.pop() as typeof next;
      if (heap.length > 0) {
        heap[0] = last;
        for (let at = 0; ; ) {
          const [left, right] = [2 * at + 1, 2 * at + 2];
          let least = at;
          if ((heap[left]?.atMs ?? Infinity) < (heap[least]?.atMs ?? Infinity)) least = left;
          if ((heap[right]?.atMs ?? Infinity) < (heap[least]?.atMs ?? Infinity)) least = right;
          if (least === at) break;
          [heap[least], heap[at]] = [heap[at] as never, heap[least] as never];
          at = least;
        }
      }
      this.nowMs = next.atMs;
      next.run();
    }
  }
}

const REQUESTS = IS_QUICK ? 2_000 : 20_000;
/** Requests in a second, of which 64 prefill workers compute some 85 %. */
const RATE = 170;
const PREFILL_MS_PER_TOKEN = 0.08;
/** A step of a decode engine, and what each further request adds to it. */
const STEP_MS = 8;
const STEP_MS_PER_REQUEST = 0.25;

interface Played {
  readonly firstTokenMs: number[];
  movedGib: number;
  betweenHostsGib: number;
}

function play(choose: Choose): Played {
  const agenda = new Agenda();
  const freeAtMs = new Map<Placed, number>();
  const running = new Map<Placed, number>();
  const played: Played = { firstTokenMs: [], movedGib: 0, betweenHostsGib: 0 };
  const draw = seededRandom(3).fraction;
  let atMs = 0;
  for (let nth = 0; nth < REQUESTS; nth += 1) {
    atMs += (-Math.log(1 - draw()) * 1_000) / RATE;
    // From 500 to 20,000 tokens, most of them short; answers from 20 to 800.
    const tokens = Math.round(500 * 40 ** (draw() ** 2));
    const answer = Math.round(20 * 40 ** draw());
    const arrivedMs = atMs;
    agenda.at(arrivedMs, () => {
      const pair = choose(promptOf(tokens));
      const { prefill, decode } = pair;
      const doneMs = Math.max(arrivedMs, freeAtMs.get(prefill) ?? 0) + tokens * PREFILL_MS_PER_TOKEN;
      freeAtMs.set(prefill, doneMs);
      const mebibytes = (tokens * BYTES_PER_TOKEN) / MIB;
      played.movedGib += mebibytes / 1_024;
      if (prefill.host !== decode.host) played.betweenHostsGib += mebibytes / 1_024;
      agenda.at(doneMs, () => {
        pair.prefilled();
        agenda.at(doneMs + mebibytes * costOf(prefill, decode), () => {
          const others = running.get(decode) ?? 0;
          running.set(decode, others + 1);
          const stepMs = STEP_MS + STEP_MS_PER_REQUEST * others;
          played.firstTokenMs.push(agenda.nowMs + stepMs - arrivedMs);
          agenda.at(agenda.nowMs + answer * stepMs, () => {
            running.set(decode, (running.get(decode) ?? 1) - 1);
            pair.ended();
          });
        });
      });
    });
  }
  agenda.run();
  return played;
}

function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(part * values.length)] ?? Number.NaN;
}

const WORKERS = 1_000;
const DECISIONS = IS_QUICK ? 1_000 : 20_000;
/** Decisions of which the processor time is one figure: its clock may be as coarse as a few of them. */
const BATCH = 50;
/** Each so many decisions a worker starts again, and a pair fails three times. */
const EACH_RESTART = 20;
const EACH_FAILURE = 25;
const NANOSECONDS_PER_US = 1_000n;

/** Processor time of the whole process so far: what it waits for while others have the core is no part of it. */
function processorUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function bytesInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** What happens to pairs between two decisions: a transfer ends, and now and then one fails, or a worker starts again. */
function live(book: PairBook, nth: number, { prefill, decode }: Pair): void {
  const sizeBytes = 10_000 * BYTES_PER_TOKEN;
  const durationMs = (sizeBytes / MIB) * costOf(prefill, decode) * (0.5 + fraction());
  book.transferDone(prefill.target, decode.target, { sizeBytes, durationMs });
  if (nth % EACH_FAILURE === 0)
    for (let failed = 0; failed < 3; failed += 1)
      book.transferFailed(prefill.target, decode.target, 'it timed out', nth);
  if (nth % EACH_RESTART === 0)
    join(book, memberOf(nth % 2 === 0 ? 'prefill' : 'decode', upTo(WORKERS), nth));
  book.advance(nth);
}

function decide(): void {
  title(
    `A decision over ${WORKERS} prefill and ${WORKERS} decode workers, prompts of 10,000 tokens, both reserved; load average ${loadavg()[0]?.toFixed(1)}`,
  );
  const placed = fleetOf(WORKERS, WORKERS / 4, 16);
  const emptyBytes = bytesInUse();
  const book = bookOf(WORKERS);
  const selector = selectorOf(placed);
  const choose = pairAware(placed, book, selector);
  figure('memory of a worker, with its pairs', (bytesInUse() - emptyBytes) / (2 * WORKERS), 'bytes');
  const active: Pair[] = [];
  const clockUs: number[] = [];
  const singleUs: number[] = [];
  const batchUs: number[] = [];
  let batch = 0;
  for (let nth = 0; nth < DECISIONS; nth += 1) {
    const prompt = promptOf(10_000);
    // What changed since the last decision is judged within this one.
    const startNs = process.hrtime.bigint();
    const before = processorUs();
    const pair = choose(prompt);
    const took = processorUs() - before;
    clockUs.push(Number((process.hrtime.bigint() - startNs) / NANOSECONDS_PER_US));
    singleUs.push(took);
    batch += took;
    if ((nth + 1) % BATCH === 0) {
      batchUs.push(batch / BATCH);
      batch = 0;
    }
    pair.prefilled();
    active.push(pair);
    if (active.length > 2_000) active.splice(upTo(active.length), 1)[0]?.ended();
    live(book, nth, pair);
  }
  const warm = (all: readonly number[]): readonly number[] => all.slice(Math.floor(all.length / 10));
  figure('p50, by the clock', median(warm(clockUs)), 'us');
  figure('p99, by the clock', quantile(warm(clockUs), 0.99), 'us');
  figure('p50, processor time', median(warm(singleUs)), 'us');
  ratio('p99, processor time', quantile(warm(singleUs), 0.99), AIM_P99_US, 'us', 1);
  figure(`batches of ${BATCH}, mean, p50`, median(warm(batchUs)), 'us');
  figure(`batches of ${BATCH}, mean, the worst`, Math.max(...warm(batchUs)), 'us');
}

function compare(): void {
  const placed = fleetOf(64, 16, 4);
  title(`${REQUESTS} requests to 64 prefill and 64 decode workers on 16 hosts in 4 racks, ${RATE} a second`);
  for (const [what, choose] of [
    ['pairs by load, cache and transfer', pairAware(placed, knowledgeOf(placed))],
    ['both in turn', inTurn(placed)],
    ['the same host first', sameHostFirst(placed)],
  ] as const) {
    const { firstTokenMs, movedGib, betweenHostsGib } = play(choose);
    console.log(`  ${what}`);
    figure('  first token, p50', median(firstTokenMs), 'ms');
    figure('  first token, p99', quantile(firstTokenMs, 0.99), 'ms');
    figure('  moved between hosts', (100 * betweenHostsGib) / movedGib, '%');
    figure('  moved in all', movedGib, 'GiB');
  }
}

decide();
compare();
