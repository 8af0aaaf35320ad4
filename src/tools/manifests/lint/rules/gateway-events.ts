import { folderOf } from '../config/folders.js';
import { askedWorkers, twinsOf } from '../facts/asked-workers.js';
import type { Fleet } from '../facts/fleet.js';
import { DEFAULT_TOPIC } from '../facts/picker-sockets.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { isLlmdPicker, type Launch, nameOf } from '../launches/launch.js';
import { flagOf, isFalse } from '../launches/settings.js';
import { textOfWord, UNKNOWN } from '../shell/words.js';
import type { Span } from '../text/span.js';
import { type Cure, cureBeforePicker } from './picker-cure.js';

/** Workers that publish nothing before a router of others that knows only what events say. */
export function silentBeforeGateways(
  rule: Rule,
  fleet: Fleet,
  fleets: readonly Fleet[],
  cureOf: (launch: Launch) => Cure,
): readonly Finding[] {
  const listeners = fleet.gateways.filter(({ gateway }) => gateway?.usesEvents === true);
  const [listener] = listeners;
  const workers = askedWorkers(fleet, listener);
  // Beside workers that publish, a silent one may be for something else, unless it does the same for the same model.
  const isOneKind = workers.every(({ publishes }) => publishes === false);
  const isLeftBehind = (worker: WorkerFacts): boolean =>
    worker.publishes === false && twinsOf(worker, workers).some(({ publishes }) => publishes === true);
  const all = listener === undefined || listeners.length > 1 ? [] : workers;
  const silent = isOneKind ? all : all.filter(isLeftBehind);
  return [
    ...silent.flatMap(({ launch, noPrefixCaching }) =>
      noPrefixCaching !== undefined || listener === undefined || isLayer(launch, fleets)
        ? []
        : [
            findingAt(rule, silenceAt(launch), {
              ...(isOneKind ? ifApart(launch, listener, fleet) : { severity: 'warning' as const }),
              message: `${nameOf(launch)} publishes no KV events, and ${listener.program} knows only what they say`,
              ...(cureBeforePicker(launch, listener) ?? cureOf(launch)),
              related: [{ span: listener.at, says: `${listener.program} reads KV events` }],
            }),
          ],
    ),
    ...(listener === undefined || listeners.length > 1
      ? []
      : workers.flatMap(({ launch }) => otherTopic(rule, launch, listener))),
    ...fleet.gateways.flatMap((launch) => disaggregated(rule, launch, fleets)),
  ];
}

/** Where a worker says that it publishes nothing; where it says nothing of it, the worker itself. */
export function silenceAt(launch: Launch): Span {
  return flagOf(launch, '--kv-events-config')?.span ?? launch.at;
}

/** Workers that keep nothing before the one router of others that looks for what they keep. */
export function cachelessBeforeGateways(rule: Rule, fleet: Fleet): readonly Finding[] {
  const [listener, ...others] = fleet.gateways.filter(({ gateway }) => gateway?.usesEvents === true);
  return listener === undefined || others.length > 0
    ? []
    : askedWorkers(fleet, listener).flatMap(({ launch, noPrefixCaching }) =>
        noPrefixCaching === undefined
          ? []
          : [
              {
                ...cacheless(rule, launch, noPrefixCaching, listener),
                ...ifApart(launch, listener, fleet),
              },
            ],
      );
}

/** Values over which others of their folder are put: those publish, and what is left out here is no fault. */
function isLayer(launch: Launch, fleets: readonly Fleet[]): boolean {
  const { section, at } = launch;
  const { source } = at;
  if (section === undefined || flagOf(launch, '--kv-events-config') !== undefined) return false;
  const isBeside = (other: Launch): boolean =>
    other.section === section &&
    other.at.source.file !== source.file &&
    folderOf(other.at.source.file) === folderOf(source.file);
  return fleets.some(({ workers }) =>
    workers.some(({ launch, publishes }) => publishes !== false && isBeside(launch)),
  );
}

/** Of a worker and a picker in folders of their own nothing but the place says that they serve together. */
function ifApart(worker: Launch, picker: Launch, { overlay }: Fleet): Pick<Finding, 'severity'> | undefined {
  const [own, other] = [worker, picker].map(({ at }) => folderOf(at.source.file));
  const isApart = worker.section === undefined ? own !== other : other?.startsWith(`${own}/`) === true;
  return overlay === undefined && isApart ? { severity: 'warning' } : undefined;
}

