import type { FleetView, GroupView } from '../../core/agreement/view/snapshot.js';
import { type Clock, sleep, type Timer } from '../../edge/platform/clock.js';
import { describeError } from '../../edge/platform/describe-error.js';
import type { LogLevel } from '../../edge/platform/logger.js';
import type { HttpGet } from '../../edge/platform/net/http-get.js';
import { onAbort } from '../../edge/platform/time/on-abort.js';
import { holdConversations, type Turn } from './conversations.js';
import type { DemoAggregator } from './demo-aggregator.js';
import type { DemoFrontend } from './demo-frontend.js';
import { describeGate } from './describe-gate.js';
import { findHeldBlocks } from './held-blocks.js';
import type { Narrator } from './narrator.js';
import type { ProcessLine } from './process-log.js';
import type { Stage } from './stage.js';
import type { DemoWorker } from './worker.js';

/** One part of the story: it is played on a stage of its own. */
export interface Scene {
  /** As `--scenario` names it. */
  readonly name: string;
  readonly title: string;
  /** The value that an operator insists on; absent where the workers decide. */
  readonly overrideTokensPerBlock?: number;
  /** Whether it is about what is known of caches: then the log line of exact routing is shown. Default false. */
  readonly isAboutCaches?: boolean;
  play(run: SceneRun): Promise<void>;
}

/** Something that was said to happen, and whether it did. */
export interface Check {
  readonly expected: string;
  readonly ok: boolean;
  /** What was there instead; absent when it went as expected. */
  readonly seen?: string;
}

/** A scene that did not go as expected. */
export class SceneFailure extends Error {
  constructor(expected: string) {
    super(`did not go as expected: ${expected}`);
    this.name = 'SceneFailure';
  }
}

/** Sets a table as the commands do. */
export type RenderTable = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

/** Everything in the demo happens within a few seconds; a machine that is very busy gets this long. */
const TIMEOUT_MS = 20_000;

/** What a table of the fleet waits for, where the index has just begun to ask: a moment as a rule. */
const CACHE_VIEWS_MS = 1_000;

/** Between two questions whose answer is not yet the expected one. */
const ASK_INTERVAL_MS = 50;

/** Lines of the log that are named when something did not happen. */
const LINES_SHOWN = 3;

export interface SceneRunOptions {
  /** Milliseconds for a person to read before the next thing happens; 0 goes on immediately. */
  readonly pauseMs: number;
  /** Milliseconds that an engine takes to load its model. */
  readonly loadingMs: number;
  /** How long something that is expected may take. Default 20,000. */
  readonly timeoutMs?: number;
}

/** What an aggregator is asked. */
export interface MatchesQuestion {
  /** The prompt in words: `the next turn`. */
  readonly about: string;
  readonly tokenIds: readonly number[];
  /** Who is asked. Default: the aggregator that was there from the beginning. */
  readonly of?: DemoAggregator;
}

/** What a router with a block size of its own looks for. */
export interface FindQuestion {
  readonly worker: DemoWorker;
  readonly tokenIds: readonly number[];
  readonly tokensPerBlock: number;
}

/** An answer, for a person, and whether it is the expected one. */
interface Answer {
  readonly ok: boolean;
  readonly question: string;
  readonly text: string;
}

export interface SceneRunModules {
  readonly scene: Pick<Scene, 'isAboutCaches'>;
  readonly stage: Stage;
  readonly narrator: Narrator;
  readonly clock: Clock;
  readonly httpGet: HttpGet;
  /** What `kv-accord status ADDRESS` prints. */
  readonly renderStatus: (address: string) => Promise<string>;
  readonly renderTable: RenderTable;
  /** Aborts when the demo is to end. */
  readonly signal: AbortSignal;
}

/** What a scene plays with: it explains, does, and checks. Each wait rejects with `signal.reason` when that aborts. */
export class SceneRun {
  readonly stage: Stage;
  readonly checks: Check[] = [];
  /** What the aggregators logged, from info on. */
  readonly log: ProcessLine[] = [];
  readonly #options: SceneRunOptions;
  readonly #modules: SceneRunModules;
  readonly #startMs: number;
  readonly #waiting = new Set<() => void>();
  #gate = '';
  #isMuted = false;

  constructor(options: SceneRunOptions, modules: SceneRunModules) {
    this.#options = options;
    this.#modules = modules;
    this.stage = modules.stage;
    this.#startMs = modules.clock.monotonicMs();
  }

  /** Milliseconds since the scene began. */
  get elapsedMs(): number {
    return this.#modules.clock.monotonicMs() - this.#startMs;
  }

  /** Milliseconds that an engine takes to load its model. */
  get loadingMs(): number {
    return this.#options.loadingMs;
  }

