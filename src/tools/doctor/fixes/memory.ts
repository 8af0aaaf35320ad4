import { capitalised } from '../../../core/text/capitalised.js';
import type { SettingLine } from '../../../engines/descriptor/engine-launch.js';
import type { ProposedFix } from '../diagnosis.js';
import { MAX_EXCERPT_LINES } from '../logs/excerpt-lines.js';
import type { Measurements } from '../measurements/measurements.js';
import type { MemoryArithmetic } from '../memory/memory-arithmetic.js';
import { confirmingTest } from './confirm.js';
import { hasSmallValues, hostCacheLine } from './host-cache.js';
import { engineLines, type KnownEngine, lineOf, onlyEngine, startedWith } from './tuning.js';

/** Leaves more of the cache to prefixes: a test that proves it, then the options by what they bring. */
export function memoryFixes(measurements: Measurements): readonly ProposedFix[] {
  const options = memoryOptions(measurements);
  // Requests that are taken off again and again are the proof, and the options what helps.
  if (isOverrun(measurements)) return [...options, confirmingTest(measurements)];
  return [confirmingTest(measurements), ...options];
}

/** Now and then an engine takes a request off its GPU and loses little. */
const MANY_PREEMPTIONS = 5;

/** A cache that is fuller has no room for what nobody uses. */
export const FULL = 0.95;

/** Whether engines take running requests off the GPU for want of blocks, again and again, while others wait, or in the few lines that somebody chose of a log; or others wait for a cache that is full. */
export function isOverrun(measurements: Measurements): boolean {
  const times = measurements.preemptions?.value ?? 0;
  const isWaitedFor = (measurements.concurrency?.waiting ?? 0) >= 1;
  return (
    times >= MANY_PREEMPTIONS ||
    (times > 0 && isChosen(measurements)) ||
    (isWaitedFor && (times > 0 || isFullForOthers(measurements)))
  );
}

/** Whether all that was given is excerpts of logs. */
function isChosen({ evidence: { logs, metrics } }: Measurements): boolean {
  return metrics.length === 0 && logs.length > 0 && logs.every(({ lines }) => lines <= MAX_EXCERPT_LINES);
}

/** A mean that is as high has times with a full cache for the most part. */
const FULL_MOSTLY = 0.9;

/** Whether running sequences held nearly all of the cache while others waited: else these wait for a turn, and not for room. */
export function isFullForOthers({ usageWhileWaiting, concurrency }: Measurements): boolean {
  const full = concurrency?.isMean === true ? FULL_MOSTLY : FULL;
  return usageWhileWaiting !== undefined && usageWhileWaiting.value >= full;
}

/**
 * Fewer sequences, more memory, host memory: those that bring more of what is
 * missing first. With running sequences that need more than there is, a larger
 * cache alone helps little; where they need little, by what may run or by what
 * was seen to run, fewer of them help nobody.
 */
export function memoryOptions(measurements: Measurements): readonly ProposedFix[] {
  const tight = tightest(measurements.memory);
  const load = tight === undefined ? 0 : loadOf(tight);
  const batch = fewerSequences(measurements, tight);
  const more = moreMemory(measurements, load);
  const host = moreRetention(measurements, load);
  const runsFew = (measurements.concurrency?.running ?? FEW) < FEW;
  const needsLittle = (load > 0 && load < HALF) || runsFew || runsLittle(measurements, tight);
  // Fewer at a time helps those that are taken off again; who only waits needs room.
  const onlyWaits =
    load === 0 && (measurements.preemptions?.value ?? 0) === 0 && isFullForOthers(measurements);
  return needsLittle || onlyWaits ? [...more, ...host, ...batch] : [...batch, ...more, ...host];
}

/** Whether what was seen to run leaves the greater part of the cache, whatever may run at most. */
function runsLittle(
  { kvUsage, concurrency, preemptions }: Measurements,
  tight: MemoryArithmetic | undefined,
): boolean {
  if ((preemptions?.value ?? 0) > 0) return false;
  if (kvUsage !== undefined) return kvUsage.value < HALF;
  const batch = tight?.largestBatch;
  return (
    concurrency !== undefined &&
    batch !== undefined &&
    concurrency.running + (concurrency.waiting ?? 0) <= batch
  );
}

/** So few sequences at a time are long ones: fewer would be none. */
const FEW = 4;

/** Sequences that need less of the cache leave the greater part of it to prefixes. */
const HALF = 0.5;

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

function checksOf({ seen }: Measurements): readonly string[] {
  return [
    'curl -s http://ENGINE:PORT/metrics | grep -E "preempt|retract|usage"    # preemptions stand still, usage leaves room',
    ...(seen.dynamo
      ? [
          'curl -s http://FRONTEND:8000/metrics | grep -E "kv_hit_rate_(sum|count)"    # the share grows as prefixes stay longer',
        ]
      : []),
  ];
}

