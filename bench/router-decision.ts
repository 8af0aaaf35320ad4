/**
 * What it costs to choose among 1,000 workers for a prompt of 10,000 tokens:
 * hashing its blocks, weighing every worker, counting the request as active and
 * letting it go, while other requests are active on all workers; against
 * hashing alone, and against the plain way to do it, a `Set` and a `Map` for
 * each worker.
 */
import { loadavg } from 'node:os';
import { BlockHasher } from '../src/core/blocks/block-hasher.js';
import { seededRandom } from '../src/edge/platform/random.js';
import type { AskedIndex } from '../src/fleet/indexer/index/asked-index.js';
import type { Candidate } from '../src/fleet/router/choice/candidates.js';
import { DEFAULT_COST_WEIGHTS } from '../src/fleet/router/choice/cost.js';
import type { Reservation } from '../src/fleet/router/choice/reserved-request.js';
import { WorkerSelector } from '../src/fleet/router/choice/worker-selector.js';
import { FilledIndex } from '../test/support/filled-index.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';

const WORKERS = 1_000;
const TOKENS = 10_000;
/** Heads that conversations share, as system prompts with their tools are, and how many workers hold each. */
const HEADS = 16;
const HEAD_TOKENS = 4_096;
const HEAD_WORKERS = WORKERS / 2;
const CONVERSATIONS = IS_QUICK ? 128 : 1_024;
/** Workers that hold a part of a conversation's own blocks. */
const CONVERSATION_WORKERS = 4;
/** Blocks of each worker that no prompt asks for. */
const OTHER_BLOCKS = IS_QUICK ? 200 : 2_000;
/** Requests that are active at any time. */
const ACTIVE = IS_QUICK ? 500 : 4_000;
const ROUNDS = IS_QUICK ? 1 : 7;
/** Of each round. */
const DECISIONS = IS_QUICK ? 1_000 : 5_000;
const PLAIN_DECISIONS = IS_QUICK ? 20 : 100;
const VOCABULARY = 128_000;
const AIM_P99_US = 1_000;

const hasher = new BlockHasher();
const seed = hasher.seedOf('', '');
const { fraction } = seededRandom(42);

function upTo(limit: number): number {
  return Math.floor(fraction() * limit);
}

function someTokens(count: number): Uint32Array {
  return Uint32Array.from({ length: count }, () => upTo(VOCABULARY));
}

function hash(tokens: Uint32Array, tokensPerBlock: number): Uint8Array {
  return hasher.hashTokens(tokens, { tokensPerBlock, unit: 'token', seed }).sequenceHashes;
}

const heads = Array.from({ length: HEADS }, () => someTokens(HEAD_TOKENS));
const prompts = Array.from({ length: CONVERSATIONS }, () => {
  const prompt = someTokens(TOKENS);
  prompt.set(heads[upTo(HEADS)] as Uint32Array);
  return prompt;
});
const candidates: readonly Candidate[] = Array.from({ length: WORKERS }, (_, worker) => ({
  target: `10.0.${Math.floor(worker / 250)}.${worker % 250}:50061`,
  workerId: `worker-${worker}`,
  instanceId: `instance-${worker}`,
  rank: 0,
  rankCount: 1,
  offer: 'full',
}));

/** What each worker holds, as packed sequence hashes. */
function holdings(tokensPerBlock: number): { readonly asked: Uint8Array[][]; readonly other: Uint8Array[] } {
  const asked: Uint8Array[][] = candidates.map(() => []);
  for (const head of heads) {
    const hashes = hash(head, tokensPerBlock).slice();
    for (let n = 0; n < HEAD_WORKERS; n += 1) asked[upTo(WORKERS)]?.push(hashes);
  }
  for (const prompt of prompts) {
    for (let n = 0; n < CONVERSATION_WORKERS; n += 1) {
      const tokens = HEAD_TOKENS + upTo(TOKENS - HEAD_TOKENS);
      asked[upTo(WORKERS)]?.push(hash(prompt.subarray(0, tokens), tokensPerBlock).slice());
    }
  }
  const other = candidates.map(() => {
    const words = Uint32Array.from({ length: 2 * OTHER_BLOCKS }, () => upTo(2 ** 32));
    return new Uint8Array(words.buffer);
  });
  return { asked, other };
}

function indexOf(tokensPerBlock: number): AskedIndex {
  const { asked, other } = holdings(tokensPerBlock);
  const index = new FilledIndex(tokensPerBlock);
  for (const [worker, { target, rank }] of candidates.entries()) {
    for (const hashes of [...(asked[worker] ?? []), other[worker] as Uint8Array])
      index.hold(target, rank, 'device', hashes);
  }
  return index;
}

