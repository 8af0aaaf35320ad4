import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { PromptRequest } from '../../engines/descriptor/token-endpoint.js';
import type { CatalogueGroup } from '../../fleet/catalogue/catalogue.js';
import { isOnSidecarsHost, type MayHaveKeys } from '../engine-access/key-hosts.js';
import { CheckedGroups } from './checked-groups.js';
import { DEFAULT_ENGINE_TOKENIZER_OPTIONS, EngineTokenizer, isAgents } from './engine-tokenizer.js';
import {
  DEFAULT_LOCAL_TOKENIZER_OPTIONS,
  LocalTokenizer,
  type LocalTokenizerModules,
} from './local-tokenizer.js';
import { hasMedia, tokensWithMedia } from './media-tokens.js';
import type { NoTokensReason, Prompt, PromptTokens, TokenSource } from './prompt-tokens.js';
import { DEFAULT_PROMPT_LIMITS, readPrompt } from './read-prompt.js';
import { checkTokenizer } from './tokenizer-check.js';

/** Where tokens come from. */
export interface TokenSourceOptions {
  /** `--tokenizer`: the engines' own `/tokenize`, or the files of a folder, checked against the engines. */
  readonly tokenizer: 'engine' | { readonly folder: string };
  /** `--tokenize-timeout`: longest that a prompt waits for an engine's tokens. */
  readonly engineTimeoutMs: number;
  /** The key that engines ask for. */
  readonly engineApiKey?: string | undefined;
  /** Which engines are shown it. Default: those on their sidecars' own hosts. */
  readonly mayHaveKeys?: MayHaveKeys;
  /** PEM certificates of the authorities of engines, asked for at each connection; absent: Node's own list. */
  readonly engineCa?: () => string | undefined;
}

/** Reasons for which a prompt that cannot be tokenised here goes to the engine. */
const ENGINES_TURN: ReadonlySet<NoTokensReason | undefined> = new Set<NoTokensReason>([
  'no_tokenizer',
  'failed',
]);

/**
 * Makes the source of tokens. Rejects with a `TokenizerFolderError` when the
 * folder cannot be used; the message names the file and what is wrong with it.
 * Tokens that it gives may be shared: they are not to be changed.
 */
export async function createTokenSource(
  { tokenizer, engineTimeoutMs, engineApiKey, mayHaveKeys = isOnSidecarsHost, engineCa }: TokenSourceOptions,
  modules: LocalTokenizerModules & { readonly clock: Clock; readonly logger: Logger },
): Promise<TokenSource> {
  const local =
    tokenizer === 'engine'
      ? undefined
      : await LocalTokenizer.open(
          tokenizer.folder,
          { ...DEFAULT_LOCAL_TOKENIZER_OPTIONS, ...DEFAULT_PROMPT_LIMITS },
          modules,
        );
  const engine = new EngineTokenizer(
    {
      ...DEFAULT_ENGINE_TOKENIZER_OPTIONS,
      timeoutMs: engineTimeoutMs,
      apiKey: engineApiKey,
      mayHaveKeys,
      ...(engineCa === undefined ? {} : { ca: engineCa }),
      maxTokens: DEFAULT_PROMPT_LIMITS.maxTokens,
    },
    modules,
  );
  return local === undefined ? new EngineTokens(engine) : new CheckedLocalTokens(local, engine, modules);
}

/** The engines' own tokens. */
class EngineTokens implements TokenSource {
  readonly #engine: EngineTokenizer;

  constructor(engine: EngineTokenizer) {
    this.#engine = engine;
  }

  async tokensOf(
    prompt: Prompt,
    model: string,
    group: CatalogueGroup,
    signal: AbortSignal,
  ): Promise<PromptTokens> {
    const read = readPrompt(prompt, DEFAULT_PROMPT_LIMITS);
    if (read.kind === 'none') return { tokens: undefined, reason: read.reason };
    if (read.kind === 'tokens') return { tokens: read.tokens };
    const ask = (asked: PromptRequest): Promise<PromptTokens> =>
      // With a word in place of its media it is another text.
      this.#engine.tokensOf(asked, model, group, signal, asked.body === prompt.body ? prompt.raw : undefined);
    return hasMedia(read) ? tokensWithMedia(read, { render: ask, text: ask }) : ask(read);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

/** Tokens made here for the groups where they are known to be the engine's, or where no engine can be asked. */
class CheckedLocalTokens implements TokenSource {
  readonly #local: LocalTokenizer;
  readonly #engine: EngineTokenizer;
  readonly #groups: CheckedGroups;

  constructor(
    local: LocalTokenizer,
    engine: EngineTokenizer,
    modules: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#local = local;
    this.#engine = engine;
    this.#groups = new CheckedGroups({
      ...modules,
      check: (worker, model, signal) => checkTokenizer(local, engine, worker, model, signal),
    });
  }

  async tokensOf(
    prompt: Prompt,
    model: string,
    group: CatalogueGroup,
    signal: AbortSignal,
  ): Promise<PromptTokens> {
    const read = readPrompt(prompt, DEFAULT_PROMPT_LIMITS);
    if (read.kind === 'none') return { tokens: undefined, reason: read.reason };
    if (read.kind === 'tokens') return { tokens: read.tokens };
    const ask = (asked: PromptRequest): Promise<PromptTokens> =>
      this.#textTokens(asked, model, group, signal);
    if (!hasMedia(read)) return ask(read);
    const render = (asked: PromptRequest): Promise<PromptTokens> =>
      this.#engine.tokensOf(asked, model, group, signal);
    return tokensWithMedia(read, { render, text: ask });
  }

  async #textTokens(
    read: PromptRequest,
    model: string,
    group: CatalogueGroup,
    signal: AbortSignal,
  ): Promise<PromptTokens> {
    const choice = this.#groups.choiceFor(group, model);
    const own = isAgents(read) ? this.#engine.chatOf(read, group) : read;
    if (choice === 'local' && own !== undefined) {
      const made = await this.#local.tokensOf(own, signal);
      if (!ENGINES_TURN.has(made.reason)) return made;
      const asked = await this.#engine.tokensOf(read, model, group, signal);
      // What was wrong here says more than that no other engine can be asked.
      return asked.reason === 'no_tokenizer' ? made : asked;
    }
    const asked = await this.#engine.tokensOf(read, model, group, signal);
    return choice === 'undecided' && ENGINES_TURN.has(asked.reason)
      ? this.#local.tokensOf(read, signal)
      : asked;
  }

  async close(): Promise<void> {
    this.#groups.close();
    await Promise.all([this.#local.close(), this.#engine.close()]);
  }
}