  /** For the stage: a process logged something. */
  onLine(line: ProcessLine): void {
    const isFromAggregator = !line.from.startsWith('sidecar ');
    // Of the sidecars, changes are shown; their warnings concern engines that are only simulated.
    const isShown = isFromAggregator ? line.level !== 'debug' : line.level === 'info';
    if (isFromAggregator && isShown) this.log.push(line);
    const isQuiet = this.#isMuted || (line.code === 'routing_mode' && !this.#isAboutRouting(line));
    if (isShown && !isQuiet) this.#modules.narrator.line(line, this.elapsedMs);
    this.#look();
  }

  /** For the stage: the aggregator's answers are new. */
  onView(view: FleetView): void {
    const gate = describeGate(view);
    const sentence = `${gate.isOpen} ${gate.text}`;
    if (sentence !== this.#gate && !this.#isMuted) this.#modules.narrator.gate(gate, this.elapsedMs);
    this.#gate = sentence;
    this.#look();
  }

  /** Shows nothing more of the processes: the end of a stage is no part of the story. */
  mute(): void {
    this.#isMuted = true;
  }

  /** Explains, and gives a reader the time to read it. */
  async say(text: string): Promise<void> {
    this.#modules.narrator.say(text);
    await this.pause();
  }

  /** Says what is done now, and gives a reader the time to read it. */
  async act(text: string): Promise<void> {
    await this.pause();
    this.#modules.narrator.act(text);
  }

  /** Time to read. */
  async pause(): Promise<void> {
    const { clock, signal } = this.#modules;
    if (this.#options.pauseMs > 0) await sleep(clock, this.#options.pauseMs, signal);
    signal.throwIfAborted();
  }

  /** Waits until the fleet is as `holds` says; throws a `SceneFailure` when it never is. */
  async expectView(
    expected: string,
    holds: (group: GroupView | undefined, view: FleetView) => boolean,
  ): Promise<void> {
    const isSo = (): boolean => holds(this.stage.view.groups[0], this.stage.view);
    await this.#judge(expected, await this.#until(isSo), () => {
      const { isOpen, text } = describeGate(this.stage.view);
      return `the gate ${isOpen ? 'open' : 'shut'}: ${text}`;
    });
  }