/** A worker without a prefix cache, and the program that looks for what is in it. */
export function cacheless(
  rule: Rule,
  launch: Launch,
  { name, span }: { readonly name: string; readonly span: Span },
  listener: Launch,
): Finding {
  return findingAt(rule, span, {
    message: `${nameOf(launch)} has prefix caching switched off (${name}), and ${nameOf(listener)} routes by what workers have cached`,
    advice: `Take ${name} out, or let the router go by load.`,
    related: [{ span: listener.at, says: `${nameOf(listener)} routes by KV events` }],
  });
}

/** A worker whose topic does not begin as the picker's subscription does: ZeroMQ hands such messages to nobody. */
function otherTopic(rule: Rule, worker: Launch, listener: Launch): readonly Finding[] {
  const { gateway } = listener;
  const filter = gateway?.topicFilter;
  const wanted = filter === undefined ? DEFAULT_TOPIC : filter.value;
  const topic = topicOf(worker);
  if (!isLlmdPicker(gateway) || wanted === undefined || topic === undefined) return [];
  const common = topic.isWhole ? wanted.length : Math.min(wanted.length, topic.text.length);
  if (topic.text.slice(0, common) === wanted.slice(0, common)) return [];
  const under =
    topic.isWhole && topic.text === ''
      ? 'without a topic'
      : `under the topic ${JSON.stringify(topic.text)}${topic.isWhole ? '' : '…'}`;
  return [
    findingAt(rule, topic.span, {
      message: `${nameOf(worker)} publishes its KV events ${under}, and ${listener.program} subscribes to those that begin with ${JSON.stringify(wanted)}${filter === undefined ? ' by default' : ''}`,
      consequence: 'No KV event of this worker reaches the picker, and neither of them reports it.',
      advice: `Let the topic of --kv-events-config begin with ${wanted}, as kv@POD@MODEL does.`,
      related:
        filter === undefined
          ? [{ span: listener.at, says: `${listener.program} has no topicFilter` }]
          : [{ span: filter.span, says: `topicFilter is ${wanted}` }],
    }),
  ];
}

/** Where a topic goes on with what is known at run time: a variable, or a template of the controller. */
const TOPIC_UNKNOWN = new RegExp(`${UNKNOWN}|\\$[({A-Za-z_]|\\{\\{`);

/** The topic of a worker's KV events, as far as it is known: empty where none is set. */
function topicOf(
  launch: Launch,
): { readonly text: string; readonly isWhole: boolean; readonly span: Span } | undefined {
  const config = flagOf(launch, '--kv-events-config');
  const text = config === undefined ? '' : textOfWord(config);
  const [, topic] = /"topic"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(text) ?? [];
  if (config === undefined || (topic === undefined && config.value === undefined)) return undefined;
  const [known = '', ...more] = (topic ?? '').split(TOPIC_UNKNOWN);
  return { text: known, isWhole: more.length === 0, span: config.span };
}

/** The router of TensorRT-LLM polls events, which a server keeps only in a buffer that it was given. */
function disaggregated(
  rule: Rule,
  { program, gateway, at }: Launch,
  fleets: readonly Fleet[],
): readonly Finding[] {
  const isBeside = (other: Launch): boolean =>
    other.program === 'trtllm-serve' && folderOf(other.at.source.file) === folderOf(at.source.file);
  // Servers that are started by commands of their own have settings of their own.
  if (fleets.some(({ workers }) => workers.some(({ launch }) => isBeside(launch)))) return [];
  return [gateway?.context, gateway?.generation].flatMap((servers) => {
    if (servers?.routerType?.value !== 'kv_cache_aware' || !servers.hasCacheConfig) return [];
    const { eventBuffer, blockReuse, routerType } = servers;
    const isSilent = eventBuffer === undefined || /^0+$/.test(eventBuffer.value ?? '');
    const isOff = blockReuse !== undefined && isFalse(blockReuse.value);
    const setting = isOff ? 'enable_block_reuse: false' : 'no event_buffer_max_size';
    return isSilent || isOff
      ? [
          findingAt(rule, (isOff ? blockReuse : eventBuffer)?.span ?? routerType.span, {
            severity: 'warning',
            message: `the kv_cache_aware router of ${program} polls KV events, and its servers keep none (${setting})`,
            advice:
              'Set kv_cache_config.event_buffer_max_size, and enable_block_reuse: true, for these servers.',
          }),
        ]
      : [];
  });
}
