/** Token ids of a text that no other part of the demo has: `length` of them, from `first` on. */
function textOf(first: number, length: number): number[] {
  return Array.from({ length }, (_, index) => first + index);
}

/** What every conversation begins with: the system prompt, three blocks of 16. */
const SYSTEM_PROMPT = textOf(1_000, 48);

/** The first turn of one conversation: 256 tokens. */
export const FIRST_CONVERSATION: readonly number[] = [...SYSTEM_PROMPT, ...textOf(20_000, 208)];

/** The first turn of another: 160 tokens. */
export const SECOND_CONVERSATION: readonly number[] = [...SYSTEM_PROMPT, ...textOf(30_000, 112)];

/** The next turn of the first conversation, with the answer before it: 320 tokens. */
export const NEXT_TURN: readonly number[] = [...FIRST_CONVERSATION, ...textOf(40_000, 64)];
