import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import {
  type StartThread,
  startThread,
  type Thread,
  threadUrl,
} from '../../edge/platform/processes/thread.js';
import { onAbort } from '../../edge/platform/time/on-abort.js';
import { type PromptRequest, whatMatters } from '../../engines/descriptor/token-endpoint.js';
import { type NoTokensReason, noTokens, type PromptTokens } from './prompt-tokens.js';
import type { PromptLimits } from './read-prompt.js';
import { readTokenizerFolder, TokenizerFolderError } from './tokenizer-folder.js';
import type { TokenizingData, TokenizingJob, TokenizingMessage } from './tokenizing.js';

/** Bounds of tokenising here. */
export interface LocalTokenizerOptions {
  /** Longest that one prompt may take in the thread, in milliseconds; then the thread is restarted. */
  readonly timeoutMs: number;
  /** Prompts that wait for the thread; for further ones there are no tokens. */
  readonly maxWaiting: number;
  /** Memory for the pieces of conversations that are remembered; 0 remembers nothing. */
  readonly maxRememberedBytes: number;
  /** Heap of the thread, in MiB, beyond which it is restarted. */
  readonly maxHeapMb: number;
}

/** The bounds that hold unless settings name others. */
export const DEFAULT_LOCAL_TOKENIZER_OPTIONS: LocalTokenizerOptions = {
  timeoutMs: 2_000,
  maxWaiting: 256,
  maxRememberedBytes: 128 * 1024 * 1024,
  maxHeapMb: 1_536,
};

/** What a tokenizer works with; tests bring their own. */
export interface LocalTokenizerModules {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly startThread?: StartThread;
  /** The bundled `tokenizing-thread.ts`. */
  readonly threadUrl?: URL;
}

/** Between the end of a thread that ended of itself and the start of the next. */
const RESTART_PAUSE_MS = 1_000;
/** Reading the largest vocabularies takes a second. */
const LOAD_LIMIT_MS = 60_000;

interface Waiting {
  readonly job: TokenizingJob;
  readonly settle: (result: PromptTokens) => void;
}

/**
 * Tokenises with the files of a folder, in one thread, one prompt after the
 * other. Whatever a template or a text does to the thread, the process goes on:
 * time, heap and queue are bounded.
 */
export class LocalTokenizer {
  readonly #folder: string;
  readonly #data: TokenizingData;
  readonly #options: LocalTokenizerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #start: StartThread;
  readonly #url: URL;
  readonly #waiting: Waiting[] = [];
  #current: Waiting | undefined;
  #thread: Thread | undefined;
  #isReady = false;
  #isClosed = false;
  #timer: Timer | undefined;
  #onFirst: ((problem: TokenizerFolderError | undefined) => void) | undefined;

  private constructor(
    folder: string,
    data: TokenizingData,
    options: LocalTokenizerOptions,
    modules: LocalTokenizerModules,
  ) {
    this.#folder = folder;
    this.#data = data;
    this.#options = options;
    this.#clock = modules.clock;
    this.#logger = modules.logger;
    this.#start = modules.startThread ?? startThread;
    this.#url = modules.threadUrl ?? threadUrl('tokenizing');
  }

  /** Rejects with a `TokenizerFolderError` that names the file that cannot be used. */
  static async open(
    folder: string,
    options: LocalTokenizerOptions & PromptLimits,
    modules: LocalTokenizerModules,
  ): Promise<LocalTokenizer> {
    const files = await readTokenizerFolder(folder);
    const { maxChars, maxTokens, maxRememberedBytes } = options;
    const data: TokenizingData = { ...files, maxChars, maxTokens, maxRememberedBytes };
    const opened = new LocalTokenizer(folder, data, options, modules);
    const problem = await new Promise<TokenizerFolderError | undefined>((resolve) => {
      opened.#onFirst = resolve;
      opened.#startThread();
    });
    if (problem === undefined) return opened;
    await opened.close();
    throw problem;
  }

