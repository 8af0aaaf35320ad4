import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import type { CauseId } from '../diagnosis.js';
import type { Evidence, SettingSighting } from '../evidence.js';
import type { Failure } from '../logs/failures.js';
import type { MemoryArithmetic } from '../memory/memory-arithmetic.js';
import { type BlindModel, blindModelsOf } from './blind-models.js';
import { type CacheHits, engineHitsOf, routerHitsOf } from './cache-hits.js';
import { inOneOrder } from './canonical.js';
import { type Concurrency, concurrencyOf } from './concurrency.js';
import {
  gapsOf,
  missesWithRoomOf,
  type PublishedCounts,
  preemptionsOf,
  publishedOf,
  type StoreCounts,
  storesOf,
  usageOf,
  usageWhileWaitingOf,
} from './counters.js';
import { type EndedHits, endedHitsOf } from './decision-course.js';
import { type DynamoFacts, dynamoFacts } from './dynamo-facts.js';
import { type KnownFaultSum, knownFaultsOf, rareFaultsOf } from './known-faults.js';
import { type DecisionSum, decisionsOf, type SignalSum, signalOf } from './log-sums.js';
import type { Measure } from './measure.js';
import { ofManifests } from './of-manifests.js';
import { type Seen, seenIn } from './seen.js';
import { type ShortPrompts, shortPromptsOf } from './short-prompts.js';
import { type SizeTable, sizeTable } from './sizes.js';

/** The evidence in the quantities that causes ask for. */
export interface Measurements extends CacheHits {
  readonly evidence: Evidence;
  readonly memory: readonly MemoryArithmetic[];
  readonly sizes: SizeTable;
  readonly seen: Seen;
  readonly dynamo: DynamoFacts;
  readonly decisions: DecisionSum | undefined;
  /** A router that used to find blocks and finds none any more. */
  readonly ended: EndedHits | undefined;
  /** Models of which a router finds nothing, while it finds others. */
  readonly blindModels: readonly BlindModel[];
  /** Where prompts are shorter than a block. */
  readonly short: ShortPrompts | undefined;
  readonly stores: StoreCounts | undefined;
  readonly published: PublishedCounts | undefined;
  /** Gaps in numbered streams, by counters. */
  readonly gaps: Measure | undefined;
  readonly preemptions: Measure | undefined;
  /** Requests that really run at a time. */
  readonly concurrency: Concurrency | undefined;
  /** Share of KV memory in use, 0 to 1, the highest that was seen. */
  readonly kvUsage: Measure | undefined;
  /** The same while requests waited; the mean in logs. */
  readonly usageWhileWaiting: Measure | undefined;
  /** Readings of engines in which prompts found nothing although half of the KV cache and more was free. */
  readonly missesWithRoom: Measure | undefined;
  /** Programs that ended, or had an error that ends one. */
  readonly failures: readonly Failure[];
  signal(signal: Signal): SignalSum | undefined;
  /** Of all causes, or of one. */
  knownFaults(cause?: CauseId): readonly KnownFaultSum[];
  /** Of excerpts: what came less often than it takes to be a fault. */
  readonly rareFaults: readonly KnownFaultSum[];
  settings(name: SettingName): readonly SettingSighting[];
  /** Those that are not of a manifest: what programs, their logs and their engines' files say. */
  runtimeSettings(name: SettingName): readonly SettingSighting[];
}

/** Reads the quantities out of the evidence. */
export function readMeasurements(gathered: Evidence, memory: readonly MemoryArithmetic[]): Measurements {
  const evidence = inOneOrder(gathered);
  const { logs, metrics, settings } = evidence;
  const decisions = decisionsOf(logs);
  const ended = endedHitsOf(logs);
  const sizes = sizeTable(evidence);
  const faults = knownFaultsOf(logs);
  const isOfManifest = ofManifests(evidence.manifests);
  return {
    evidence,
    memory,
    sizes,
    seen: seenIn(evidence),
    dynamo: dynamoFacts(settings),
    decisions,
    ended,
    routerHits: routerHitsOf(metrics, decisions, ended, routerTokensOf(sizes)),
    engineHits: engineHitsOf(metrics, logs, ended),
    blindModels: blindModelsOf(logs),
    short: shortPromptsOf(evidence, sizes),
    stores: storesOf(metrics),
    published: publishedOf(metrics),
    gaps: gapsOf(metrics),
    preemptions: preemptionsOf(metrics, logs),
    concurrency: concurrencyOf(metrics, logs),
    kvUsage: usageOf(metrics, logs),
    usageWhileWaiting: usageWhileWaitingOf(metrics, logs),
    missesWithRoom: missesWithRoomOf(logs),
    failures: logs.flatMap(({ failures }) => failures ?? []),
    signal: (signal) => signalOf(logs, signal),
    knownFaults: (wanted) => faults.filter(({ fault }) => (wanted ?? fault.cause) === fault.cause),
    rareFaults: rareFaultsOf(logs),
    settings: (wanted) => settings.filter(({ name }) => name === wanted),
    runtimeSettings: (wanted) => settings.filter((one) => one.name === wanted && !isOfManifest(one)),
  };
}

/** The largest block size that a router may have: a frontend serves several models. */
function routerTokensOf({ rows }: SizeTable): number | undefined {
  const sizes = rows.map(({ tokensPerBlock }) => tokensPerBlock);
  return sizes.length === 0 ? undefined : Math.max(...sizes);
}
