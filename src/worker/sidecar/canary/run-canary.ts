import { BlockHasher, type HashUnitName } from '../../../core/blocks/block-hasher.js';
import type { EngineKind } from '../../../core/contract/wire/enums.js';
import type { Relay } from '../../../core/relay/relay.js';
import { type Clock, sleep } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { HttpAnswer, HttpGet, HttpPostJson } from '../../../edge/platform/net/http-get.js';
import { excerpt } from '../../../edge/platform/probe-error.js';
import type { Random } from '../../../edge/platform/random.js';
import { onAbort } from '../../../edge/platform/time/on-abort.js';
import type { PromptPath, SmallPrompt } from '../../../engines/descriptor/prompt-path.js';
import { Canary_State, type CanaryResult } from '../../../gen/kvaccord/v1/capabilities.js';
import {
  type CanaryCounts,
  canaryBody,
  canaryPaths,
  readCounts,
  readTokens,
  renderAsks,
} from './canary-requests.js';
import { canaryLengths, MAX_CANARY_TOKENS } from './canary-size.js';
import { type EngineLoad, readLoad } from './engine-load.js';
import { type CanaryFault, judgeCanary } from './judge-canary.js';
import { SeenBlocks } from './seen-blocks.js';

/** Milliseconds for one answer of one token. A cold engine compiles kernels at its first prompt. */
const ANSWER_TIMEOUT_MS = 60_000;
/** Milliseconds until the blocks of a prompt that was answered must have arrived; engines publish with the next step. */
const BLOCKS_TIMEOUT_MS = 5_000;
/** Prompts that are tried on one path before it is believed that their blocks do not arrive. */
const MAX_ATTEMPTS = 2;
/** Data-parallel ranks that are asked; each has an event source of its own. */
const MAX_RANKS = 8;
/** Token ids of a prompt: every vocabulary has them, and none of them is a special one. */
const FIRST_TOKEN = 100;
const TOKEN_RANGE = 900;
const HASH_UNITS: readonly HashUnitName[] = ['token', 'bigram'];

/** What a canary needs to know of the engine. */
export interface CanaryTarget {
  readonly engineKind: EngineKind;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly model: string;
  readonly tokensPerBlock: number | undefined;
  /** What a hash of the engine covers; undefined while that is not known. */
  readonly hashUnit: HashUnitName | undefined;
  readonly maxModelLen: number | undefined;
  readonly hitAlignmentTokens: number | undefined;
  readonly dropsLastHitBlock: boolean | undefined;
  /** Ranks whose events are read; empty when none are. */
  readonly ranks: readonly number[];
  /** Why no events are read; empty when they are. */
  readonly eventsReason: string;
  /** Where they are read, by rank. */
  readonly eventSourceOf: (rank: number) => string;
}

export interface CanaryModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly get: HttpGet;
  readonly post: HttpPostJson;
  readonly relay: Relay;
  /** Called for each prompt that is sent; must not throw. */
  readonly onRequest: (path: string) => void;
}

/** What came of all paths. */
export interface CanaryOutcome {
  readonly results: readonly CanaryResult[];
  readonly faults: readonly CanaryFault[];
  /** What the hashes of the blocks cover that were seen; of the target where none were. */
  readonly hashUnit?: HashUnitName | undefined;
  /** Set when the engine had requests of others meanwhile: then nothing is known. */
  readonly disturbedBy: string | undefined;
}

/** Asks one engine on each of its paths. Never rejects; ends early when `signal` aborts. */
export async function runCanary(
  target: CanaryTarget,
  modules: CanaryModules,
  signal: AbortSignal,
): Promise<CanaryOutcome> {
  const results: CanaryResult[] = [];
  const faults: CanaryFault[] = [];
  const paths = canaryPaths(target.engineKind);
  const ranks = target.ranks.length === 0 ? [0] : target.ranks.slice(0, MAX_RANKS);
  let known = target;
  for (const [at, promptPath] of paths.entries()) {
    // Every rank has a source of its own to be proved; the paths are the same on all of them.
    for (const rank of at === 0 ? ranks : ranks.slice(0, 1)) {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        if (signal.aborted) return { results, faults, disturbedBy: 'given up' };
        const asked = await askPath({ promptPath, rank, target: known, modules, signal });
        if (asked.disturbedBy !== undefined) return { results, faults, disturbedBy: asked.disturbedBy };
        if (asked.fault === 'source' && attempt < MAX_ATTEMPTS) continue;
        results.push(asked.result);
        if (asked.fault !== undefined) faults.push(asked.fault);
        if (asked.tokensPerBlock !== undefined) known = { ...known, tokensPerBlock: asked.tokensPerBlock };
        if (asked.hashUnit !== undefined) known = { ...known, hashUnit: asked.hashUnit };
        break;
      }
    }
  }
  return { results, faults, hashUnit: known.hashUnit, disturbedBy: undefined };
}

