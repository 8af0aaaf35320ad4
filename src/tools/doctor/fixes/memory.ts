import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import type { MemoryArithmetic } from '../memory/memory-arithmetic.js';
import { confirmingTest } from './confirm.js';
import { argumentsOf } from './lines.js';
import { settingLine, tuningOf } from './tuning.js';

const CHECKS: readonly string[] = [
  'curl -s http://ENGINE:8000/metrics | grep -E "preemptions|kv_cache_usage|token_usage"    # preemptions stand still, usage leaves room',
  'curl -s http://FRONTEND:8000/metrics | grep -E "kv_hit_rate_(sum|count)"    # the share grows as prefixes stay longer',
];

/** Leaves more of the cache to prefixes: first fewer sequences at a time, then more memory, then other places to keep them. */
export function memoryFixes(measurements: Measurements): readonly ProposedFix[] {
  const { backend } = measurements.dynamo;
  return [
    confirmingTest(measurements),
    fewerSequences(backend, tightest(measurements.memory)),
    ...moreMemory(measurements, backend),
    moreRetention(backend),
  ];
}

/** The worker with the least room. */
export function tightest(memory: readonly MemoryArithmetic[]): MemoryArithmetic | undefined {
  return memory.reduce<MemoryArithmetic | undefined>(
    (worst, one) => (worst === undefined || loadOf(one) > loadOf(worst) ? one : worst),
    undefined,
  );
}

/** Demand by capacity; 0 when either is not known. */
export function loadOf({ demandTokens, capacityTokens }: MemoryArithmetic): number {
  return demandTokens === undefined || capacityTokens === undefined || capacityTokens <= 0
    ? 0
    : demandTokens / capacityTokens;
}

function fewerSequences(backend: string | undefined, memory: MemoryArithmetic | undefined): ProposedFix {
  const batch = memory?.largestBatch;
  const isKnown = batch !== undefined && batch >= 1;
  const value = isKnown ? String(Math.floor(batch)) : 'N';
  const flag = `${tuningOf(backend).maxSequencesFlag} ${value}`;
  return {
    says: isKnown
      ? `Run at most ${value} sequences at a time on each worker (${flag.split(' ')[0]})`
      : `Run fewer sequences at a time on each worker (${flag.split(' ')[0]})`,
    why: `${isKnown ? `With ${value} sequences at their longest, half of the cache stays for prefixes (see the memory arithmetic).` : 'Each sequence that runs takes its blocks from the prefixes that could be found again.'} More requests wait in the queue instead; under the same load the throughput may fall.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [argumentsOf('the engine', flag)],
    verify: CHECKS,
  };
}

function moreMemory(measurements: Measurements, backend: string | undefined): readonly ProposedFix[] {
  const { memory } = tuningOf(backend);
  const [setting] = measurements.settings(memory.setting);
  const present = setting === undefined ? undefined : Number(setting.value);
  // Above this, what engines need beside the cache no longer fits.
  const isFull = present !== undefined && present >= 0.95;
  if (isFull) return [];
  const now =
    present === undefined || !Number.isFinite(present)
      ? ''
      : ` (now ${present}${setting?.isDefault === true ? ', by default' : ''})`;
  return [
    {
      says: `Give the KV cache more of the GPU's memory${now}`,
      why: 'More blocks, and prefixes stay longer. Leave room for activations and graphs: too much of it ends in an out-of-memory error as the engine starts or under its longest prompts.',
      disturbs: 'one_worker_at_a_time',
      files: [],
      commands: [settingLine(backend, memory.more)],
      verify: CHECKS,
    },
  ];
}

function moreRetention(backend: string | undefined): ProposedFix {
  const commands = [settingLine(backend, tuningOf(backend).retention)];
  return {
    says: 'Keep more for the same memory: a host cache, or a smaller KV dtype',
    why: 'Blocks that leave the GPU can come back without being computed again, or more of them fit. It costs host memory and bandwidth, or a little accuracy.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands,
    verify: CHECKS,
  };
}
