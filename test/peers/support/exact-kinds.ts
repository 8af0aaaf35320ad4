import { startSglang } from './sglang.js';
import { type Architecture, tinyModel } from './tiny-model.js';
import { startVllm } from './vllm.js';

/** An engine and a model of one kind, with a cache so small that it evicts. */
export interface ExactKind {
  readonly name: string;
  readonly start: () => ReturnType<typeof startVllm> | ReturnType<typeof startSglang>;
  /** Width of the longest prompts, in words. */
  readonly longestWords: number;
  /** False where the engine renders conversations by files that have to be downloaded. */
  readonly hasChats: boolean;
  /** Whether the sidecars have to say first that the last block of a hit is computed again. */
  readonly hasDraft: boolean;
}

/** The served name, of every kind. */
export const EXACT_MODEL = 'tiny';

const EVICTING_BLOCKS = 200;
const EVICTING_TOKENS = 6_400;

/** Every kind that starts on a CPU. */
export const EXACT_KINDS: readonly ExactKind[] = [
  onVllm('full', 'llama'),
  onVllm('gemma3', 'gemma3'),
  onVllm('gpt-oss', 'gpt-oss', { hasChats: false }),
  onVllm('all-sliding', 'mistral'),
  onVllm('eagle', 'llama', { hasDraft: true }),
  onVllm('mla', 'mla'),
  // Its blocks have 1,056 tokens, whatever it is asked for.
  onVllm('qwen3-next', 'qwen3-next', { longestWords: 2_400, blocks: 24, flags: ['--max-model-len', '8192'] }),
  ...[1, 32, 64].map((pageSize) => onSglang(`sglang-${pageSize}`, 'llama', pageSize)),
];

interface VllmKind extends Partial<Pick<ExactKind, 'longestWords' | 'hasChats' | 'hasDraft'>> {
  readonly blocks?: number;
  readonly flags?: readonly string[];
}

function onVllm(name: string, architecture: Architecture, options: VllmKind = {}): ExactKind {
  const {
    longestWords = 1_000,
    blocks = EVICTING_BLOCKS,
    flags = [],
    hasDraft = false,
    hasChats = true,
  } = options;
  return {
    name,
    longestWords,
    hasChats,
    hasDraft,
    start: () =>
      startVllm({
        model: tinyModel(EXACT_MODEL, architecture, { folderName: name }),
        blockSize: 32,
        blocks,
        developerMode: true,
        flags: [...flags, ...(hasDraft ? ['--speculative-config', JSON.stringify(eagle())] : [])],
      }),
  };
}

/** A draft model of the same kind: what it guesses is of no use, and the engine caches as with a good one. */
function eagle(): unknown {
  return { method: 'eagle', model: tinyModel('draft', 'llama'), num_speculative_tokens: 2 };
}

function onSglang(name: string, architecture: Architecture, pageSize: number): ExactKind {
  return {
    name,
    longestWords: 1_000,
    hasChats: true,
    hasDraft: false,
    start: () =>
      startSglang({
        model: tinyModel(EXACT_MODEL, architecture, { folderName: name }),
        pageSize,
        tokens: EVICTING_TOKENS,
      }),
  };
}
