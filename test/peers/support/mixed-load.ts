import { seededRandom } from '../../../src/edge/platform/random.js';

/** A request of the load, and what goes on when its answer is there. */
export interface LoadRequest {
  /** What kind of traffic it stands for. */
  readonly kind: LoadKind;
  readonly path: '/v1/chat/completions' | '/v1/completions';
  /** All of the body but the model. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Takes the text of the answer: a conversation goes on with it. */
  readonly answered: (text: string) => void;
}

/** Turns of conversations, questions on documents, prompts that are cut, sent again, or never seen before. */
export type LoadKind = 'chat' | 'rag' | 'cut' | 'again' | 'fresh';

/** What is drawn. */
export interface LoadOptions {
  /** The same load for the same seed. */
  readonly seed: number;
  /** No prompt has many more words (one token each) than this. */
  readonly longestWords: number;
  /** Without conversations where the engine cannot render them; default true. */
  readonly hasChats?: boolean;
}

interface Chat {
  readonly messages: { readonly role: string; readonly content: string }[];
  words: number;
}

const CHATS = 8;
const DOCUMENTS = 8;
const REMEMBERED = 40;
const MOST_ANSWER_TOKENS = 8;
const WORDS = 2_032;
const FIRST_WORD_TOKEN = 16;

/**
 * Endless mixed traffic, as one fleet gets it: conversations on shared system prompts, questions on documents, and
 * prompts that share only a part with what was there before, which is where models of several kinds of layers differ.
 */
export class MixedLoad {
  readonly #options: LoadOptions;
  readonly #fraction: () => number;
  readonly #systems: readonly number[][];
  readonly #documents: readonly number[][];
  readonly #chats: Chat[] = [];
  /** Prompts of completions, as words. */
  readonly #sent: number[][] = [];

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#fraction = seededRandom(options.seed).fraction;
    const { longestWords } = options;
    this.#systems = [0.05, 0.12].map((part) => this.#words(part * longestWords));
    this.#documents = Array.from({ length: DOCUMENTS }, () =>
      this.#words(longestWords * (0.2 + 0.5 * this.#fraction())),
    );
  }

  next(): LoadRequest {
    const drawn = this.#fraction();
    if (drawn < 0.35 && this.#options.hasChats !== false) return this.#chatTurn();
    if (drawn < 0.65) return this.#completion('rag', this.#questionOnDocument());
    if (drawn < 0.8) return this.#completion('cut', this.#cut());
    if (drawn < 0.87) return this.#completion('again', this.#oneOf(this.#sent) ?? this.#questionOnDocument());
    return this.#completion(
      'fresh',
      this.#words(this.#options.longestWords * (0.05 + 0.6 * this.#fraction())),
    );
  }

  #chatTurn(): LoadRequest {
    const at = this.#below(CHATS);
    let chat = this.#chats[at];
    if (chat === undefined || chat.words > 0.8 * this.#options.longestWords) {
      const system = this.#oneOf(this.#systems) ?? [];
      chat = { messages: [{ role: 'system', content: textOf(system) }], words: system.length };
      this.#chats[at] = chat;
    }
    const { messages } = chat;
    const question = this.#words(this.#options.longestWords * (0.01 + 0.08 * this.#fraction()));
    messages.push({ role: 'user', content: textOf(question) });
    chat.words += question.length + MOST_ANSWER_TOKENS;
    return {
      kind: 'chat',
      path: '/v1/chat/completions',
      body: { messages: [...messages], max_tokens: this.#answerTokens(), temperature: 0 },
      answered: (content) => messages.push({ role: 'assistant', content }),
    };
  }

  /** Half of them as text, half as token ids. */
  #completion(kind: LoadKind, words: readonly number[]): LoadRequest {
    this.#sent.push([...words]);
    if (this.#sent.length > REMEMBERED) this.#sent.shift();
    // The engine puts its token of the beginning before a text.
    const prompt =
      this.#below(2) === 0 ? textOf(words) : [1, ...words.map((word) => FIRST_WORD_TOKEN + word)];
    return {
      kind,
      path: '/v1/completions',
      body: { prompt, max_tokens: this.#answerTokens(), temperature: 0 },
      answered: () => undefined,
    };
  }

  #questionOnDocument(): number[] {
    const question = this.#words(this.#options.longestWords * (0.005 + 0.05 * this.#fraction()));
    return [...(this.#systems[0] ?? []), ...(this.#oneOf(this.#documents) ?? []), ...question];
  }

  /** The beginning of an earlier prompt, half the time with another end. */
  #cut(): number[] {
    const sent = this.#oneOf(this.#sent) ?? this.#questionOnDocument();
    const kept = sent.slice(0, Math.ceil(sent.length * (0.3 + 0.68 * this.#fraction())));
    const isContinued = this.#below(2) === 0;
    return isContinued ? [...kept, ...this.#words(0.04 * this.#options.longestWords)] : kept;
  }

  #answerTokens(): number {
    return 1 + this.#below(MOST_ANSWER_TOKENS);
  }

  #words(count: number): number[] {
    return Array.from({ length: Math.max(1, Math.round(count)) }, () => this.#below(WORDS));
  }

  #oneOf<Item>(items: readonly Item[]): Item | undefined {
    return items[this.#below(items.length)];
  }

  #below(limit: number): number {
    return Math.floor(this.#fraction() * limit);
  }
}

function textOf(words: readonly number[]): string {
  return words.map((word) => `w${word}`).join(' ');
}
