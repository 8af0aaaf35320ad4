/** Longest prompt of the canary in tokens: four blocks of the largest size that engines were seen to compute. */
export const MAX_CANARY_TOKENS = 16_384;
/** Fewest tokens that are worth asking: below this a template is longer than the prompt. */
const MIN_TOKENS = 48;
/** Whole blocks of a prompt where there is room: the second shows that hashes are chained. */
const BLOCKS = 2;
/** Block sizes that are tried in turn while no source says one: usual ones, those of hybrids (1056), DeepSeek-V4's. */
const GUESSES = [128, 1_056, 4_096] as const;
/** Room that is left below `max_model_len`: the answer's token, and what a chat template puts around a prompt. */
const ROOM_TOKENS = 64;

/** Lengths of prompts to be asked in turn until blocks are stored; empty where the model holds no whole block. */
export function canaryLengths(
  tokensPerBlock: number | undefined,
  maxModelLen: number | undefined,
): readonly number[] {
  const limit = Math.min(MAX_CANARY_TOKENS, (maxModelLen ?? MAX_CANARY_TOKENS + ROOM_TOKENS) - ROOM_TOKENS);
  const lengths = (tokensPerBlock === undefined ? GUESSES : [tokensPerBlock]).map((size) =>
    lengthFor(size, limit),
  );
  return [...new Set(lengths.filter((length) => length !== undefined))];
}

/** Whole blocks and half of one more, so that neither a token more nor one less changes how many there are. */
function lengthFor(tokensPerBlock: number, limit: number): number | undefined {
  const half = Math.ceil(tokensPerBlock / 2);
  const most = Math.floor((limit - half) / tokensPerBlock);
  const blocks = Math.min(most, Math.max(BLOCKS, Math.ceil(MIN_TOKENS / tokensPerBlock)));
  return blocks < 1 ? undefined : blocks * tokensPerBlock + half;
}
