import { ENGINES, engineOfWord } from '../../../engines/catalogue/engines.js';
import type { EngineDescriptor } from '../../../engines/descriptor/engine-descriptor.js';
import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import type { Evidence } from '../evidence.js';
import { type KnownProgram, knownProgram } from '../logs/known-programs.js';

/** Whose programs the evidence is of. Nothing is said of others, and no cure names them. */
export interface Seen {
  /** A program that chooses workers, or the index that it asks. */
  readonly router: boolean;
  /** Any process of NVIDIA Dynamo. */
  readonly dynamo: boolean;
  /** llm-d's endpoint picker, a router with an index of its own. */
  readonly picker: boolean;
  /** Other programs by their lines and pages: routers, stores and controllers. */
  readonly others: readonly KnownProgram[];
  /** A router of which it is known that it learns from KV events: one that is only named may route by turns, by load or by texts. */
  readonly eventReader: boolean;
  /** Any process of this product. */
  readonly kvAccord: boolean;
  /**
   * Where kv-accord itself was asked: the first aggregator, or the sidecar that was asked alone. Undefined where none was, and where
   * several sidecars were asked, of which none knows the fleet.
   */
  readonly statusAddress: string | undefined;
  /** Engines that are known how to start, in the order of the catalogue. */
  readonly engines: readonly EngineDescriptor[];
}

/** Settings that only Dynamo's programs have. */
const DYNAMO_SETTINGS: ReadonlySet<SettingName> = new Set<SettingName>([
  'dynamo_version',
  'router_mode',
  'chat_processor',
  'router_uses_events',
  'router_replica_sync',
  'router_ttl_seconds',
  'router_max_tree_size',
  'frontend_replicas',
  'event_transport',
]);

/** Lines that only routers and indexes of Dynamo write. */
const ROUTER_SIGNALS: readonly Signal[] = [
  'parent_block_not_found',
  'block_to_remove_not_found',
  'workers_rejected',
  'router_size_mismatch',
  'worker_added',
  'worker_removed',
  'model_not_added',
];

/** Metrics of routers whose index is made of KV events. */
const EVENTS_READ = /kv_?cache_(?:index|events)|kvcache_index|kv_events_|kvcache_zmq_events/;

/** Reads who was seen out of logs, pages, settings, sizes and what `lint` reports. */
export function seenIn(evidence: Evidence): Seen {
  const { fleets, logs, metrics, settings, sizes, findings } = evidence;
  const programs = settings.filter(({ name }) => name === 'program');
  const hasSignal = (signals: readonly Signal[]): boolean =>
    logs.some((log) => signals.some((signal) => (log.signals.get(signal)?.count ?? 0) > 0));
  const kvAccord =
    fleets.length > 0 ||
    evidence.tokens.length > 0 ||
    evidence.eventSources.length > 0 ||
    metrics.some(({ program }) => program === 'kv-accord') ||
    logs.some(({ programs: writers }) => writers.has('kv-accord')) ||
    hasSignal(['accord_mismatch', 'accord_conflict', 'accord_misread', 'accord_tokens']) ||
    settings.some(({ name }) => name === 'canary');
  // What lint compares it finds only in fleets with a router.
  const isLintedAlone = findings.length > 0 && programs.length === 0;
  const isOwn = ({ origin }: { readonly origin: { readonly text: string } }): boolean =>
    origin.text.startsWith('kv_accord_');
  const routerSizes = sizes.filter(({ side }) => side !== 'worker');
  const hasDecisions = logs.some(({ decisions }) => decisions !== undefined);
  const picker =
    metrics.some(({ program }) => program === 'llm-d') ||
    hasSignal(['picker_parent_unknown', 'picker_scores_failed']) ||
    logs.some(({ programs: writers }) => writers.has('llm-d')) ||
    sizes.some(({ origin }) => origin.text.includes('NewKVCacheIndexer'));
  const others = othersIn(evidence);
  const isOther = kvAccord || picker || others.some(({ role }) => role === 'router');
  const dynamo =
    isLintedAlone ||
    programs.some(({ value }) => value.startsWith('dynamo.')) ||
    settings.some(({ name }) => DYNAMO_SETTINGS.has(name)) ||
    metrics.some(({ program }) => program.startsWith('dynamo')) ||
    logs.some(({ programs: writers }) => writers.has('dynamo')) ||
    hasSignal([...ROUTER_SIGNALS, 'block_not_published']) ||
    (hasDecisions && !isOther) ||
    (programs.length === 0 && !isOther && routerSizes.some((size) => !isOwn(size)));
  const router =
    isLintedAlone ||
    picker ||
    others.some(({ role }) => role === 'router') ||
    routerSizes.length > 0 ||
    settings.some(({ side }) => side !== 'worker') ||
    hasDecisions ||
    hasSignal([...ROUTER_SIGNALS, 'instance_unknown', 'accord_mismatch', 'accord_conflict']) ||
    fleets.some(({ routingMode }) => routingMode !== undefined) ||
    metrics.some(({ program, samples }) => isRouterPage(program, samples.keys()));
  const hasIndex =
    hasSignal(['picker_parent_unknown', 'picker_scores_failed', 'events_unreadable', 'events_unreachable']) ||
    sizes.some(({ origin }) => origin.text.includes('NewKVCacheIndexer')) ||
    // A router of smg that subscribed to the events of a worker.
    logs.some(({ signals }) => signals.get('events_disabled')?.first.text.includes('SubscribeKvEvents')) ||
    metrics.some(({ samples }) => [...samples.keys()].some((name) => EVENTS_READ.test(name))) ||
    settings.some(({ name, value }) => name === 'router_uses_events' && /^(?:true|yes|1)$/i.test(value));
  const eventReader = (router && dynamo) || kvAccord || (router && hasIndex);
  const statusAddress = statusAddressIn(fleets);
  return {
    router,
    dynamo,
    picker,
    others,
    eventReader,
    kvAccord,
    statusAddress,
    engines: enginesIn(evidence),
  };
}

