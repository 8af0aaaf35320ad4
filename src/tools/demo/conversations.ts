import { type Clock, sleep } from '../../edge/platform/clock.js';
import { askChat, type ChatAnswer } from './chat-client.js';
import type { ChatMessage } from './engines/word-tokens.js';

/** A question of one conversation, with its answer. */
export interface Turn {
  readonly person: string;
  /** 1 for the first. */
  readonly number: number;
  readonly answer: ChatAnswer;
}

/** Where conversations are held, and by whom. */
export interface Conversations {
  /** Base URL of an OpenAI server. */
  readonly url: string;
  readonly model: string;
  /** Three names; the same name has the same conversation. */
  readonly people: readonly string[];
}

/** Who asks before whom in each turn, by their places: people do not take turns as workers do. */
const ORDERS: readonly (readonly number[])[] = [
  [0, 1, 2],
  [1, 2, 0],
  [0, 2, 1],
];

/** Milliseconds between the questions of two people: short enough for requests to be on their way together. */
const BETWEEN_PEOPLE_MS = 20;
/** Milliseconds for which they read an answer; by then its KV events have long arrived. */
const READING_MS = 150;

/** Words of the text that a conversation is about, of each question, and of each answer. */
const DOCUMENT_WORDS = 260;
const QUESTION_WORDS = 40;
const ANSWER_WORDS = 16;

/** Several people talk at the same time, each about a text of their own. Rejects with `signal.reason` when that aborts. */
export async function holdConversations(
  { url, model, people }: Conversations,
  modules: { readonly clock: Clock; readonly signal: AbortSignal; readonly onTurn: (turn: Turn) => void },
): Promise<readonly Turn[]> {
  const { clock, signal, onTurn } = modules;
  const turns: Turn[] = [];
  const ask = (messages: readonly ChatMessage[], maxTokens: number): Promise<ChatAnswer> =>
    askChat(url, { model, messages, maxTokens }, modules);
  // The first one would wait for connections and for code that has not run yet.
  await Promise.all(people.map((person) => ask([{ role: 'user', content: `${person}?` }], 1)));
  const said = new Map(people.map((person) => [person, [documentOf(person)]]));
  for (const [round, order] of ORDERS.entries()) {
    if (round > 0) await sleep(clock, READING_MS, signal);
    const number = round + 1;
    const asking = order.map(async (place, index) => {
      const person = people[place] ?? '';
      const messages = said.get(person) ?? [];
      await sleep(clock, index * BETWEEN_PEOPLE_MS, signal);
      signal.throwIfAborted();
      messages.push({ role: 'user', content: wordsOf(`${person}-${number}`, QUESTION_WORDS) });
      const answer = await ask(messages, ANSWER_WORDS);
      messages.push({ role: 'assistant', content: answer.text });
      const turn = { person, number, answer };
      turns.push(turn);
      onTurn(turn);
    });
    await Promise.all(asking);
  }
  return turns;
}

/** What came of the turns that went on with a conversation: there something could be cached. */
export interface FollowUps {
  /** Of their prompts' tokens, from 0 to 1. */
  readonly cachedShare: number;
  /** Tokens of a prompt that were left to compute, the mean. */
  readonly computedTokens: number;
  /** The median: a machine that is busy with something else holds one of them up, and not all. */
  readonly firstTokenMs: number;
}

/** Looks at all turns but the first of each conversation; there is at least one. */
export function followUpsOf(turns: readonly Turn[]): FollowUps {
  const answers = turns.filter(({ number }) => number > 1).map(({ answer }) => answer);
  const prompted = answers.reduce((sum, { promptTokens }) => sum + promptTokens, 0);
  const cached = answers.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0);
  const times = answers.map(({ firstTokenMs }) => firstTokenMs).sort((a, b) => a - b);
  return {
    cachedShare: cached / prompted,
    computedTokens: (prompted - cached) / answers.length,
    firstTokenMs: times[Math.floor(times.length / 2)] ?? 0,
  };
}

function documentOf(person: string): ChatMessage {
  return { role: 'system', content: wordsOf(person, DOCUMENT_WORDS) };
}

/** Words that nobody else says. */
function wordsOf(name: string, count: number): string {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`).join(' ');
}
