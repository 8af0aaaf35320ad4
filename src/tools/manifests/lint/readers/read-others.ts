import type { TreeFiles } from '../config/tree-files.js';
import type { Launch } from '../launches/launch.js';
import { readCompose } from './compose.js';
import { readEndpointPickers } from './endpoint-picker.js';
import { readHelmValues } from './helm-values.js';
import { readRayServe } from './ray-serve.js';
import { readSrtSlurm } from './srt-slurm/read-recipes.js';
import { readDisaggregated } from './trtllm-disaggregated.js';
import type { OpenFile } from './yaml-words.js';

/** What a file starts beside the pods of its objects. */
export interface OtherLaunches {
  /** Programs that run together, and with nothing else that is seen: of a compose file, or a release of a chart. */
  readonly sets: readonly (readonly Launch[])[];
  /** Programs that run beside the workloads of their namespace. */
  readonly beside: readonly Launch[];
}

/** Everything in a file that is no pod spec and starts programs that are known. */
export function readOthers(file: OpenFile, tree: TreeFiles): OtherLaunches {
  const beside = [...readEndpointPickers(file), ...readRayServe(file)];
  const sets = [
    ...readCompose(file, tree),
    ...readHelmValues(file),
    ...readSrtSlurm(file),
    readDisaggregated(file),
  ].filter((set) => set.length > 0);
  const [only] = sets;
  // Values of one release have its picker too.
  return sets.length === 1 && only !== undefined
    ? { sets: [[...only, ...beside]], beside: [] }
    : { sets, beside };
}
