/**
 * What it costs to choose among 1,000 workers for a prompt of 10,000 tokens:
 * hashing its blocks, weighing every worker, counting the request as active and
 * letting it go, while other requests are active on all workers; against
 * hashing alone, and against the plain way to do it, a `Set` and a `Map` for
 * each worker.
 */
import { BlockHasher } from '../src/blocks/block-hasher.js';
import type { AskedIndex } from '../src/indexer/asked-index.js';
import { seededRandom } from '../src/platform/random.js';
import type { Candidate } from '../src/router/candidates.js';
import { DEFAULT_COST_WEIGHTS } from '../src/router/cost.js';
import { GroupRouter, type Reservation } from '../src/router/group-router.js';
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
const DECISIONS = IS_QUICK ? 1_000 : 20_000;
const PLAIN_DECISIONS = IS_QUICK ? 20 : 200;
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

function microseconds(sinceNs: bigint): number {
  return Number(process.hrtime.bigint() - sinceNs) / 1_000;
}

function percentile(times: readonly number[], part: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

interface Times {
  readonly hashing: number[];
  readonly deciding: number[];
  readonly reserving: number[];
  readonly releasing: number[];
}

function measure(router: GroupRouter, tokensPerBlock: number): Times {
  const times: Times = { hashing: [], deciding: [], reserving: [], releasing: [] };
  const active: Reservation[] = [];
  for (let number = 0; number < ACTIVE + DECISIONS; number += 1) {
    const tokens = nextPrompt();
    let startNs = process.hrtime.bigint();
    hash(tokens, tokensPerBlock);
    const hashing = microseconds(startNs);

    startNs = process.hrtime.bigint();
    router.decide({ sequenceHashes: hash(tokens, tokensPerBlock), tokenCount: TOKENS }, []);
    const deciding = microseconds(startNs);

    startNs = process.hrtime.bigint();
    const sequenceHashes = hash(tokens, tokensPerBlock);
    const reservation = router.reserve({ sequenceHashes, tokenCount: TOKENS }, []);
    const reserving = microseconds(startNs);

    reservation.prefillDone();
    reservation.progress(upTo(1_000));
    active.push(reservation);
    if (active.length <= ACTIVE) continue;
    // Not the oldest always: requests end in any order.
    const [ended] = active.splice(upTo(ACTIVE), 1);
    startNs = process.hrtime.bigint();
    ended?.release();
    times.releasing.push(microseconds(startNs));
    times.hashing.push(hashing);
    times.deciding.push(deciding);
    times.reserving.push(reserving);
  }
  for (const reservation of active) reservation.release();
  const left = router.trackedBlocks + router.loads().reduce((sum, load) => sum + load.activeBlocks, 0);
  if (left !== 0) throw new Error(`${left} blocks are active although every request has ended`);
  return times;
}

function measurePlainly(tokensPerBlock: number): number[] {
  const workers = new PlainWorkers(tokensPerBlock);
  const active: { readonly worker: number; readonly hashes: readonly number[] }[] = [];
  const times: number[] = [];
  for (let number = 0; number < ACTIVE; number += 1) {
    const hashes = numbersOf(hash(nextPrompt(), tokensPerBlock));
    const worker = upTo(WORKERS);
    workers.add(worker, hashes);
    active.push({ worker, hashes });
  }
  for (let number = 0; number < PLAIN_DECISIONS; number += 1) {
    const tokens = nextPrompt();
    const startNs = process.hrtime.bigint();
    const hashes = numbersOf(hash(tokens, tokensPerBlock));
    const worker = workers.decide(hashes, tokensPerBlock);
    workers.add(worker, hashes);
    times.push(microseconds(startNs));
    active.push({ worker, hashes });
    const [ended] = active.splice(upTo(ACTIVE), 1);
    if (ended !== undefined) workers.remove(ended.worker, ended.hashes);
  }
  return times;
}

for (const tokensPerBlock of [16, 32]) {
  const router = new GroupRouter(
    { mode: 'kv', weights: DEFAULT_COST_WEIGHTS, temperature: 0 },
    { random: seededRandom(1) },
  );
  router.begin(indexOf(tokensPerBlock), 1, tokensPerBlock);
  router.setCandidates(candidates);
  const { hashing, deciding, reserving, releasing } = measure(router, tokensPerBlock);
  const plain = measurePlainly(tokensPerBlock);
  title(
    `routing ${TOKENS.toLocaleString('en')} tokens in blocks of ${tokensPerBlock} among ${WORKERS.toLocaleString('en')} workers, ${ACTIVE.toLocaleString('en')} requests active, ${DECISIONS.toLocaleString('en')} decisions`,
  );
  figure('hashing alone, p50', median(hashing), 'us');
  figure('… p99', percentile(hashing, 0.99), 'us');
  figure('hashing and deciding, p50', median(deciding), 'us');
  figure('… p99', percentile(deciding, 0.99), 'us');
  ratio('hashing, deciding and reserving, p50', median(reserving), median(plain), 'us', 1);
  ratio('… p99, against the plain way', percentile(reserving, 0.99), percentile(plain, 0.99), 'us', 1);
  ratio('… p99, against the aim', percentile(reserving, 0.99), AIM_P99_US, 'us', 1);
  figure('… longest', percentile(reserving, 1), 'us');
  figure('releasing, p50', median(releasing), 'us');
  figure('… p99', percentile(releasing, 0.99), 'us');
}