/** The plain way: what each worker holds and what is active there, each by itself. */
class PlainWorkers {
  readonly #held: readonly Set<number>[];
  readonly #active: readonly Map<number, number>[] = candidates.map(() => new Map());

  constructor(tokensPerBlock: number) {
    this.#held = holdings(tokensPerBlock).asked.map((lists) => new Set(lists.flatMap(numbersOf)));
  }

  decide(hashes: readonly number[], tokensPerBlock: number): number {
    let cheapest = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let worker = 0; worker < WORKERS; worker += 1) {
      const held = this.#held[worker] as Set<number>;
      const active = this.#active[worker] as Map<number, number>;
      let cached = 0;
      while (cached < hashes.length && held.has(hashes[cached] as number)) cached += 1;
      let shared = 0;
      while (shared < hashes.length && active.has(hashes[shared] as number)) shared += 1;
      const cost = TOKENS / tokensPerBlock - cached + active.size + hashes.length - shared;
      if (cost >= least) continue;
      least = cost;
      cheapest = worker;
    }
    return cheapest;
  }

  add(worker: number, hashes: readonly number[]): void {
    const active = this.#active[worker] as Map<number, number>;
    for (const block of hashes) active.set(block, (active.get(block) ?? 0) + 1);
  }

  remove(worker: number, hashes: readonly number[]): void {
    const active = this.#active[worker] as Map<number, number>;
    for (const block of hashes) {
      const count = active.get(block) ?? 0;
      if (count > 1) active.set(block, count - 1);
      else active.delete(block);
    }
  }
}

/** The upper 53 bits of each hash, which a `Set` takes without an allocation for each. */
function numbersOf(packed: Uint8Array): number[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length);
  return Array.from(
    { length: packed.length / 8 },
    (_, at) => view.getUint32(8 * at + 4, true) * 2 ** 21 + (view.getUint32(8 * at, true) >>> 11),
  );
}

/** Half of the prompts begin a conversation after a known head, the others go on with one. */
function nextPrompt(): Uint32Array {
  const known = prompts[upTo(CONVERSATIONS)] as Uint32Array;
  if (fraction() < 0.5) return known;
  const prompt = known.slice();
  for (let at = HEAD_TOKENS; at < TOKENS; at += 1) prompt[at] = upTo(VOCABULARY);
  return prompt;
}

const WHATS = ['hashing', 'deciding', 'reserving', 'processor', 'releasing', 'plain'] as const;

/** Percentiles of each round. */
type Rounds = Readonly<Record<(typeof WHATS)[number], { p50: number[]; p99: number[]; longest: number[] }>>;

function noRounds(): Rounds {
  const none = () => ({ p50: [], p99: [], longest: [] });
  return {
    hashing: none(),
    deciding: none(),
    reserving: none(),
    processor: none(),
    releasing: none(),
    plain: none(),
  };
}

/** One block size, with requests that are active on all workers. */
class Measured {
  readonly tokensPerBlock: number;
  readonly rounds: Rounds = noRounds();
  readonly #router: WorkerSelector;
  readonly #active: Reservation[] = [];
  readonly #plain: PlainWorkers;
  readonly #plainActive: { readonly worker: number; readonly hashes: readonly number[] }[] = [];