function fewerSequences(
  measurements: Measurements,
  memory: MemoryArithmetic | undefined,
): readonly ProposedFix[] {
  const { seen } = measurements;
  const batch = memory?.largestBatch;
  const present = sequencesNow(measurements);
  const isKnown = batch !== undefined && batch >= 1;
  // Fewer than there are is the point of it.
  if (isKnown && present !== undefined && present <= batch) return [];
  const value = isKnown ? String(Math.floor(batch)) : 'N';
  const line = ({ maxSequencesFlag, admission }: KnownEngine['tuning']): SettingLine =>
    admission !== undefined && !isKnown && isOverrun(measurements)
      ? admission
      : { where: 'arguments', line: `${maxSequencesFlag} ${value}`, note: '' };
  const engine = onlyEngine(seen);
  const now = present === undefined ? '' : ` (now ${present})`;
  return [
    {
      says:
        engine === undefined
          ? `Start each worker with at most ${value} sequences at a time${now}`
          : `${capitalised(startedWith(engine, line(engine.tuning)))}${now}`,
      why: `${isKnown ? `With ${value} sequences at their longest, half of the cache stays for prefixes (see the memory arithmetic).` : 'Each sequence that runs takes its blocks from the prefixes that could be found again.'} More requests wait in the queue instead; under the same load the throughput may fall.`,
      disturbs: 'one_worker_at_a_time',
      files: [],
      commands: engineLines(seen, line),
      verify: checksOf(measurements),
    },
  ];
}

/** How many sequences a worker runs at a time at most, by its settings; undefined when workers differ. */
function sequencesNow({ settings }: Measurements): number | undefined {
  const values = new Set(
    [...settings('max_num_seqs'), ...settings('max_batch_size')]
      .filter(({ side }) => side === 'worker')
      .map(({ value }) => Number(value)),
  );
  const [only] = values;
  return values.size === 1 && Number.isSafeInteger(only) ? only : undefined;
}

function moreMemory(measurements: Measurements, load: number): readonly ProposedFix[] {
  const { seen } = measurements;
  const engine = onlyEngine(seen);
  const given = measurements.settings('kv_blocks_override').find(({ value }) => Number(value) > 0);
  const flag = engine?.tuning.memory.blocksFlag;
  if (engine !== undefined && given !== undefined && flag !== undefined)
    return [
      {
        says: `Start each ${engine.program} worker without ${flag} (now ${given.value} blocks)`,
        why: 'The cache has the number of blocks that it was given, whatever the GPU has room for: a larger part of the GPU brings none.',
        disturbs: 'one_worker_at_a_time',
        files: [],
        commands: [`# arguments of ${engine.program}: take ${flag} ${given.value} out`],
        verify: checksOf(measurements),
      },
    ];
  const [setting] = engine === undefined ? [] : measurements.settings(engine.tuning.memory.setting);
  const present = setting === undefined ? Number.NaN : Number(setting.value);
  const most = engine?.tuning.memory.most ?? 1;
  if (present >= most) return [];
  const now = Number.isFinite(present)
    ? ` (now ${present}${setting?.isDefault === true ? ', by default' : ''})`
    : '';
  const brings =
    engine?.tuning.memory.setting === 'free_gpu_memory_fraction' && present > 0 && load > 0
      ? ` From ${present} to ${most} the cache grows by ${Math.round((most / present - 1) * 100)} %, and running sequences need ${Math.round((load * present * 100) / most)} % of it in place of ${Math.round(load * 100)} %.`
      : '';
  return [
    {
      says:
        engine === undefined
          ? "Give the KV cache of each worker more of its GPU's memory, in the engine's own setting"
          : `${capitalised(startedWith(engine, engine.tuning.memory.more))}${now}`,
      why: `More blocks, and prefixes stay longer.${brings} Leave room for activations and graphs: too much of it ends in an out-of-memory error as the engine starts or under its longest prompts.`,
      disturbs: 'one_worker_at_a_time',
      files: [],
      commands: engineLines(seen, ({ memory }) => memory.more),
      verify: checksOf(measurements),
    },
  ];
}

function moreRetention(measurements: Measurements, load: number): readonly ProposedFix[] {
  const { seen } = measurements;
  const engine = onlyEngine(seen);
  const line = (tuning: KnownEngine['tuning']): SettingLine => hostCacheLine(measurements, tuning).setting;
  const now = engine === undefined ? '' : hostCacheLine(measurements, engine.tuning).now;
  // Of other engines this is the host cache itself.
  const isSmaller = engine?.tuning.retention.line.includes('dtype') === true && !hasSmallValues(measurements);
  const smaller = engine !== undefined && isSmaller ? [lineOf(engine, engine.tuning.retention)] : [];
  return [
    {
      says:
        engine === undefined
          ? "Give each worker a host cache for blocks that leave the GPU, in the engine's own setting"
          : `${capitalised(startedWith(engine, line(engine.tuning)))}${now}`,
      why: `Blocks that leave the GPU come back without being computed again. It costs host memory and bandwidth.${load >= 1 ? ' It keeps prefixes; it gives running sequences no room.' : ''}`,
      disturbs: 'one_worker_at_a_time',
      files: [],
      commands: [...engineLines(seen, line), ...smaller],
      verify: checksOf(measurements),
    },
  ];
}
