import { ENGINES } from '../../../../engines/catalogue/engines.js';
import type { PodSite } from '../../pod-site.js';
import type { Fleet } from '../facts/fleet.js';
import type { PlacedSite } from '../facts/material.js';
import type { PoolFacts } from '../facts/pools.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { flagOf } from '../launches/settings.js';
import { textAt } from '../text/span.js';

/** A rule about pools, with the look for it in one pool. */
export interface PoolRule {
  readonly rule: Rule;
  check(facts: PoolFacts, fleets: readonly Fleet[]): readonly Finding[];
}

const withoutGateRule: Rule = {
  id: 'pool-without-gate',
  severity: 'note',
  summary: 'The endpoint picker of an InferencePool does not check what its workers use.',
  explanation:
    'It takes the block size from its own configuration. Where a worker has another one, its index finds nothing of that worker, for ever and without an error.',
};

const poolWithoutGate: PoolRule = {
  rule: withoutGateRule,
  check: ({ pool, picker }) =>
    picker === undefined || picker.hasGate || picker.isGuessing
      ? []
      : [
          findingAt(withoutGateRule, pool.at, {
            message: `the InferencePool ${pool.name} is served by ${nameOf(picker.launch)}, which proves nothing of its workers before it picks one`,
            advice:
              'Put kv-accord epp in its place: it opens once the workers agree. With --shadow it only counts how it would have decided.',
            related: [{ span: picker.launch.at, says: picker.launch.program }],
          }),
        ],
};

const failOpenRule: Rule = {
  id: 'pool-fail-open',
  severity: 'warning',
  summary: 'A pool whose picker has a gate says FailOpen.',
  explanation:
    'While the picker cannot be reached, the gateway sends requests to any worker, also to those that the gate keeps out.',
};

const poolFailOpen: PoolRule = {
  rule: failOpenRule,
  check: ({ pool, picker }) => {
    const { failureMode } = pool;
    if (picker?.hasGate !== true || failureMode?.value !== 'FailOpen') return [];
    const { span } = failureMode;
    return [
      findingAt(failOpenRule, span, {
        message: `the InferencePool ${pool.name} has failureMode: FailOpen, and its picker is ${nameOf(picker.launch)}`,
        advice: 'Set failureMode: FailClose.',
        fix:
          span.isExact && textAt(span) === 'FailOpen'
            ? {
                says: `Set failureMode: FailClose on the InferencePool ${pool.name}`,
                file: span.source.file,
                edits: [{ start: span.start, end: span.end, text: 'FailClose' }],
              }
            : undefined,
        related: [{ span: picker.launch.at, says: picker.launch.program }],
      }),
    ];
  },
};

const portRule: Rule = {
  id: 'pool-port-mismatch',
  severity: 'warning',
  summary: 'A target port of an InferencePool is none of the ports of the pods that it selects.',
  explanation:
    'The gateway sends requests to this port of the pods, where nobody listens: they fail with 503, and the picker goes on choosing the worker.',
};

const poolPortMismatch: PoolRule = {
  rule: portRule,
  check: ({ pool, selected }, fleets) => {
    const pods = selected.filter(({ site }) => site.isKnownKind && !site.isFollower);
    if (pods.length === 0 || pods.length < selected.length) return [];
    return pool.targetPorts.flatMap(({ value, span }) => {
      const ports = pods.map((pod) => declaredWithout(pod, value, fleets));
      if (!ports.every((declared) => declared !== undefined)) return [];
      const listed = [...new Set(ports.flat())].sort((a, b) => Number(a) - Number(b)).slice(0, MAX_PORTS);
      return [
        findingAt(portRule, span, {
          message: `the InferencePool ${pool.name} has the target port ${value}, and no container of the pods that it selects has it (they declare ${listed.join(', ')})`,
          advice:
            'Set targetPorts to the port at which the engine serves, or the routing sidecar in front of it.',
          related: pods.map(({ source, site }) => ({
            span: { source, start: site.at.start, end: site.at.end, isExact: false },
            says: `${site.kind} ${site.name} is selected`,
          })),
        }),
      ];
    });
  },
};

/** Ports that a message names. */
const MAX_PORTS = 5;

/** A port that is known only at run time. */
const UNKNOWN_PORT = /port[=\s]+["']?\$/i;

/** The ports that a pod declares, where none of its containers shows the one that is asked for; undefined where one may have it. */
function declaredWithout(
  { site }: PlacedSite,
  port: string,
  fleets: readonly Fleet[],
): readonly string[] | undefined {
  // The operator adds ports to the pods of a graph.
  if (site.kind === 'DynamoGraphDeployment') return undefined;
  const containers = [...site.initContainers, ...site.containers];
  const declared = containers.flatMap(({ ports }) => ports);
  if (declared.length === 0 || declared.includes(port)) return undefined;
  // What is written anywhere in the pod may be where it listens.
  const mentions = new RegExp(`(?<!\\d)${port}(?!\\d)`);
  const written = containers.some(({ command, args, env }) =>
    [...command, ...args, ...env.map((one) => one.value)].some(
      (text) => text !== undefined && (mentions.test(text.value) || UNKNOWN_PORT.test(text.value)),
    ),
  );
  return written || enginesOf(site, fleets).some((launch) => defaultPort(launch) === port)
    ? undefined
    : declared;
}

function enginesOf(site: PodSite, fleets: readonly Fleet[]): readonly Launch[] {
  return fleets.flatMap(({ workers }) =>
    workers.map(({ launch }) => launch).filter((launch) => launch.site === site),
  );
}

/** Where an engine serves that names no port; a port that it names was found as a text. */
function defaultPort(launch: Launch): string | undefined {
  const { backend } = launch;
  if (flagOf(launch, '--port') !== undefined) return undefined;
  return ENGINES.find(({ word }) => word === backend)?.ports.http[0]?.toString();
}

/** The rules about pools. */
export const POOL_RULES: readonly PoolRule[] = [poolWithoutGate, poolFailOpen, poolPortMismatch];
