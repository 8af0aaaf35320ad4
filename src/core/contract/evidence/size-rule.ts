import type { CapabilityReport } from '../../../gen/kvaccord/v1/capabilities.js';
import { CacheGroupKind, EngineKind } from '../../../gen/kvaccord/v1/capabilities.js';
import { sizeSettingOf } from '../wire/engine-kinds.js';
import { isTokensPerBlock } from './tokens-per-block.js';

/** What is known of an engine that decides which block sizes it can take. */
export interface SizeFacts {
  readonly engineKind: EngineKind;
  /** `tokens_per_block` that it runs, with context parallelism; undefined while that is not known. */
  readonly runsTokens?: number | undefined;
  /** Whether it runs on a GPU; undefined where nothing says it. */
  readonly isOnGpu?: boolean | undefined;
  /** Whether its attention is multi-head latent attention (MLA). */
  readonly isMla?: boolean | undefined;
  /** Whether it keeps states beside attention (Mamba, linear attention). */
  readonly hasStates?: boolean | undefined;
  /** Factor between the setting and the width of its blocks (decode context parallelism). Default 1. */
  readonly contextParallel?: number | undefined;
}

/** Whether an engine takes a size: `maybe` where that depends on a device or a kernel that is not known. */
export type Takes = 'yes' | 'maybe' | 'no';

/** Which block sizes one engine can be started with. */
export interface SizeRule {
  readonly takes: (tokensPerBlock: number) => Takes;
  /** `vLLM takes multiples of 16 on a GPU, and of 32 on a CPU`. */
  readonly reason: string;
  /** Factor between the setting and `tokens_per_block`. */
  readonly contextParallel: number;
}

/**
 * Sizes that are tried where no engine of the group runs one that all can take: the powers of two that attention
 * kernels are built for, up to the largest that an engine's own list names.
 */
const USUAL_SIZES = [16, 32, 64, 128, 256, 512, 1_024] as const;

/** The engine's setting; tokens in a page of SGLang beyond this do not divide its smallest chunk of a prefill. */
const MAX_SGLANG_PAGE = 2_048;

/** Above this vLLM offers no size of its own; one that is no power of two was computed for a hybrid model. */
const MAX_CHOSEN_VLLM = 256;

/**
 * The sizes that an engine can take. Read in the engines' sources: vLLM 0.32.0 `v1/attention/backends`
 * (`get_supported_kernel_block_sizes`) and `platforms/cpu.py`, `platforms/interface.py`; SGLang 0.5.23
 * `arg_groups/overrides.py` and `validation_hook.py`; TensorRT-LLM 1.4 "KV Cache System" (a power of two greater than 1).
 */
export function sizeRule(facts: SizeFacts): SizeRule {
  const contextParallel = Math.max(1, facts.contextParallel ?? 1);
  const { takes, reason } = ruleOfSetting(facts, contextParallel);
  return {
    contextParallel,
    reason: contextParallel === 1 ? reason : `${reason}, times ${contextParallel} for context parallelism`,
    takes: (tokensPerBlock) => {
      if (tokensPerBlock === facts.runsTokens) return 'yes';
      const setting = tokensPerBlock / contextParallel;
      return isTokensPerBlock(tokensPerBlock) && Number.isInteger(setting) ? takes(setting) : 'no';
    },
  };
}

/** What a worker's report says of it. */
export function sizeFactsOf(report: CapabilityReport): SizeFacts {
  const groups = report.contract?.cacheGroups ?? [];
  return {
    engineKind: report.engine?.kind ?? EngineKind.UNSPECIFIED,
    runsTokens: report.contract?.tokensPerBlock,
    isOnGpu: (report.topology?.gpus.length ?? 0) > 0 ? true : undefined,
    isMla: groups.some(({ engineKind }) => /mla/i.test(engineKind)),
    hasStates: groups.some(({ kind }) => kind === CacheGroupKind.STATE),
    contextParallel: report.parallelism?.decodeContextParallelSize,
  };
}

