import OpenAI from 'openai';
import { seededRandom } from '../../../src/edge/platform/random.js';

/** Conversations of several turns that share their beginning, as chats on one system prompt do. */
export interface ChatLoad {
  readonly model: string;
  readonly conversations: number;
  readonly turns: number;
  /** Words of the system prompt, which all share. */
  readonly systemWords: number;
  /** Words of the first message of each conversation. */
  readonly openingWords: number;
  /** Words of each further message. */
  readonly turnWords: number;
  /** Tokens of each answer. */
  readonly answerTokens: number;
  /** Conversations that go on at a time. */
  readonly concurrency: number;
  /** Decides who goes on when, and what is said. */
  readonly seed: number;
}

/** One turn as its client saw it. */
export interface PlayedTurn {
  readonly conversation: number;
  /** 0 is the first. */
  readonly turn: number;
  readonly timeToFirstTokenMs: number;
  readonly promptTokens: number;
  /** What the engine says that it had in its cache. */
  readonly cachedTokens: number;
}

type Message = OpenAI.Chat.ChatCompletionMessageParam;

/** Plays them with OpenAI's own client, turn by turn, in an order that the seed decides. */
export async function playChats(url: string, load: ChatLoad): Promise<PlayedTurn[]> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0, timeout: 120_000 });
  const random = seededRandom(load.seed).fraction;
  const system: Message = { role: 'system', content: sentence(load.systemWords, random) };
  const chats = Array.from({ length: load.conversations }, (_, conversation) => ({
    conversation,
    turn: 0,
    messages: [system] as Message[],
    questions: Array.from({ length: load.turns }, (_, turn) =>
      sentence(turn === 0 ? load.openingWords : load.turnWords, random),
    ),
  }));
  const waiting = [...chats];
  const played: PlayedTurn[] = [];
  const worker = async (): Promise<void> => {
    while (waiting.length > 0) {
      const [chat] = waiting.splice(Math.floor(random() * waiting.length), 1);
      if (chat === undefined) return;
      chat.messages.push({ role: 'user', content: chat.questions[chat.turn] ?? '' });
      const answer = await ask(client, load, chat.messages);
      chat.messages.push({ role: 'assistant', content: answer.text });
      played.push({ conversation: chat.conversation, turn: chat.turn, ...answer.seen });
      chat.turn += 1;
      if (chat.turn < load.turns) waiting.push(chat);
    }
  };
  await Promise.all(Array.from({ length: load.concurrency }, worker));
  return played;
}

async function ask(
  client: OpenAI,
  load: ChatLoad,
  messages: readonly Message[],
): Promise<{ text: string; seen: Omit<PlayedTurn, 'conversation' | 'turn'> }> {
  const startedMs = performance.now();
  const stream = await client.chat.completions.create({
    model: load.model,
    messages: [...messages],
    max_tokens: load.answerTokens,
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
  });
  let firstMs: number | undefined;
  let text = '';
  let usage: OpenAI.CompletionUsage | undefined;
  for await (const chunk of stream) {
    firstMs ??= performance.now() - startedMs;
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  if (usage === undefined || firstMs === undefined) throw new Error('the engine did not tell the usage');
  return {
    text,
    seen: {
      timeToFirstTokenMs: firstMs,
      promptTokens: usage.prompt_tokens,
      cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    },
  };
}

/** Words of the tiny model. */
function sentence(words: number, random: () => number): string {
  return Array.from({ length: words }, () => `w${Math.floor(random() * 2032)}`).join(' ');
}
