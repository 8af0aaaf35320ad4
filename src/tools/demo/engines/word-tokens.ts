/** One message of a conversation, as OpenAI's API has it. */
export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

/** Ids that the words share, a prime number of them; two words with the same one do no harm here. */
const VOCABULARY = 131_071;

/** FNV-1a, 32 bits: its start and its factor. */
const FNV_OFFSET = 0x811c_9dc5;
const FNV_PRIME = 0x0100_0193;

/** A tokenizer for simulated engines: a token for each word, and the same token for the same word. */
export function tokensOfText(text: string): number[] {
  return (text.match(/\S+/g) ?? []).map(tokenOf);
}

/** The tokens of a conversation as a chat template lays it out: so that a longer one begins with the same tokens. */
export function tokensOfChat(messages: readonly ChatMessage[]): number[] {
  const texts = messages.map(({ role, content }) => `<|${role}|> ${content} <|end|>`);
  return tokensOfText([...texts, '<|assistant|>'].join(' '));
}

function tokenOf(word: string): number {
  let hash = FNV_OFFSET;
  for (const character of word) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), FNV_PRIME);
  return (hash >>> 0) % VOCABULARY;
}
