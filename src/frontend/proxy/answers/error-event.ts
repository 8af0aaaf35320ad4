/** Begins like the event of an error, in the words of vLLM, SGLang, OpenAI and Anthropic. */
const ERROR_EVENT = /^(?:event: ?error|data: ?\{"(?:error"|object": ?"error"))/;
const LOOKED_AT_BYTES = 32;

/** Whether a stream begins with an error in place of a token. */
export function beginsWithError(piece: Buffer): boolean {
  return ERROR_EVENT.test(piece.subarray(0, LOOKED_AT_BYTES).toString('latin1').trimStart());
}
