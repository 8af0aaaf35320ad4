import { engineOfWord } from '../../../engines/catalogue/engines.js';
import { isBefore } from '../../../engines/descriptor/default-size.js';
import type { ModelShape } from '../evidence.js';
import { isFloat32 } from './cache-format.js';
import type { WorkerDivision } from './division.js';
import type { StepList } from './step-list.js';
import type { KnownInput, WorkerInputs } from './worker-inputs.js';

/** Lines with which engines say what they loaded. */
const LOADED_LINES = 'the line "Model loading took" (vLLM) or "Load weight end" (SGLang)';

/** Bytes of a GPU for KV blocks after the weights; a text says why they are not known, undefined that no GPU was seen. */
export function leftOfGpu(
  worker: WorkerInputs,
  model: ModelShape,
  division: WorkerDivision,
  steps: StepList,
): number | string | undefined {
  const gpu = worker.gpuBytes();
  if (gpu === undefined) return undefined;
  const weights = weightsOf(worker, model, division, steps);
  if (typeof weights === 'string') return weights;
  const { gpus = 1 } = division;
  const free = worker.fraction('free_gpu_memory_fraction');
  const all = free === undefined ? shareOf(worker) : undefined;
  if (free === undefined && all === undefined)
    return "which share of the GPU the engine takes was not seen (gpu_memory_utilization, free_gpu_memory_fraction), and defaults differ by release and GPU (vLLM takes 0.92 from 0.20 on, 0.9 before): give the engine's log, its manifests or its configuration (--engine-config)";
  const value =
    free !== undefined
      ? Math.floor((gpu.value - weights) * free.value)
      : Math.floor(gpu.value * (all?.value ?? 0)) - weights;
  if (value <= 0) return tooLarge(gpus);
  const says = 'For KV blocks is left on each GPU, before activations and graphs';
  if (free !== undefined)
    return steps.step(says, `(${gpu.value} - ${weights} bytes) x ${free.value}`, value, 'bytes', gpu, free);
  const share = `${all?.value}${all?.isDefault === true ? ', the default of its release,' : ''}`;
  const from = all === undefined ? [gpu] : [gpu, all];
  return steps.step(says, `${gpu.value} bytes x ${share} - ${weights} bytes`, value, 'bytes', ...from);
}

/** The share of the whole GPU that the engine was given, else what its release takes by itself. */
function shareOf(worker: WorkerInputs): (KnownInput & { readonly isDefault?: true }) | undefined {
  const given = worker.fraction('gpu_memory_utilization');
  if (given !== undefined || worker.text('gpu_memory_utilization') !== undefined) return given;
  const version = worker.text('engine_version');
  const shares = engineOfWord(worker.text('backend')?.value)?.launch?.defaultMemoryShares;
  // A build from between two releases may have either.
  const [, major, minor] =
    /^v?(\d{1,3})\.(\d{1,4})\.\d{1,4}(?:\.post\d{1,3})?(?:\+|$)/.exec(version?.value ?? '') ?? [];
  if (version === undefined || shares === undefined || major === undefined) return undefined;
  const release = { major: Number(major), minor: Number(minor) };
  const value = shares.find(({ until }) => until === undefined || isBefore(release, until))?.share;
  return value === undefined ? undefined : { value, origin: version.origin, isDefault: true };
}

/** Bytes of the weights on each GPU: what the engine says that it loaded, else its share of what was published. */
function weightsOf(
  worker: WorkerInputs,
  model: ModelShape,
  { gpus, isUneven }: WorkerDivision,
  steps: StepList,
): number | string {
  const says = 'Weights take, on each GPU';
  const loaded = worker.count('weight_bytes');
  if (loaded !== undefined)
    return steps.step(says, `${loaded.value} bytes, as the engine says`, loaded.value, 'bytes', loaded);
  if (gpus === undefined)
    return "over how many GPUs the model is divided was not seen (tensor_parallel_size): give the engine's log, its address (--engine) or its configuration (--engine-config)";
  if (model.weightBytes === undefined)
    return `the size of the weights is not known: give the folder of the model with model.safetensors.index.json, or the engine's log from its start, which has ${LOADED_LINES}`;
  if (isUneven)
    return `attention or experts are divided over data parallel ranks, so that the weights of a GPU are no even share: give the engine's log from its start, which has ${LOADED_LINES}`;
  const quantisation = worker.text('quantization');
  if (quantisation !== undefined && !model.isQuantised)
    return `the engine quantises the weights as it loads them (quantization ${quantisation.value.slice(0, 40)}), and what is left of their size is not known here: give its log from its start, which has ${LOADED_LINES}`;
  const halves = model.isInFloat32 && isFloat32(worker.text('dtype')?.value) ? 2 : 1;
  const bytes = model.weightBytes * halves;
  const from = { origin: model.weightOrigin ?? model.origin };
  return steps.step(says, `${bytes} bytes / ${gpus} GPUs`, Math.ceil(bytes / gpus), 'bytes', from);
}

/** A worker that runs has room: one of the numbers belongs to another model or worker. */
function tooLarge(gpus: number): string {
  return `these weights do not fit on ${gpus === 1 ? 'this GPU' : `${gpus} of these GPUs`}: the number of GPUs, their memory or the model is not that of this worker`;
}