function statusAddressIn(fleets: Evidence['fleets']): string | undefined {
  const aggregator = fleets.find(({ routingMode }) => routingMode !== undefined);
  const [sidecar, ...others] = new Set(fleets.map(({ origin }) => origin.place));
  return aggregator?.origin.place ?? (others.length === 0 ? sidecar : undefined);
}

/** Programs whose lines or pages are there. */
function othersIn({ logs, metrics }: Evidence): readonly KnownProgram[] {
  const words = new Set([
    ...logs.flatMap(({ programs }) => [...programs.keys()]),
    ...metrics.map(({ program }) => program),
  ]);
  return [...words].sort().flatMap((word) => knownProgram(word) ?? []);
}

function isRouterPage(program: string, names: Iterable<string>): boolean {
  if (program === 'dynamo-frontend' || program === 'dynamo-indexer') return true;
  return [...names].some((name) => /_router_|kvrouter|kv_cache_events_applied/.test(name));
}

/** Signs whose values have files and classes of engines in them. */
const OF_CODE: readonly Signal[] = ['connector_crashed', 'settings_refused'];

/** Files and classes by which an engine is known in a traceback, or in the last line of one. */
const CODE: readonly (readonly [word: string, pattern: RegExp])[] = [
  ['vllm', /^vllm(?:_ascend)?\/|\(vllm\/|\bHMA\b|VLLM_/],
  ['sglang', /^sglang\/|\(sglang\/|Radix(?:Cache|Tree)|SGLANG_|leak detected/],
  ['trtllm', /^tensorrt_llm\/|\(tensorrt_llm\//],
];

function enginesInCode(logs: Evidence['logs']): readonly string[] {
  const values = OF_CODE.flatMap((sign) =>
    logs.flatMap(({ signals }) => [...(signals.get(sign)?.values.keys() ?? [])]),
  );
  return CODE.filter(([, pattern]) => values.some((value) => pattern.test(value))).map(([word]) => word);
}

function enginesIn({ logs, metrics, settings }: Evidence): readonly EngineDescriptor[] {
  const named = new Set([
    ...settings.filter(({ name }) => name === 'backend').map(({ value }) => wordOf(value)),
    ...enginesInCode(logs),
  ]);
  return ENGINES.filter(
    ({ launch, word, pages }) =>
      launch !== undefined &&
      (named.has(word) ||
        logs.some(({ programs }) => programs.has(word)) ||
        metrics.some(({ samples }) =>
          pages?.programs.some(({ prefix }) => [...samples.keys()].some((key) => key.startsWith(prefix))),
        )),
  );
}

/** The engine that a setting names, in whatever spelling: `vllm`, `TensorRT-LLM`, `trtllm`. */
function wordOf(value: string): string | undefined {
  const plain = value.trim().toLowerCase();
  if (/trt|tensorrt/.test(plain)) return 'trtllm';
  return (
    engineOfWord(plain)?.word ??
    ENGINES.find(({ launch, word }) => launch !== undefined && plain.includes(word))?.word
  );
}