  /** Never rejects; comes back at the latest when `signal` aborts. */
  tokensOf(prompt: PromptRequest, signal: AbortSignal): Promise<PromptTokens> {
    const job = jobOf(prompt);
    if (job === undefined) return Promise.resolve(noTokens('no_tokenizer'));
    if (signal.aborted || this.#isClosed || this.#waiting.length >= this.#options.maxWaiting)
      return Promise.resolve(noTokens('timeout'));
    return new Promise((resolve) => {
      const cancel = (): void => {
        const at = this.#waiting.indexOf(waiting);
        if (at !== -1) this.#waiting.splice(at, 1);
        waiting.settle(noTokens('timeout'));
      };
      const waiting: Waiting = {
        job,
        settle: (result) => {
          leave();
          resolve(result);
        },
      };
      const leave = onAbort(signal, cancel);
      this.#waiting.push(waiting);
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.clear();
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.stop();
    this.#giveUpCurrent('failed');
    for (const { settle } of this.#waiting.splice(0)) settle(noTokens('failed'));
  }

  #startThread(): void {
    this.#isReady = false;
    const thread = this.#start(
      { url: this.#url, data: this.#data, maxHeapMb: this.#options.maxHeapMb },
      {
        onMessage: (message) => this.#take(thread, message as TokenizingMessage),
        onEnd: (reason) => this.#ended(thread, reason),
      },
    );
    this.#thread = thread;
    this.#limit(LOAD_LIMIT_MS, 'it was not ready');
  }

  #take(thread: Thread, message: TokenizingMessage): void {
    if (thread !== this.#thread) return;
    this.#timer?.clear();
    if (message.kind === 'ready') {
      this.#isReady = true;
      this.#first(undefined);
    } else if (message.kind === 'refused') {
      this.#first(new TokenizerFolderError(this.#folder, message.file, message.problem));
      return;
    } else {
      const { settle } = this.#current as Waiting;
      this.#current = undefined;
      if (message.kind === 'none')
        this.#logger.debug({ reason: message.reason, problem: message.problem }, 'A prompt gave no tokens.');
      settle(message.kind === 'tokens' ? { tokens: message.tokens } : noTokens(message.reason));
    }
    this.#next();
  }

  #next(): void {
    if (!this.#isReady || this.#current !== undefined) return;
    this.#current = this.#waiting.shift();
    if (this.#current === undefined) return;
    this.#limit(this.#options.timeoutMs, `one prompt took longer than ${this.#options.timeoutMs} ms`);
    this.#thread?.post(this.#current.job);
  }

  /** Stops the thread when it says nothing for that long. */
  #limit(limitMs: number, problem: string): void {
    this.#timer?.clear();
    this.#timer = this.#clock.setTimer(limitMs, () => {
      const thread = this.#thread;
      this.#thread = undefined;
      void thread?.stop();
      this.#restart(problem, 'timeout', 0);
    });
  }

  #ended(thread: Thread, reason: string): void {
    if (thread !== this.#thread) return;
    this.#thread = undefined;
    this.#restart(reason, 'failed', RESTART_PAUSE_MS);
  }

  #restart(problem: string, reason: NoTokensReason, pauseMs: number): void {
    this.#isReady = false;
    this.#timer?.clear();
    this.#giveUpCurrent(reason);
    if (this.#isClosed) return;
    if (this.#onFirst !== undefined) {
      this.#first(new TokenizerFolderError(this.#folder, 'tokenizer.json', `cannot be loaded: ${problem}`));
      return;
    }
    this.#logger.warn(
      { folder: this.#folder, problem },
      'The thread that tokenises prompts is restarted; one prompt is routed without tokens.',
    );
    if (pauseMs === 0) this.#startThread();
    else this.#timer = this.#clock.setTimer(pauseMs, () => this.#startThread());
  }

  #giveUpCurrent(reason: NoTokensReason): void {
    const current = this.#current;
    this.#current = undefined;
    current?.settle(noTokens(reason));
  }

  #first(problem: TokenizerFolderError | undefined): void {
    this.#onFirst?.(problem);
    this.#onFirst = undefined;
  }
}

/** Undefined for what an engine may make something else of. */
function jobOf(prompt: PromptRequest): TokenizingJob | undefined {
  if (!prompt.isPlain || prompt.media !== undefined) return undefined;
  if (prompt.kind === 'chat') return { kind: 'chat', body: whatMatters(prompt) };
  if (prompt.kind !== 'completion') return undefined;
  const special = prompt.body['add_special_tokens'] ?? true;
  return typeof special === 'boolean'
    ? { kind: 'completion', text: prompt.text, addSpecialTokens: special }
    : undefined;
}