/** A path that is tried on one rank. */
interface PathTrial {
  readonly promptPath: PromptPath;
  readonly rank: number;
  readonly target: CanaryTarget;
  readonly modules: CanaryModules;
  readonly signal: AbortSignal;
}

interface AskedPath {
  readonly result: CanaryResult;
  readonly fault: CanaryFault | undefined;
  readonly tokensPerBlock?: number | undefined;
  readonly hashUnit?: HashUnitName | undefined;
  readonly disturbedBy?: string;
}

/** One path: a prompt twice, longer ones while no block of them is stored and the size is not known. */
async function askPath(trial: PathTrial): Promise<AskedPath> {
  const { promptPath, rank, target, signal } = trial;
  const [first, ...longer] = canaryLengths(target.tokensPerBlock, target.maxModelLen);
  if (first === undefined) {
    const reason = `no whole block of ${target.tokensPerBlock} tokens has room in a prompt (at most ${Math.min(target.maxModelLen ?? MAX_CANARY_TOKENS, MAX_CANARY_TOKENS)})`;
    return unasked(promptPath, rank, Canary_State.SKIPPED, reason);
  }
  let last = await askOnce(first, trial);
  for (const length of longer) {
    const isFound = last.tokensPerBlock !== undefined || last.fault !== undefined;
    if (isFound || signal.aborted || last.disturbedBy !== undefined) break;
    last = await askOnce(length, trial);
  }
  return last;
}

/** A prompt of some length, twice. */
async function askOnce(length: number, trial: PathTrial): Promise<AskedPath> {
  const { promptPath, rank, target, modules, signal } = trial;
  const before = await readLoad(target.engineKind, target.baseUrl, { get: modules.get, signal });
  if (before.requests !== 0) return disturbed(promptPath, rank);
  const prompt =
    promptPath.takes === 'chat' ? chatPrompt(length, modules.random) : tokenPrompt(length, modules.random);
  const tokens =
    prompt.type === 'tokens' ? prompt.tokens : await render(prompt.text, target, modules, signal);
  const limit = (target.maxModelLen ?? Number.POSITIVE_INFINITY) - 1;
  if (tokens !== undefined && tokens.length > limit) {
    const reason = `the message becomes ${tokens.length} tokens, at most ${limit} fit`;
    return unasked(promptPath, rank, Canary_State.SKIPPED, reason);
  }
  const seen = target.eventsReason === '' ? new SeenBlocks(modules.relay) : undefined;
  try {
    const headers = target.ranks.length > 1 ? { 'x-data-parallel-rank': String(rank) } : {};
    const body = canaryBody(promptPath, prompt, target.model);
    const ask = async (): Promise<HttpAnswer> => {
      modules.onRequest(promptPath.path);
      return await modules.post(`${target.baseUrl}${promptPath.path}`, body, {
        signal,
        timeoutMs: ANSWER_TIMEOUT_MS,
        headers,
      });
    };
    const first = await ask();
    if (first.status !== 200) return refused(promptPath, rank, first);
    await arrival(seen, tokens, trial);
    const between = await readLoad(target.engineKind, target.baseUrl, { get: modules.get, signal });
    const second = await ask();
    if (second.status !== 200) return refused(promptPath, rank, second);
    const after = await readLoad(target.engineKind, target.baseUrl, { get: modules.get, signal });
    if ((between.requests ?? 0) > 0 || (after.requests ?? 0) > 0) return disturbed(promptPath, rank);
    return judged({ promptPath, rank, tokens, target, seen, second, between, after });
  } catch (error) {
    return unasked(promptPath, rank, Canary_State.INCONCLUSIVE, describeError(error));
  } finally {
    seen?.close();
  }
}

function judged(asked: {
  readonly promptPath: PromptPath;
  readonly rank: number;
  readonly tokens: readonly number[] | undefined;
  readonly target: CanaryTarget;
  readonly seen: SeenBlocks | undefined;
  readonly second: HttpAnswer;
  readonly between: EngineLoad;
  readonly after: EngineLoad;
}): AskedPath {
  const { promptPath, rank, tokens, target, seen, second, between, after } = asked;
  const found = seen === undefined || tokens === undefined ? undefined : match(seen, tokens, target);
  const own = found?.find((each) => each.rank === rank);
  const tokensPerBlock = own?.tokensPerBlock ?? target.tokensPerBlock;
  const counts = readCounts(second.body);
  const { result, fault } = judgeCanary({
    promptPath,
    rank,
    promptTokens: tokens?.length,
    counts: { ...counts, cachedTokens: counts.cachedTokens ?? counted(between, after) },
    eventsReason: target.eventsReason,
    tokensPerBlock,
    ownBlocks: own?.count ?? 0,
    otherBlocks: (seen?.count ?? 0) - (own?.count ?? 0),
    strayRank: own === undefined ? found?.[0]?.rank : undefined,
    isCachingOff: after.isCachingOff,
    hitAlignmentTokens: target.hitAlignmentTokens,
    dropsLastHitBlock: target.dropsLastHitBlock,
    eventSource: target.eventSourceOf(rank),
  });
  return { result, fault, tokensPerBlock, hashUnit: own?.unit };
}

