import type { Traceback } from '../traceback-reader.js';
import { type Fault, plain } from './fault-classes.js';

/** Where SGLang checks its arguments, 0.4 to 0.5.23. */
export const CHECK_FILES = ['/srt/server_args.py", line ', '/srt/arg_groups/'] as const;

const OF_CHECKS = /(?:^|\/)sglang\/srt\/(?:server_args\.py$|arg_groups\/)/;
const REFUSAL = /^(?:Assertion|Value|NotImplemented|Runtime|Type)Error(?:: |$)/;
const OF_SGLANG = "SGLang's arguments: ";
/** What the checks say of their own order, which no operator sets. */
const INNER = /^_?[a-z]\w*\b.{0,60}\bmust run after|not set yet|is not initiali[sz]ed/;

/** An exception that a check of SGLang's arguments raises itself: what they call may fail for any other reason. */
export function refusedArguments({ frames, sentence = '' }: Traceback): Fault | undefined {
  const frame = frames.at(-1);
  const name = REFUSAL.exec(sentence)?.[0];
  if (frame === undefined || name === undefined || !OF_CHECKS.test(frame.path)) return undefined;
  const words = sentence.slice(name.length).trim() || /^assert .{3,}/.exec(frame.source)?.[0];
  if (words === undefined || INNER.test(words)) return undefined;
  return { signal: 'settings_refused', value: plain(`${OF_SGLANG}${words}`) };
}

/** Arguments and parts that no other engine has, as sentences call them. */
const OWN =
  /\b(?:dp attention|HybridAttentionBackend|HybridAttnBackend|Spec v\d|moe_dense_tp_size|attn_[cd]p_size|moe_dp_size|enable_dp_attention|chunked_prefill_size|schedule_(?:policy|conservativeness)|speculative_(?:eagle_topk|num_draft_tokens|num_steps|algorithm)|mamba_track_interval|(?:NSA|DSA) (?:CP|only)|moe_a2a_backend|DeepEP MoE|extra_buffer|FlashInfer (?:(?:Cutlass|TRTLLM) MOE supports|MoE A2A)|base_gpu_id|gpu_id_step|disaggregation_mode|enable_mixed_chunk|RadixAttention|double sparsity|SGLang only|set a dp-size|trtllm_m[hl]a backend|Cutlass MoE is only supported|Triton kernel MoE|Flex Attention backend|Multi-item scoring|under elastic EP|max_loras_per_batch|Tokenizer worker num|compatible with MTP models|Dual chunk attention is|required for Llama4)\b/i;
/** The same where vLLM has the words in another place, or in capitals. */
const OWN_FORM =
  /^Elastic EP (?:runtime |CUDA graph |scale|joining|requires eplb_algorithm)|--(?:prefill-|decode-)?attention-backend (?:flashinfer|triton|fa\d)/;
const DEMANDS =
  /\bnot (?:yet |currently |be )?(?:supported?|compatible|allowed)|(?:does|do|is|are)(?: not|n'?t) (?:yet |currently )?(?:support|compatible)|\bonly supports?\b|\bonly supported\b|\bmust (?:be|equal|match)\b|\brequires?\b|\brequired for\b|\bincompatible\b|\bdivisible by\b|\bplease (?:set|use|enable|specify)\b|\bonly works\b/i;
/** What one request asks for. */
const OF_REQUESTS = /\b(?:request|prompt|messages?|sampling|logprobs?|rid|session)\b/i;

/** The last line of such a check, which is all that was given of it; undefined for other sentences. */
export function lastLineOfCheck(sentence: string): Fault | undefined {
  const isOwn = OWN.test(sentence) || OWN_FORM.test(sentence);
  if (!isOwn || !DEMANDS.test(sentence) || OF_REQUESTS.test(sentence)) return undefined;
  return { signal: 'settings_refused', value: plain(`${OF_SGLANG}${sentence}`) };
}

/** The words of such a check; undefined for other sentences. */
export function wordsOfSglang(sentence: string): string | undefined {
  return sentence.startsWith(OF_SGLANG) ? sentence.slice(OF_SGLANG.length) : undefined;
}
