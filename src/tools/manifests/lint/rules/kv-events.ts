import { engineOfWord } from '../../../../engines/catalogue/engines.js';
import type { KvEventsFlag } from '../../../../engines/descriptor/engine-launch.js';
import { SGLANG } from '../../../../engines/sglang/descriptor.js';
import { readEngineConfig } from '../config/engine-config.js';
import { jsonObjectIn } from '../config/json-object.js';
import type { Fleet } from '../facts/fleet.js';
import { eventsOff, hasKvScorer } from '../facts/router-facts.js';
import { commandPhase, type WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Fix, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { addArguments } from '../fixes/fixes.js';
import { isAtLeast } from '../launches/dynamo-version.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { flagOf, settingOf, switchOf } from '../launches/settings.js';
import { cacheless, cachelessBeforeGateways, silenceAt, silentBeforeGateways } from './gateway-events.js';

const offRule: Rule = {
  id: 'kv-events-off',
  severity: 'error',
  summary: 'A router uses KV events, and a worker publishes none.',
  explanation:
    'The router learns from events alone what a worker holds. Without them its view of the worker stays empty, and requests go by load; nothing reports it.',
};

/** Workers that are silent before a router that listens. */
export const kvEventsOff: LintRule = {
  rule: offRule,
  check(fleet, fleets) {
    const listener = listenerOf(fleet);
    return [
      ...(listener === undefined
        ? []
        : publishersOf(fleet).flatMap((worker) => checkWorker(worker, listener, fleet))),
      ...fleet.own.flatMap((own) => checkSidecar(own, fleet)),
      ...silentBeforeGateways(offRule, fleet, fleets, (launch) => ({
        advice: adviceOf(launch),
        fix: fixOf(launch),
      })),
    ];
  },
};

function checkWorker(worker: WorkerFacts, listener: Launch, fleet: Fleet): readonly Finding[] {
  const { launch, publishes, noPrefixCaching } = worker;
  if (publishes !== false || noPrefixCaching !== undefined) {
    return [];
  }
  return [
    findingAt(offRule, silenceAt(launch), {
      // From 1.4 on workers say in their card whether they publish, and leaving it out is documented. Who writes the flag wants events.
      ...(launch.version !== undefined &&
      isAtLeast(launch.version, 1, 4) &&
      flagOf(launch, '--kv-events-config') === undefined
        ? { severity: 'warning' as const }
        : {}),
      ...besideNoOther(publishersOf(fleet), listener),
      message: `${nameOf(launch)} publishes no KV events, and ${nameOf(listener)} routes by them`,
      advice: adviceOf(launch),
      fix: fixOf(launch),
      related: [{ span: listener.at, says: `${nameOf(listener)} routes by KV events` }],
    }),
  ];
}

/** A sidecar beside an engine that publishes nothing has no proof of the engine's block size. */
function checkSidecar(own: Launch, { workers }: Fleet): readonly Finding[] {
  const sources = settingOf(own, ['--kv-event-sources'], ['KV_ACCORD_KV_EVENT_SOURCES']);
  if (own.program !== 'kv-accord sidecar' || own.site === undefined || sources !== undefined) {
    return [];
  }
  const engines = workers.filter(({ launch }) => launch.site === own.site && !launch.isDynamo);
  return engines
    .filter(({ publishes, noPrefixCaching }) => publishes === false && noPrefixCaching === undefined)
    .map(({ launch }) =>
      findingAt(offRule, launch.at, {
        severity: 'warning',
        message: `${nameOf(launch)} publishes no KV events, and the sidecar beside it reads them`,
        consequence:
          'Nothing proves the block size that the engine is configured with, and no index knows what this worker holds: requests go by load.',
        advice: `${adviceOf(launch)} Or say --kv-event-sources off to the sidecar, where routing by load is meant.`,
        fix: fixOf(launch),
        related: [{ span: own.at, says: 'the sidecar' }],
      }),
    );
}

function adviceOf(launch: Launch): string {
  if (launch.eventsCure !== undefined) return launch.eventsCure;
  const events = engineOfWord(launch.backend)?.launch?.kvEvents;
  if (events === undefined)
    return `Start it with ${trtllmFlag(launch)}, or let the router run without events (${noEventsFlag(launch)}).`;
  // Workers of a script may share their host.
  const ports = launch.site === undefined ? ', each worker of a host with a port of its own' : '';
  return `Start it with ${events.flag} '${publishingConfig(launch, events)}'${ports}.`;
}

/** What is written, with what it lacks to publish. */
function publishingConfig(launch: Launch, { flag, example, publishes }: KvEventsFlag): string {
  const written = jsonObjectIn(flagOf(launch, flag)?.value ?? '');
  if (written === undefined) return example;
  const whole = jsonObjectIn(example) ?? {};
  const filled: Readonly<Record<string, unknown>> = { ...whole, ...written };
  const { endpoint } = filled;
  return JSON.stringify(publishes(filled) ? filled : { ...written, ...whole, endpoint });
}

/** Renamed in 1.0; a frontend of another release than its workers ends with one that it does not know. */
function noEventsFlag({ version }: Launch): string {
  return version !== undefined && !isAtLeast(version, 1, 0) ? '--no-kv-events' : '--no-router-kv-events';
}

function trtllmFlag({ version }: Launch): string {
  return version !== undefined && isAtLeast(version, 1, 3)
    ? '--publish-kv-events'
    : '--publish-events-and-metrics';
}

function fixOf(launch: Launch): Fix | undefined {
  // A setting that is there and says no was set on purpose.
  if (
    flagOf(launch, '--kv-events-config', '--no-publish-kv-events', '--no-publish-events-and-metrics') !==
    undefined
  ) {
    return undefined;
  }
  const engine = engineOfWord(launch.backend);
  const events = engine?.launch?.kvEvents;
  return engine === undefined || events === undefined
    ? addArguments(launch, [trtllmFlag(launch)], 'Let the worker publish its KV events')
    : addArguments(launch, [events.flag, events.example], `Let ${engine.displayName} publish its KV events`);
}

const cachingRule: Rule = {
  id: 'prefix-caching-off',
  severity: 'error',
  summary: 'A router uses KV events, and a worker keeps no blocks for later requests.',
  explanation:
    'An engine without prefix caching has nothing to publish and nothing to reuse: KV-aware routing becomes routing by load, and every prompt is computed again.',
};

/** Workers that reuse nothing before a router that looks for reuse. */
export const prefixCachingOff: LintRule = {
  rule: cachingRule,
  check(fleet) {
    const listener = listenerOf(fleet);
    return [
      ...publishersOf(fleet).flatMap(({ launch, noPrefixCaching }) =>
        listener === undefined || noPrefixCaching === undefined
          ? []
          : [
              {
                ...cacheless(cachingRule, launch, noPrefixCaching, listener),
                ...besideNoOther(publishersOf(fleet), listener),
              },
            ],
      ),
      ...cachelessBeforeGateways(cachingRule, fleet),
    ];
  },
};

const ignoredRule: Rule = {
  id: 'events-ignored',
  severity: 'note',
  summary: 'Workers publish KV events, and the router is configured not to read them.',
  explanation:
    'The router guesses what workers hold from where it sent requests, and never learns what they dropped. Nobody reads what the workers publish.',
};

/** A router that was configured to guess although it could know. */
export const eventsIgnored: LintRule = {
  rule: ignoredRule,
  check(fleet) {
    const publisher = publishersOf(fleet).find(
      ({ launch: { backend }, publishes }) =>
        engineOfWord(backend)?.launch?.kvEvents !== undefined && publishes === true,
    );
    return fleet.frontends.flatMap(({ launch, kvMode, noEvents }) =>
      kvMode === undefined || noEvents === undefined || publisher === undefined
        ? []
        : [
            findingAt(ignoredRule, noEvents.span, {
              message: `${nameOf(launch)} is configured not to read KV events (${noEvents.name}), and ${nameOf(publisher.launch)} publishes them`,
              advice: 'Let the router read them, or stop the workers from publishing.',
              related: [
                { span: publisher.launch.at, says: `${nameOf(publisher.launch)} publishes KV events` },
              ],
            }),
          ],
    );
  },
};

/** Flags by which one worker is several for a router, which chooses among their ranks. */
const RANKS = ['--data-parallel-size', '--dp-size', '--dp'];
const RANK_SWITCHES = ['--enable-dp-attention', '--enable-attention-dp'];

/** What it costs where later requests of a session follow its first one. */
const BY_SESSIONS =
  'The router learns from events alone what a worker holds. Without them its view of the worker stays empty: the first request of each session goes by load, whatever prefix it shares with others, and the later ones follow it; nothing reports it.';

/** What is to be said where a router has nothing to choose between: one worker alone, as far as its files say how many there are. */
function besideNoOther(
  workers: readonly WorkerFacts[],
  listener: Launch,
): Partial<Pick<Finding, 'severity' | 'consequence'>> | undefined {
  const [only, ...others] = workers;
  const affinity = settingOf(
    listener,
    ['--router-session-affinity-ttl-secs'],
    ['DYN_ROUTER_SESSION_AFFINITY_TTL_SECS'],
  );
  if (only?.launch.count !== 1 || others.length > 0)
    return affinity === undefined ? undefined : { consequence: BY_SESSIONS };
  const ranks = flagOf(only.launch, ...RANKS);
  const mayHaveRanks =
    (ranks !== undefined && ranks.value !== '1') ||
    switchOf(only.launch, RANK_SWITCHES, []) !== undefined ||
    readEngineConfig(only.launch).texts.some(({ value }) =>
      /enable_attention_dp["']?\s*:\s*true/i.test(value),
    );
  // Later ones of a session follow the first.
  const requests = affinity === undefined ? 'requests go' : 'the first request of each session goes';
  return {
    severity: mayHaveRanks ? 'warning' : 'note',
    consequence: mayHaveRanks
      ? 'The router has one worker here, and chooses among its ranks of data parallelism by load alone; nothing reports it.'
      : `The router has one worker here, so that it costs nothing yet. With a second one ${requests} by load alone, and nothing reports it.`,
  };
}

/** The first program that routes by the events of Dynamo's workers. */
function listenerOf({ frontends, routers, pickers }: Fleet): Launch | undefined {
  const frontend = frontends.find(({ kvMode, noEvents }) => kvMode !== undefined && noEvents === undefined);
  return (
    frontend?.launch ??
    [...routers, ...pickers.filter(hasKvScorer)].find((router) => eventsOff(router) === undefined)
  );
}

/**
 * Those workers of Dynamo whose blocks a router looks for: with separate prefill workers, these alone. Without them one that only its
 * object calls `decode` computes whole requests: Dynamo's wrappers go by their own flags.
 */
function publishersOf({ workers }: Fleet): readonly WorkerFacts[] {
  const dynamo = workers.filter(({ launch }) => launch.isDynamo);
  // The first to have a request is asked: with this strategy of TensorRT-LLM (up to 0.6) a decode worker.
  const first = dynamo.some(
    ({ launch }) => flagOf(launch, '--disaggregation-strategy')?.value === 'decode_first',
  )
    ? 'decode'
    : 'prefill';
  const asked = dynamo.filter(({ phase }) => phase === first);
  return asked.length > 0
    ? asked.filter(({ launch, phase }) => !(phase === 'prefill' && isKnownToDecodeAlone(launch)))
    : dynamo.filter(({ launch, phase }) => phase === 'aggregated' || commandPhase(launch) === undefined);
}

/** Prefill workers of SGLang register from Dynamo 0.8 on; before, decode workers ask them, and no router reads what they publish. */
function isKnownToDecodeAlone({ backend, version }: Launch): boolean {
  return backend === SGLANG.word && version !== undefined && !isAtLeast(version, 0, 8);
}