/** What an idle engine's own counter grew by: only the canary was there. */
function counted(before: EngineLoad, after: EngineLoad): CanaryCounts['cachedTokens'] {
  const grown =
    before.cachedTokens === undefined || after.cachedTokens === undefined
      ? undefined
      : after.cachedTokens - before.cachedTokens;
  return grown !== undefined && Number.isSafeInteger(grown) && grown >= 0 ? grown : undefined;
}

interface Match {
  readonly rank: number;
  readonly tokensPerBlock: number;
  readonly unit: HashUnitName;
  readonly count: number;
}

/** The ranks on which blocks of these tokens were seen, and how many. */
function match(seen: SeenBlocks, tokens: readonly number[], { hashUnit }: CanaryTarget): readonly Match[] {
  const hasher = new BlockHasher();
  const seed = hasher.seedOf('', '');
  const ids = Uint32Array.from(tokens);
  return seen.ranks.flatMap((rank) =>
    seen.widthsOf(rank).flatMap((tokensPerBlock) =>
      (hashUnit === undefined ? HASH_UNITS : [hashUnit]).flatMap((unit) => {
        const { sequenceHashes } = hasher.hashTokens(ids, { tokensPerBlock, unit, seed });
        const count = seen.countOf(rank, tokensPerBlock, sequenceHashes);
        return count === 0 ? [] : [{ rank, tokensPerBlock, unit, count }];
      }),
    ),
  );
}

/** Waits until all blocks of the prompt have arrived, or long enough. */
async function arrival(
  seen: SeenBlocks | undefined,
  tokens: readonly number[] | undefined,
  { rank, target, modules, signal }: PathTrial,
): Promise<void> {
  if (seen === undefined || tokens === undefined) return;
  const isComplete = (): boolean =>
    match(seen, tokens, target).some(
      (found) => found.rank === rank && found.count >= Math.floor((tokens.length - 1) / found.tokensPerBlock),
    );
  const done = new AbortController();
  const check = (): void => {
    if (isComplete()) done.abort();
  };
  seen.onChange(check);
  const leave = onAbort(signal, () => done.abort());
  check();
  await sleep(modules.clock, BLOCKS_TIMEOUT_MS, done.signal);
  leave();
  seen.onChange(undefined);
}

/** The tokens of a chat message as the engine renders them; undefined where it does not. */
async function render(
  text: string,
  { engineKind, baseUrl, model }: CanaryTarget,
  { post }: CanaryModules,
  signal: AbortSignal,
): Promise<readonly number[] | undefined> {
  for (const { path, body, tokenField } of renderAsks(engineKind, text, model)) {
    const answer = await post(`${baseUrl}${path}`, body, { signal, timeoutMs: ANSWER_TIMEOUT_MS });
    const tokens =
      answer.status === 200 ? readTokens(answer.body, tokenField, MAX_TOKENS_OF_WORDS) : undefined;
    if (tokens !== undefined) return tokens;
  }
  return undefined;
}

/** A word of the message becomes some tokens: at most so many in all are read. */
const MAX_TOKENS_OF_WORDS = 16 * MAX_CANARY_TOKENS;

/** Random from the first token on, so that it is in no cache and shares no block with a user's prompt. */
function tokenPrompt(length: number, random: Random): SmallPrompt {
  const tokens = Array.from({ length }, () => FIRST_TOKEN + Math.floor(random.fraction() * TOKEN_RANGE));
  return { type: 'tokens', tokens };
}

function chatPrompt(length: number, random: Random): SmallPrompt {
  const words = Array.from({ length }, () => `w${FIRST_TOKEN + Math.floor(random.fraction() * TOKEN_RANGE)}`);
  return { type: 'chat', text: words.join(' ') };
}

function disturbed(promptPath: PromptPath, rank: number): AskedPath {
  const reason = 'the engine has requests of others, or does not say how many it has';
  return { ...unasked(promptPath, rank, Canary_State.WAITING, reason), disturbedBy: reason };
}

function refused(promptPath: PromptPath, rank: number, { status, body }: HttpAnswer): AskedPath {
  // A model without a chat template is refused with 400.
  const isAbsent = status === 404 || status === 405 || (status === 400 && promptPath.takes === 'chat');
  return isAbsent
    ? unasked(promptPath, rank, Canary_State.SKIPPED, `${promptPath.path} is not served`)
    : unasked(
        promptPath,
        rank,
        Canary_State.INCONCLUSIVE,
        `${promptPath.path} answers ${status}: ${excerpt(body)}`,
      );
}

function unasked(promptPath: PromptPath, rank: number, state: Canary_State, reason: string): AskedPath {
  return { result: { path: promptPath.path, dataParallelRank: rank, state, reason }, fault: undefined };
}
