import { Buffer } from 'node:buffer';
import { seededRandom } from '../../../../src/edge/platform/random.js';
import { DEFAULT_COST_WEIGHTS } from '../../../../src/fleet/router/choice/cost.js';
import { rankHash } from '../../../../src/fleet/router/choice/session-affinity.js';
import { type RoutedPrompt, WorkerSelector } from '../../../../src/fleet/router/choice/worker-selector.js';
import { FilledIndex } from '../../../support/filled-index.js';
import { chainOf } from './chained.js';

const TOKENS_PER_BLOCK = 32;
const TURNS = 500;
const AGENTS = 9;
/** Agents that have the same rules. */
const TEAM = 3;
/** Turns of one conversation; then another one begins. */
const CONVERSATION = 6;

/** Milliseconds of an engine: to begin with a prompt, for a token of it, for a token of the answer; and until its events are known. */
const ENGINE_MS = { start: 3, promptToken: 0.25, token: 4, events: 2 } as const;
/** How long what is on its way counts after its first token; a real router waits for longer, and events come before. */
const SETTLE_MS = 10;

/** How 500 turns of nine agents are routed. */
export interface AgentFleetOptions {
  readonly seed: number;
  readonly atATime: number;
  readonly workers: number;
  /** Tokens of each answer. */
  readonly answerTokens: number;
  readonly overlapScoreWeight: number;
  readonly hasAffinity?: boolean;
}

export interface AgentFleetFigures {
  /** Prompt tokens that the engines found. */
  readonly cachedTokens: number;
  /** Of what the best worker held when it was decided. */
  readonly lostTokens: number;
  /** Of these, lost where the chosen worker cost no less than the best one. */
  readonly needlesslyLostTokens: number;
  readonly meanFirstTokenMs: number;
}

interface Turn extends RoutedPrompt {
  readonly agent: number;
  readonly conversation: number;
  readonly keys: readonly string[];
}

/** Every third agent speaks without tools; rules of a team with the same tools are the same tokens. */
function turnOf(at: number): Turn {
  const agent = at % AGENTS;
  const round = Math.floor(at / AGENTS);
  const conversation = Math.floor(round / CONVERSATION);
  const hasTools = agent % TEAM !== 0;
  const rules = hasTools ? 750 : 690;
  const tokenCount = rules + 15 + (hasTools ? 95 : 40) * (1 + (round % CONVERSATION));
  const sharedBlocks = Math.floor(rules / TOKENS_PER_BLOCK);
  const head = 1_000 * (2 * Math.floor(agent / TEAM) + (hasTools ? 1 : 0));
  const own = 100_000 + 1_000 * (agent + AGENTS * conversation);
  const sequenceHashes = chainOf(
    Array.from(
      { length: Math.floor(tokenCount / TOKENS_PER_BLOCK) },
      (_, block) => (block < sharedBlocks ? head : own) + block,
    ),
  );
  const packed = Buffer.from(sequenceHashes).toString('hex');
  return { agent, conversation, sequenceHashes, tokenCount, keys: packed.match(/.{16}/g) ?? [] };
}

const TURN_LIST = Array.from({ length: TURNS }, (_, at) => turnOf(at));

/** Things that happen one after the other, in a time of their own. */
class Timeline {
  nowMs = 0;
  readonly #due: { readonly atMs: number; readonly run: () => void }[] = [];

