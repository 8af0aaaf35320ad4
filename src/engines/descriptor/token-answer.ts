/** Largest token id: what fits into the 32 bits in which tokens travel. */
const MAX_TOKEN_ID = 2 ** 32 - 1;

/**
 * The field of an engine's answer that is no JSON text any more. vLLM renders a
 * completion as a list with one member for each prompt, so the only member of
 * a list counts as the answer. Undefined when there is none.
 */
export function readAnswerField(answer: unknown, field: string): unknown {
  const one: unknown = Array.isArray(answer) && answer.length === 1 ? answer[0] : answer;
  if (typeof one !== 'object' || one === null) return undefined;
  return Object.getOwnPropertyDescriptor(one, field)?.value;
}

/**
 * The tokens in an engine's answer; undefined when there are none, more than
 * `maxTokens`, or when something else is among them. `field` is
 * `TokenEndpoint.tokenField`.
 */
export function readTokenAnswer(
  answer: unknown,
  field: string,
  maxTokens: number = Number.POSITIVE_INFINITY,
): Uint32Array | undefined {
  const tokens = readAnswerField(answer, field);
  if (tokens instanceof Uint32Array) return tokens.length > maxTokens ? undefined : tokens;
  if (!Array.isArray(tokens) || tokens.length > maxTokens) return undefined;
  return tokens.every(isTokenId) ? Uint32Array.from(tokens) : undefined;
}

function isTokenId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKEN_ID;
}