  constructor(tokensPerBlock: number) {
    this.tokensPerBlock = tokensPerBlock;
    this.#router = new WorkerSelector(
      { mode: 'kv', weights: DEFAULT_COST_WEIGHTS, temperature: 0 },
      { random: seededRandom(1) },
    );
    this.#router.begin(indexOf(tokensPerBlock), tokensPerBlock);
    this.#router.setCandidates(candidates);
    this.#plain = new PlainWorkers(tokensPerBlock);
    while (this.#active.length < ACTIVE) {
      const tokens = nextPrompt();
      this.#active.push(this.#reserve(tokens));
      const hashes = numbersOf(hash(tokens, tokensPerBlock));
      const worker = upTo(WORKERS);
      this.#plain.add(worker, hashes);
      this.#plainActive.push({ worker, hashes });
    }
  }

  run(): void {
    const times: Record<string, number[]> = Object.fromEntries(WHATS.map((what) => [what, []]));
    const timed = <T>(what: (typeof WHATS)[number], call: () => T): T => {
      const startNs = process.hrtime.bigint();
      const result = call();
      times[what]?.push(Number(process.hrtime.bigint() - startNs) / 1_000);
      return result;
    };
    const { tokensPerBlock } = this;
    for (let number = 0; number < DECISIONS; number += 1) {
      const tokens = nextPrompt();
      timed('hashing', () => hash(tokens, tokensPerBlock));
      timed('deciding', () =>
        this.#router.decide({ sequenceHashes: hash(tokens, tokensPerBlock), tokenCount: TOKENS }, []),
      );
      const before = process.cpuUsage();
      const reservation = timed('reserving', () => this.#reserve(tokens));
      // Of the whole process: while others want the core too, the clock measures them more than this.
      const { user, system } = process.cpuUsage(before);
      times['processor']?.push(user + system);
      reservation.prefillDone();
      reservation.progress(upTo(1_000));
      this.#active.push(reservation);
      // Requests end in any order.
      const [ended] = this.#active.splice(upTo(ACTIVE), 1);
      timed('releasing', () => {
        ended?.flight?.end();
        ended?.release();
      });
    }
    for (let number = 0; number < PLAIN_DECISIONS; number += 1) {
      const tokens = nextPrompt();
      this.#plainActive.push(timed('plain', () => this.#reservePlainly(tokens)));
      const [ended] = this.#plainActive.splice(upTo(ACTIVE), 1);
      if (ended !== undefined) this.#plain.remove(ended.worker, ended.hashes);
    }
    for (const what of WHATS) {
      const sorted = (times[what] ?? []).sort((a, b) => a - b);
      const { p50, p99, longest } = this.rounds[what];
      p50.push(median(sorted));
      p99.push(sorted[Math.floor(0.99 * sorted.length)] ?? Number.NaN);
      longest.push(sorted.at(-1) ?? Number.NaN);
    }
  }

  /** Ends all requests. Throws when anything is active then. */
  end(): void {
    for (const reservation of this.#active) {
      reservation.flight?.end();
      reservation.release();
    }
    const { inFlightBlocks } = this.#router;
    const left = this.#router.loads().reduce((sum, load) => sum + load.activeBlocks, inFlightBlocks);
    if (left !== 0) throw new Error(`${left} blocks are active although every request has ended`);
  }

  #reserve(tokens: Uint32Array): Reservation {
    const sequenceHashes = hash(tokens, this.tokensPerBlock);
    return this.#router.reserve({ sequenceHashes, tokenCount: TOKENS }, []);
  }

  #reservePlainly(tokens: Uint32Array): { readonly worker: number; readonly hashes: readonly number[] } {
    const hashes = numbersOf(hash(tokens, this.tokensPerBlock));
    const worker = this.#plain.decide(hashes, this.tokensPerBlock);
    this.#plain.add(worker, hashes);
    return { worker, hashes };
  }
}

title(
  `routing ${TOKENS.toLocaleString('en')} tokens among ${WORKERS.toLocaleString('en')} workers, ${ACTIVE.toLocaleString('en')} requests active, ${ROUNDS} rounds of ${DECISIONS.toLocaleString('en')} decisions`,
);
const sizes = [16, 32].map((tokensPerBlock) => new Measured(tokensPerBlock));
for (let round = 1; round <= ROUNDS; round += 1) {
  for (const size of sizes) size.run();
  console.log(`  round ${round}: load of the machine ${(loadavg()[0] ?? 0).toFixed(2)}`);
}
for (const { tokensPerBlock, rounds } of sizes) {
  const { hashing, deciding, reserving, processor, releasing, plain } = rounds;
  console.log(`  blocks of ${tokensPerBlock}:`);
  figure('hashing, p50', median(hashing.p50), 'us');
  figure('… p99', median(hashing.p99), 'us');
  ratio('hashing and deciding, p50, to hashing alone', median(deciding.p50), median(hashing.p50), 'us', 10);
  figure('… p99', median(deciding.p99), 'us');
  ratio('and reserving, p50, to the plain way', median(reserving.p50), median(plain.p50), 'us', 1);
  ratio('… p99, to the plain way', median(reserving.p99), median(plain.p99), 'us', 1);
  ratio('… p99, to what is wanted', median(reserving.p99), AIM_P99_US, 'us', 1);
  ratio('… p99, processor time, to what is wanted', median(processor.p99), AIM_P99_US, 'us', 1);
  figure('… p50, processor time', median(processor.p50), 'us');
  figure('… longest of all', Math.max(...reserving.longest), 'us');
  figure('releasing, p50', median(releasing.p50), 'us');
  figure('… p99', median(releasing.p99), 'us');
}
for (const size of sizes) size.end();
