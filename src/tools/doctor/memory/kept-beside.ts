import type { ModelShape } from '../evidence.js';
import type { WorkerInputs } from './worker-inputs.js';

/** Kinds of layers whose numbers differ by less count as alike: 1.5 in vLLM 0.32, 1.25 before. */
const NEARLY_ALIKE = 1.5;

/**
 * Tokens that a layer with a window of vLLM keeps beside the window: those of the steps that are scheduled and not yet
 * settled, of which there are two with asynchronous scheduling and one more for each stage of the pipeline. 0 where the
 * size of a step was not seen.
 */
export function tokensInFlight(worker: WorkerInputs): number {
  const batched = worker.count('max_num_batched_tokens');
  if (batched === undefined) return 0;
  const stages = worker.count('pipeline_parallel_size')?.value ?? 1;
  const isAsync = /^true$/i.test(worker.text('async_scheduling')?.value ?? '');
  return batched.value * (isAsync ? stages + 1 : stages);
}

/**
 * How often a token counts in a model with states where vLLM keeps those of every block (`mamba_cache_mode` is `all`):
 * layers of both kinds stand in groups of one number of layers, and each group takes a page of one size of every block. 1 elsewhere:
 * a sequence then has one state, which does not grow with it.
 */
export function keptStates({ groups, stateLayers }: ModelShape, worker: WorkerInputs): number {
  const [only, second] = groups;
  if (worker.text('mamba_cache_mode')?.value !== 'all' || stateLayers === 0) return 1;
  if (only === undefined || second !== undefined || only.windowTokens !== undefined) return 1;
  const [fewer, more] = [only.layers, stateLayers].sort((a, b) => a - b) as [number, number];
  // vLLM pads the smaller kind where both are nearly alike.
  const size = more < NEARLY_ALIKE * fewer ? more : fewer;
  return ((Math.ceil(fewer / size) + Math.ceil(more / size)) * size) / only.layers;
}