  /** Waits until the aggregator has logged a line of that level that holds `part`. */
  async expectLog(expected: string, level: LogLevel, part: string): Promise<void> {
    const isSo = (): boolean => this.log.some((line) => line.level === level && line.message.includes(part));
    await this.#judge(expected, await this.#until(isSo), () => {
      const last = this.log.slice(-LINES_SHOWN).map((line) => `${line.level} ${line.message}`);
      return `no ${level} with "${part}"; the last lines were: ${last.join(' / ') || 'none'}`;
    });
  }

  /** Asks the aggregator over HTTP and judges the answer. */
  async expectHttp(
    expected: string,
    path: string,
    holds: (answer: { readonly status: number; readonly body: string }) => boolean,
  ): Promise<void> {
    const { httpGet, signal } = this.#modules;
    const answer = await httpGet(`http://${this.stage.addresses?.http.text}${path}`, { signal });
    signal.throwIfAborted();
    await this.#judge(expected, holds(answer), () => `GET ${path} answers ${answer.status}: ${answer.body}`);
  }

  /** Asks who holds how many blocks of a prompt, until the answer is `blocks`, by worker. */
  async expectMatches(
    expected: string,
    { about, tokenIds, of: aggregator = this.stage.aggregator }: MatchesQuestion,
    blocks: Readonly<Record<string, number>>,
  ): Promise<void> {
    await this.#expectAnswer(expected, async (signal) => {
      const answer = await aggregator.findMatches(tokenIds, signal);
      const held = answer.matches.map(({ target, deviceBlocks }) => [target, deviceBlocks] as const);
      const { blockCount, tokensPerBlock } = answer;
      return {
        ok: held.length === Object.keys(blocks).length && held.every(([name, n]) => blocks[name] === n),
        question: `Indexer.FindMatches: ${about}, ${tokenIds.length} tokens are ${blockCount} blocks of ${tokensPerBlock}`,
        text:
          held.map(([name, count]) => `${name} holds the first ${count}`).join('\n') || 'nobody holds any',
      };
    });
  }

  /** Splits a prompt into blocks as a router would, and looks them up in what a worker holds, until `found` are found. */
  async expectFound(
    expected: string,
    { worker, tokenIds, tokensPerBlock }: FindQuestion,
    found: number,
  ): Promise<void> {
    await this.#expectAnswer(expected, async (signal) => {
      const held = await worker.heldBlocks(signal);
      const answer = findHeldBlocks(held, tokenIds, tokensPerBlock);
      return {
        ok: held.size > 0 && answer.found === found,
        question: `KvEvents.Subscribe: ${worker.name} holds ${held.size} blocks`,
        text: `with a block size of ${tokensPerBlock}, the prompt is ${answer.blockCount} blocks: ${answer.found} found`,
      };
    });
  }

  /** Lists a frontend's models, as OpenAI's clients do, until one is served. */
  async expectServing(expected: string, { url }: DemoFrontend): Promise<void> {
    const { httpGet } = this.#modules;
    await this.#expectAnswer(expected, async (signal) => {
      const question = `GET ${url}/v1/models`;
      const { status, body } = await httpGet(`${url}/v1/models`, { signal });
      const models = status === 200 ? (JSON.parse(body) as { data: { id: string }[] }).data : [];
      return {
        ok: models.length > 0,
        question,
        text: models.map(({ id }) => id).join(', ') || `no model, ${status}`,
      };
    });
  }

  /** Lets people talk to a model through a frontend, and shows each of their turns. */
  async converse({ url }: DemoFrontend, model: string, people: readonly string[]): Promise<readonly Turn[]> {
    const { clock, narrator, signal } = this.#modules;
    const onTurn = ({ person, number, answer }: Turn): void => {
      const { cachedTokens, firstTokenMs, promptTokens, worker } = answer;
      const cached = `${cachedTokens} of ${promptTokens} prompt tokens cached`;
      const text = `${worker}: ${cached}, first token after ${Math.round(firstTokenMs)} ms`;
      if (!this.#isMuted) narrator.turn(person, number, text, this.elapsedMs);
    };
    return holdConversations({ url, model, people }, { clock, signal, onTurn });
  }

  /** Judges what has been seen already. */
  async expect(expected: string, ok: boolean, seen: () => string): Promise<void> {
    await this.#judge(expected, ok, seen);
  }

  /** Shows what came out. */
  showTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
    const { narrator, renderTable } = this.#modules;
    narrator.table(renderTable(head, rows));
  }

  /** Shows the fleet as `kv-accord status` does, which asks over gRPC. */
  async showStatus(): Promise<void> {
    const { narrator, renderStatus, signal } = this.#modules;
    await this.#until(() => this.#areCachesKnown(), CACHE_VIEWS_MS);
    const address = this.stage.addresses?.grpc.text ?? '';
    const table = await renderStatus(address);
    signal.throwIfAborted();
    narrator.output(`kv-accord status ${address}`, table);
  }

  /** Asks until the answer is the expected one. What the asking itself fails with is an answer like another. */
  async #expectAnswer(expected: string, ask: (signal: AbortSignal) => Promise<Answer>): Promise<void> {
    const { clock, narrator, signal } = this.#modules;
    const deadlineMs = clock.monotonicMs() + (this.#options.timeoutMs ?? TIMEOUT_MS);
    for (;;) {
      const answer = await ask(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        return { ok: false, question: '', text: describeError(error) };
      });
      const { ok, question, text } = answer;
      if (ok) narrator.answer(question, text);
      if (ok || clock.monotonicMs() >= deadlineMs) return this.#judge(expected, ok, () => text);
      await sleep(clock, ASK_INTERVAL_MS, signal);
      signal.throwIfAborted();
    }
  }

  /** On its way to exact the mode passes others, for a moment each. */
  #isAboutRouting({ message }: ProcessLine): boolean {
    return this.#modules.scene.isAboutCaches === true && message.includes(' is now exact:');
  }

  /** Whether the index knows all that it can know of those that are in use. */
  #areCachesKnown(): boolean {
    const members = this.stage.view.groups.flatMap((group) => group.members);
    return members.every(({ offer, cacheView }) => offer !== 'full' || cacheView === 'exact');
  }

  #look(): void {
    for (const look of [...this.#waiting]) look();
  }

  async #judge(expected: string, ok: boolean, seen: () => string): Promise<void> {
    const { narrator } = this.#modules;
    if (ok) {
      this.checks.push({ expected, ok });
      narrator.passed(expected);
      return;
    }
    const instead = seen();
    this.checks.push({ expected, ok, seen: instead });
    narrator.failed(expected, instead);
    throw new SceneFailure(expected);
  }

  /** Whether `holds` came true in time. */
  #until(holds: () => boolean, timeoutMs: number = this.#options.timeoutMs ?? TIMEOUT_MS): Promise<boolean> {
    const { clock, signal } = this.#modules;
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
      const finish = (settle: () => void): void => {
        timer?.clear();
        this.#waiting.delete(look);
        leave();
        settle();
      };
      const stop = (): void => finish(() => reject(signal.reason));
      const look = (): void => {
        if (holds()) finish(() => resolve(true));
      };
      if (signal.aborted) return stop();
      const leave = onAbort(signal, stop);
      timer = clock.setTimer(timeoutMs, () => finish(() => resolve(false)));
      this.#waiting.add(look);
      look();
    });
  }
}
