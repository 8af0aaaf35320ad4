import { engineOfWord } from '../../../engines/catalogue/engines.js';
import type { KnownInput, WorkerInputs } from './worker-inputs.js';

/** How a worker is divided among GPUs; one of each stands for all of them together. */
export interface Division {
  /** GPUs that share the KV heads of a token: tensor parallelism, less what data parallel attention takes of it. */
  readonly tensor: number;
  readonly pipeline: number;
  /** GPUs that share the tokens of a sequence: decode context parallelism, a part of `tensor`. */
  readonly context: number;
  /** False where it was not seen how many GPUs there are. */
  readonly isKnown: boolean;
}

/** The same, with what follows for the weights. */
export interface WorkerDivision extends Division {
  /** GPUs of one copy of the model; undefined where it was not seen. */
  readonly gpus: number | undefined;
  /** Whether some GPUs hold the same weights, or experts of other workers: then weights by GPUs is no share. */
  readonly isUneven: boolean;
}

/** How one worker is divided, by its settings. */
export function divisionOf(
  worker: WorkerInputs,
  { hasExperts }: { readonly hasExperts: boolean },
): WorkerDivision {
  const given = worker.count('tensor_parallel_size');
  const [tensor, pipeline] = [given?.value ?? 1, oneOr(worker.count('pipeline_parallel_size'))];
  const groups = given === undefined ? 1 : attentionGroups(worker, tensor);
  const context = given === undefined ? 1 : Math.min(tensor, oneOr(worker.count('context_parallel_size')));
  const replicas = oneOr(worker.count('data_parallel_size'));
  return {
    tensor: Math.max(1, Math.floor(tensor / groups)),
    pipeline,
    context,
    isKnown: given !== undefined,
    gpus: given === undefined ? undefined : tensor * pipeline,
    // vLLM divides experts among all ranks of data parallelism too.
    isUneven: groups > 1 || (hasExperts && replicas > 1),
  };
}

/**
 * Groups of GPUs that attend apart, each with all KV heads. SGLang has as many as `attn_dp_size`, formerly `dp_size` with
 * `enable_dp_attention`; TensorRT-LLM's `enable_attention_dp` makes each GPU one.
 */
function attentionGroups(worker: WorkerInputs, tensor: number): number {
  const size = worker.count('attention_data_parallel_size')?.value;
  if (size !== undefined && size > 1) return size;
  if (!/^(?:true|1)$/i.test(worker.text('attention_data_parallel')?.value ?? '')) return 1;
  const { attentionGroups: setting } = engineOfWord(worker.text('backend')?.value)?.launch ?? {};
  if (setting !== undefined) return oneOr(worker.count(setting));
  return worker.count('data_parallel_size')?.value ?? tensor;
}

function oneOr(input: KnownInput | undefined): number {
  return input?.value ?? 1;
}
