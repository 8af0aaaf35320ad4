import type { ProposedFix } from '../diagnosis.js';

type Repair = Pick<ProposedFix, 'says' | 'why' | 'commands'>;

/** "Total number of attention heads (28) must be divisible by tensor parallel size (8)." */
const HEADS =
  /heads \((\d{1,5})\) (?:must be|is not|not) (?:evenly )?divisible by (?:the )?(?:tensor|tp)[ _-]?(?:parallel(?:ism)?)?[ _-]?(?:size)? ?\((\d{1,4})\)/i;
/** "User-specified max_model_len (131072) is greater than the derived max_model_len (max_position_embeddings=32768 …". */
const LENGTH =
  /max_model_len \(?(\d{1,9})\)? is (?:greater|larger) than the derived max_model_len \((?:[\w=]{0,60}=)?(\d{1,9})/;
/** SGLang: "User-specified context_length (131072) is greater than the derived context_length (32768)." */
const CONTEXT =
  /context_length \((\d{1,9})\) is (?:greater|larger) than the derived context_length \((\d{1,9})\)/;
/** "World size (8) is larger than the number of available GPUs (4) in this node." */
const GPUS =
  /World size \((\d{1,4})\) is (?:larger|greater) than the number of available GPUs \((\d{1,4})\)/i;

/** What a sentence with its numbers demands of parallel sizes and lengths; undefined where it has none. */
export function fittingSizes(sentence: string): Repair | undefined {
  const [, heads, asked] = HEADS.exec(sentence) ?? [];
  if (heads !== undefined && asked !== undefined) {
    const size = largestDivisor(Number(heads), Number(asked) - 1);
    return {
      says: `Set the tensor-parallel size to ${size}, which divides the ${heads} heads (--tensor-parallel-size ${size}), with data-parallel or pipeline-parallel replicas on the GPUs that are left`,
      why: `${asked} does not divide ${heads}. A prefill engine and a decode engine of a pair may differ in it only as far as their connector allows.`,
      commands: [],
    };
  }
  const [, length, longest] = LENGTH.exec(sentence) ?? [];
  if (length !== undefined && longest !== undefined)
    return {
      says: `Set the longest sequence to ${longest} (--max-model-len ${longest}), or run a model that was made for ${length}`,
      why: `The model's own configuration ends at ${longest} tokens. A longer one needs a scaling of its positions, which its card names.`,
      commands: [],
    };
  const [, context, derived] = CONTEXT.exec(sentence) ?? [];
  if (context !== undefined && derived !== undefined)
    return {
      says: `Start SGLang with --context-length ${derived} (now ${context}), or without it; where the model card has a scaling of positions for longer prompts, give that in --json-model-override-args (rope_scaling)`,
      why: `The model's own configuration ends at ${derived} tokens. SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 only silences the check.`,
      commands: [],
    };
  const [, ranks, gpus] = GPUS.exec(sentence) ?? [];
  if (ranks === undefined || gpus === undefined || Number(gpus) === 0) return undefined;
  return {
    says: `Give the pod ${ranks} GPUs (resources: nvidia.com/gpu: ${ranks}), or set the product of tensor-parallel and pipeline-parallel size to ${gpus} (--tensor-parallel-size ${gpus})`,
    why: `The engine starts one rank for each GPU of the product, and the container sees ${gpus}.`,
    commands: ['kubectl exec POD -- nvidia-smi -L    # the GPUs that the container sees'],
  };
}

/** The largest power of two up to `most` that divides `whole`. */
function largestDivisor(whole: number, most: number): number {
  for (let size = 2 ** Math.floor(Math.log2(Math.max(1, most))); size >= 1; size /= 2)
    if (whole % size === 0) return size;
  return 1;
}
