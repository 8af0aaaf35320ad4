import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import { pairOf } from '../measurements/size-pairs.js';

/** The largest block that any engine makes: hybrid models have some of a few thousand tokens. */
const LARGEST = 8_192;

/** A number that no engine can have as its block size. */
export interface ImpossibleSize {
  /** As it was written: it may have more digits than a number keeps. */
  readonly size: string;
  /** The other one of the line. */
  readonly other: string;
  /** `the publisher of a worker`. */
  readonly whose: string;
}

/** What a line about two block sizes has that cannot be one; undefined where both can. */
export function impossibleSizeIn(measurements: Measurements): ImpossibleSize | undefined {
  const found = (['block_not_published', 'router_size_mismatch'] as const).flatMap((name) =>
    [...(measurements.signal(name)?.values.keys() ?? [])].flatMap((value) => {
      const [ours, theirs] = pairOf(value) ?? [];
      if (ours === undefined || theirs === undefined) return [];
      const isOfRouter = name === 'router_size_mismatch';
      if (!isPossible(ours)) {
        const whose = isOfRouter ? 'the router' : 'the publisher of a worker';
        return [{ size: ours, other: theirs, whose }];
      }
      const whose = isOfRouter ? 'a worker that registers' : 'an event of an engine';
      return isPossible(theirs) ? [] : [{ size: theirs, other: ours, whose }];
    }),
  );
  return found[0];
}

function isPossible(size: string): boolean {
  return Number(size) >= 1 && Number(size) <= LARGEST;
}

/**
 * A number that nobody set is a fault of the program. Source: issue 5015 of ai-dynamo/dynamo (0.7.0.post2, TensorRT-LLM with
 * `--kv-block-size 32`); up to 0.9 workers give their publisher its numbers by their places, from 1.0 on by name.
 */
export function laterDynamo({ size, other }: ImpossibleSize): ProposedFix {
  return {
    says: `Run the workers and the frontend with an image of Dynamo 1.0 or later, and leave the block size of ${other} as it is`,
    why: `No setting says ${size}: it came about between ai-dynamo and its bindings (ai-dynamo-runtime), seen with 0.7.0 and TensorRT-LLM. From 1.0 on workers give their publisher each number by its name. Both packages need one version. Another block size, or a new registration, changes nothing.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec WORKER -- pip list | grep -i dynamo    # ai-dynamo and ai-dynamo-runtime: one version, 1.0 or later',
    ],
    verify: [
      `kubectl logs WORKER | grep -c "${size}"    # should be 0 after the change`,
      'kubectl logs WORKER | grep -c "Block not published"    # should be 0 after the change',
    ],
  };
}