  after(delayMs: number, run: () => void): void {
    const atMs = this.nowMs + delayMs;
    let place = this.#due.length;
    while (place > 0 && (this.#due[place - 1]?.atMs ?? 0) > atMs) place -= 1;
    this.#due.splice(place, 0, { atMs, run });
  }

  play(): void {
    for (let next = this.#due.shift(); next !== undefined; next = this.#due.shift()) {
      this.nowMs = next.atMs;
      next.run();
    }
  }
}

/** An engine that computes one prompt after the other, generates beside it, and forgets nothing. */
class Engine {
  readonly #held = new Set<string>();
  readonly #time: Timeline;
  #freeAtMs = 0;

  constructor(time: Timeline) {
    this.#time = time;
  }

  /** Computes what it does not hold; `onFirstToken` hears how many tokens it held. */
  compute({ keys, tokenCount }: Turn, onFirstToken: (cachedTokens: number) => void): void {
    if (this.#freeAtMs > this.#time.nowMs) {
      this.#time.after(this.#freeAtMs - this.#time.nowMs, () =>
        this.compute({ keys, tokenCount } as Turn, onFirstToken),
      );
      return;
    }
    let blocks = 0;
    while (blocks < keys.length && this.#held.has(keys[blocks] ?? '')) blocks += 1;
    const cachedTokens = Math.min(blocks, Math.ceil(tokenCount / TOKENS_PER_BLOCK) - 1) * TOKENS_PER_BLOCK;
    const durationMs = ENGINE_MS.start + ENGINE_MS.promptToken * (tokenCount - cachedTokens);
    this.#freeAtMs = this.#time.nowMs + durationMs;
    this.#time.after(durationMs, () => {
      for (const key of keys) this.#held.add(key);
      onFirstToken(cachedTokens);
    });
  }
}

/** Plays all turns in a time of their own, over engines that are modelled and the selector that is used. */
export function playAgents(options: AgentFleetOptions): AgentFleetFigures {
  const { seed, atATime, workers, answerTokens, overlapScoreWeight, hasAffinity = false } = options;
  const random = seededRandom(seed);
  const index = new FilledIndex(TOKENS_PER_BLOCK);
  const selector = new WorkerSelector(
    { mode: 'kv', weights: { ...DEFAULT_COST_WEIGHTS, overlapScoreWeight }, temperature: 0 },
    { random },
  );
  const time = new Timeline();
  const targets = Array.from({ length: workers }, (_, at) => `w-${at}`);
  const engines = new Map(targets.map((target) => [target, new Engine(time)]));
  selector.begin(index, TOKENS_PER_BLOCK);
  selector.setCandidates(
    targets.map((target) => ({
      target,
      workerId: target,
      instanceId: 'i',
      rank: 0,
      rankCount: 1,
      offer: 'full',
    })),
  );
  let [cachedTokens, lostTokens, needlesslyLostTokens, firstTokenMs] = [0, 0, 0, 0];

  const send = (at: number): void => {
    const turn = TURN_LIST[at];
    if (turn === undefined) return;
    // Agents by lane: each waits for its own answer alone.
    const isOfLane = (other: number): boolean => (other % AGENTS) % atATime === (at % AGENTS) % atATime;
    const costs = selector.explain(turn, []);
    const about = hasAffinity ? { sessionHash: rankHash(`agent ${turn.agent}`, turn.conversation) } : {};
    const reservation = selector.reserve(turn, [], about);
    const { bestBlocks, cachedBlocks, cost, candidate } = reservation.decided;
    const lost = (bestBlocks - cachedBlocks) * TOKENS_PER_BLOCK;
    lostTokens += lost;
    const best = costs.find((one) => one.cachedBlocks.at(-1) === bestBlocks);
    if (best !== undefined && best.logit <= cost.logit) needlesslyLostTokens += lost;
    const sentMs = time.nowMs;
    engines.get(candidate.target)?.compute(turn, (cached) => {
      cachedTokens += cached;
      firstTokenMs += time.nowMs - sentMs;
      reservation.prefillDone();
      time.after(ENGINE_MS.events, () => index.hold(candidate.target, 0, 'device', turn.sequenceHashes));
      time.after(SETTLE_MS, () => reservation.flight?.end());
      time.after(ENGINE_MS.token * answerTokens, () => {
        reservation.release();
        const next = TURN_LIST.findIndex((_, other) => other > at && isOfLane(other));
        time.after(ENGINE_MS.events + 4 * random.fraction(), () => send(next));
      });
    });
  };
  for (let lane = 0; lane < atATime; lane += 1) send(lane);
  time.play();
  return { cachedTokens, lostTokens, needlesslyLostTokens, meanFirstTokenMs: firstTokenMs / TURNS };
}