/** Where an operator sets the size of an engine: `--block-size 32`; context parallelism is taken out of the number. */
export function sizeSetting(
  engineKind: EngineKind,
  tokensPerBlock: string | number,
  contextParallel = 1,
): string {
  const setting =
    typeof tokensPerBlock === 'number' && Number.isInteger(tokensPerBlock / contextParallel)
      ? tokensPerBlock / contextParallel
      : tokensPerBlock;
  return sizeSettingOf(engineKind, setting);
}

/**
 * The first size that no engine refuses: of the preferred ones, in their order, then of the usual ones. Undefined when
 * there is none.
 */
export function commonSize(rules: readonly SizeRule[], preferred: readonly number[]): number | undefined {
  const candidates = [...preferred, ...USUAL_SIZES];
  return candidates.find((size) => rules.every((rule) => rule.takes(size) !== 'no'));
}

interface SettingRule {
  readonly takes: (setting: number) => Takes;
  readonly reason: string;
}

function ruleOfSetting(facts: SizeFacts, contextParallel: number): SettingRule {
  const runs = facts.runsTokens === undefined ? undefined : facts.runsTokens / contextParallel;
  switch (facts.engineKind) {
    case EngineKind.VLLM:
      return ofVllm(facts, runs);
    case EngineKind.SGLANG:
      return {
        takes: (page) => (isPowerOfTwo(page) && page <= MAX_SGLANG_PAGE ? 'yes' : 'no'),
        reason: `SGLang takes powers of two from 1 to ${MAX_SGLANG_PAGE}, and some attention backends 32, 64 or 128 only`,
      };
    case EngineKind.TENSORRT_LLM:
      return {
        takes: (size) => (isPowerOfTwo(size) && size > 1 ? 'yes' : 'no'),
        reason: 'TensorRT-LLM takes powers of two from 2, and FlashMLA forces 64',
      };
    default:
      return { takes: () => 'yes', reason: 'its engine is not known' };
  }
}

function ofVllm({ isMla, hasStates, isOnGpu }: SizeFacts, runs: number | undefined): SettingRule {
  const isComputed =
    hasStates === true || (runs !== undefined && runs > MAX_CHOSEN_VLLM && !isPowerOfTwo(runs));
  if (isComputed) {
    return {
      takes: (size) => (size === runs ? 'yes' : 'no'),
      reason: `vLLM computes ${runs ?? 'the size'} for this hybrid model, and --block-size cannot lower it`,
    };
  }
  if (isMla === true) return ofVllmMla(runs, isOnGpu);
  const isGpu = isOnGpu === true || (runs !== undefined && runs % 32 !== 0);
  return {
    takes: (size) => (size % 32 === 0 ? 'yes' : size % 16 !== 0 ? 'no' : isGpu ? 'yes' : 'maybe'),
    reason: isGpu
      ? 'vLLM takes multiples of 16 on a GPU'
      : 'vLLM takes multiples of 32 on a CPU, and of 16 on most GPUs',
  };
}

/** A multiple of what runs is one of what the kernel asks for; but the reference kernel on a CPU takes 16 alone. */
function ofVllmMla(runs: number | undefined, isOnGpu: boolean | undefined): SettingRule {
  if (runs === undefined) {
    return { takes: (size) => (size % 64 === 0 ? 'maybe' : 'no'), reason: MLA_REASON };
  }
  const multiple: Takes = runs === 16 && isOnGpu !== true ? 'maybe' : 'yes';
  return {
    takes: (size) => (size === runs ? 'yes' : size % runs === 0 ? multiple : 'no'),
    reason: MLA_REASON,
  };
}

const MLA_REASON =
  'an MLA kernel of vLLM sets the size (16 alone on a CPU without AMX; 32, 64 or 128 on a GPU)';

function isPowerOfTwo(value: number): boolean {
  return Number.isInteger(value) && value > 0 && Number.isInteger(Math.log2(value));
}
