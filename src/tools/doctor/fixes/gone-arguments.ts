import { nearestName } from '../../../edge/platform/data/nearest-name.js';
import { ENGINES } from '../../../engines/catalogue/engines.js';

/**
 * Arguments that engines no longer have, or have from a release on, with what takes their place. Read in `arg_utils.py` of
 * vLLM 0.6 to 0.33 and in `server_args.py` of SGLang 0.2 to 0.5.23.
 */
const NOTES: Readonly<Record<string, string>> = {
  '--disable-log-requests': 'gone in vLLM 0.17: requests are only logged with --enable-log-requests',
  '--enable-reasoning': 'gone in vLLM 0.10: --reasoning-parser alone switches it on',
  '--num-scheduler-steps': 'gone in vLLM 0.10 with engine V0: --async-scheduling takes its place',
  '--multi-step-stream-outputs': 'gone in vLLM 0.10 with engine V0',
  '--use-v2-block-manager': 'gone in vLLM 0.10: there is only one',
  '--device': 'gone in vLLM 0.10: the platform is that of the package',
  '--speculative-model': `gone in vLLM 0.9: --speculative-config '{"model":"DRAFT","num_speculative_tokens":N}'`,
  '--num-speculative-tokens': `gone in vLLM 0.9: "num_speculative_tokens" in --speculative-config`,
  '--speculative-draft-tensor-parallel-size': `gone in vLLM 0.9: "draft_tensor_parallel_size" in --speculative-config`,
  '--ngram-prompt-lookup-max': `gone in vLLM 0.9: "prompt_lookup_max" in --speculative-config`,
  '--num-lookahead-slots': 'gone in vLLM 0.12: --speculative-config decides it',
  '--swap-space':
    'gone in vLLM 0.17: engine V1 computes preempted requests again; a cache on the host is --kv-offloading-size',
  '--preemption-mode': 'gone in vLLM 0.11: engine V1 computes preempted requests again',
  '--worker-use-ray': 'gone in vLLM 0.7: --distributed-executor-backend ray',
  '--engine-use-ray': 'gone in vLLM 0.6: --distributed-executor-backend ray',
  '--cuda-graph-sizes': 'gone in vLLM 0.13: --cudagraph-capture-sizes',
  '--max-seq-len-to-capture': 'gone in vLLM 0.11: --max-cudagraph-capture-size is about batches',
  '--rope-scaling': `gone in vLLM 0.12: --hf-overrides '{"rope_scaling":{…}}' (rope_parameters with Transformers 5)`,
  '--rope-theta': `gone in vLLM 0.12: --hf-overrides '{"rope_theta":N}'`,
  '--disable-mm-preprocessor-cache': 'gone in vLLM 0.13: --mm-processor-cache-gb 0',
  '--enable-multimodal-encoder-data-parallel': 'gone in vLLM 0.13: --mm-encoder-tp-mode data',
  '--num-redundant-experts': `gone in vLLM 0.13: --eplb-config '{"num_redundant_experts":N}'`,
  '--eplb-log-balancedness': `gone in vLLM 0.13: --eplb-config '{"log_balancedness":true}'`,
  '--override-pooler-config': 'gone in vLLM 0.13: --pooler-config',
  '--guided-decoding-disable-fallback': 'gone in vLLM 0.13: structured outputs have no fallback',
  '--enable-prompt-adapter': 'gone in vLLM 0.10: --enable-lora is what is left',
  '--quantization-param-path': 'gone in vLLM 0.7: scales of the KV cache come with the weights',
  '--calculate-kv-scales': 'gone in later releases of vLLM: scales of the KV cache come with the weights',
  '--attention-backend': 'vLLM has it from 0.13 on; before that VLLM_ATTENTION_BACKEND is a variable',
  '--kv-offloading-size': 'vLLM has it from 0.12 on; before that OffloadingConnector in --kv-transfer-config',
  '--kv-cache-memory-bytes': 'vLLM has it from 0.11 on; before that --gpu-memory-utilization',
  '--kv-transfer-config': 'vLLM has it from 0.6.4 on',
  '--kv-events-config': 'vLLM has it from 0.9 on',
  '--structured-outputs-config': 'vLLM has it from 0.11 on; before that --guided-decoding-backend',
  '--disable-hybrid-kv-cache-manager': 'vLLM has it from 0.9.2 on',
  '--no-disable-hybrid-kv-cache-manager': 'vLLM has it from 0.9.2 on',
  '--enable-expert-parallel': 'vLLM has it from 0.8 on',
  '--data-parallel-size': 'vLLM serve has it from 0.8.3 on',
  '--enable-ep-moe': 'gone in SGLang 0.5.5: --ep-size as large as --tp-size',
  '--enable-deepep-moe': 'gone in SGLang 0.5.5: --moe-a2a-backend deepep',
  '--enable-flashinfer-mla': 'gone in SGLang 0.4.8: --attention-backend flashinfer',
  '--enable-flashmla': 'gone in SGLang 0.4.8: --attention-backend flashmla',
  '--enable-flashinfer-moe': 'gone in SGLang 0.4.10: --moe-runner-backend flashinfer_cutlass',
  '--enable-flashinfer-cutlass-moe': 'gone in SGLang 0.5.5: --moe-runner-backend flashinfer_cutlass',
  '--enable-flashinfer-trtllm-moe': 'gone in SGLang 0.5.5: --moe-runner-backend flashinfer_trtllm',
  '--enable-flashinfer-cutedsl-moe': 'gone in SGLang 0.5.5: --moe-runner-backend flashinfer_cutedsl',
  '--enable-flashinfer-mxfp4-moe': 'gone in SGLang 0.5.5: --moe-runner-backend flashinfer_mxfp4',
  '--enable-triton-kernel-moe': 'gone in SGLang 0.5.5: --moe-runner-backend triton_kernel',
  '--disable-mla': 'gone in SGLang 0.4.6: models with MLA always use it',
  '--enable-overlap-schedule': 'gone in SGLang 0.4: it is on unless --disable-overlap-schedule is given',
  '--disable-flashinfer': 'gone in SGLang 0.4: --attention-backend triton',
  '--disable-flashinfer-sampling': 'gone in SGLang 0.4: --sampling-backend pytorch',
  '--disaggregation-decode-tp': 'gone in SGLang 0.5.10: prefill engines learn it from decode engines',
  '--disaggregation-decode-dp': 'gone in SGLang 0.5.10: prefill engines learn it from decode engines',
  '--disaggregation-prefill-pp': 'gone in SGLang 0.5.10: decode engines learn it from prefill engines',
};

/** Changes of single characters that make one name of another by a slip of the hand. */
const MAX_SLIPS = 2;

/** What is known of an argument that a program does not have: since when, and what to write in its place. */
export function noteOfArgument(flag: string, engine: string | undefined): string | undefined {
  const note = NOTES[flag];
  if (note !== undefined) return note;
  const launches = ENGINES.flatMap(({ word, launch }) =>
    launch?.arguments === undefined || (engine !== undefined && word !== engine) ? [] : [launch.arguments],
  );
  const names = launches.flatMap((known) => [...known]);
  const name = flag.slice(2).replaceAll('-', '_');
  if (names.includes(name)) return undefined;
  const nearest = nearestName(name, names);
  return nearest === undefined || nearest.distance > MAX_SLIPS
    ? undefined
    : `most probably --${nearest.name.replaceAll('_', '-')} was meant`;
}
