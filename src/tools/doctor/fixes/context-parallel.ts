import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import { sizeChecks } from './confirm.js';
import { argumentsOf } from './lines.js';
import { onlyEngine } from './tuning.js';

/**
 * Of a worker that registers what its engine was given, while blocks are as many times wider as there are ranks of
 * decode context parallelism: another block size would be multiplied as well. Undefined where this is not so.
 */
export function contextParallelFix(measurements: Measurements, engines: number): ProposedFix | undefined {
  const factor = factorOf(measurements, engines);
  const one = onlyEngine(measurements.seen);
  const [flag] = one?.engine.launch?.contextParallelFlags ?? [];
  if (factor === undefined || one === undefined || flag === undefined) return undefined;
  const since = one.engine.launch?.dynamo?.registersContextParallelSince;
  const without = `without ${flag} ${factor}`;
  const says =
    since === undefined
      ? `Start each ${one.program} worker ${without}: it registers the block size of one rank, and its engine makes blocks ${factor} times as wide`
      : `Run the workers with an image of Dynamo ${since.major}.${since.minor} or later, which registers blocks ${factor} times as wide, or start each ${one.program} worker ${without}`;
  return {
    says,
    why: `With ${factor} ranks of decode context parallelism ${one.engine.displayName} stores blocks of ${engines / factor} × ${factor} = ${engines} tokens, and the worker registers ${engines / factor}. A larger ${one.engine.launch?.sizeFlags[0] ?? 'block size'} is multiplied as well, so that no value of it makes them equal.${since === undefined ? ' No release of the worker up to 1.6 multiplies it.' : ''}`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [argumentsOf(one.program, without, `blocks of ${engines / factor} tokens then`)],
    verify: sizeChecks(measurements, since === undefined ? engines / factor : engines),
  };
}

/** The ranks, where some number that was seen becomes the engines' by them. */
function factorOf({ runtimeSettings, settings, sizes }: Measurements, engines: number): number | undefined {
  const name = 'context_parallel_size';
  const given = [...runtimeSettings(name), ...settings(name)].map(({ value }) => Number(value));
  const numbers = sizes.rows
    .flatMap((row) => [row, ...row.otherwise])
    .map(({ tokensPerBlock }) => tokensPerBlock);
  return given.find((factor) => factor > 1 && numbers.includes(engines / factor));
}
