import type { PodSite } from '../../pod-site.js';
import type { Fleet } from '../facts/fleet.js';
import { matchesSelector } from '../facts/label-selector.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { isOwnGate } from '../launches/own-gates.js';
import type { SettingValue } from '../launches/setting-value.js';
import { mayBeUnseen, settingOf } from '../launches/settings.js';

const withoutRule: Rule = {
  id: 'gate-without-workers',
  severity: 'error',
  summary: 'A gate or an aggregator does not know where its workers are.',
  explanation: 'It ends immediately with exit code 2, and its pod restarts again and again.',
};

/** Commands that need workers and name none. */
export const gateWithoutWorkers: LintRule = {
  rule: withoutRule,
  check: ({ own }) =>
    own.flatMap((launch) => {
      const target = settingOf(
        launch,
        [
          ...['--workers', '--workers-file', '--dynamo-graph', '--pool', '--kv-event-sources'],
          ...['--aggregator', '--config'],
        ],
        [
          ...['KV_ACCORD_WORKERS', 'KV_ACCORD_WORKERS_FILE', 'KV_ACCORD_DYNAMO_GRAPH'],
          ...['KV_ACCORD_POOL', 'KV_ACCORD_KV_EVENT_SOURCES', 'KV_ACCORD_AGGREGATOR', 'KV_ACCORD_CONFIG'],
        ],
      );
      const isHelp = launch.args.some(
        ({ value }) => value === '--help' || value === '-h' || value === '--print-config',
      );
      return !isOwnGate(launch) || target !== undefined || mayBeUnseen(launch) || isHelp
        ? []
        : [
            findingAt(withoutRule, launch.at, {
              message: `${nameOf(launch)} does not know where its workers are: no setting names them`,
              advice:
                'Give it --workers, --workers-file, --pool or --dynamo-graph, or the --aggregator to ask.',
            }),
          ];
    }),
};

const labelsRule: Rule = {
  id: 'missing-labels',
  severity: 'warning',
  summary: 'A gate or an aggregator looks for pods by labels that no pod with a sidecar has.',
  explanation:
    'It finds no workers and waits for ever: the frontend behind it does not start, and nothing but its own log says why.',
};

/** Selectors that match none of the pods that they are meant for. */
export const missingLabels: LintRule = {
  rule: labelsRule,
  check: ({ own }, all) => own.flatMap((launch) => checkLabels(launch, all)),
};

/** What a setting looks for. */
interface Wanted {
  readonly setting: SettingValue;
  readonly namespace: string | undefined;
  readonly selector: string;
}

function checkLabels(launch: Launch, all: readonly Fleet[]): readonly Finding[] {
  const { site } = launch;
  if (site === undefined || !isOwnGate(launch)) {
    return [];
  }
  return wantedBy(launch).flatMap(({ setting, namespace, selector }) => {
    const sidecars = sidecarsOf(all).filter(
      ({ site: one }) =>
        namespace === undefined || one.namespace === undefined || one.namespace === namespace,
    );
    const results = sidecars.map(({ site: one }) => matchesSelector(selector, labelsOf(one)));
    if (sidecars.length === 0 || results.some((result) => result !== false)) {
      return [];
    }
    const none = sidecars.length === 1 ? 'the one pod' : `none of the ${sidecars.length} pods`;
    return [
      findingAt(labelsRule, setting.span, {
        message: `${nameOf(launch)} looks for pods with ${selector}, and ${none} with a sidecar ${sidecars.length === 1 ? 'has other labels' : 'has these labels'}`,
        advice: 'Give the labels to the pod template of the workers, or name those that they have.',
        related: sidecars.map(({ launch: sidecar, site: one }) => ({
          span: { source: sidecar.source, start: one.at.start, end: one.at.end, isExact: false },
          says: `${one.name}${one.part === undefined ? '' : `/${one.part}`} has a sidecar`,
        })),
      }),
    ];
  });
}

function wantedBy(launch: Launch): readonly Wanted[] {
  const own = launch.site?.namespace;
  const graph = settingOf(launch, ['--dynamo-graph'], ['KV_ACCORD_DYNAMO_GRAPH']);
  const [, graphNamespace, name] = /^(?:([^/]+)\/)?([^/]+)$/.exec(graph?.value ?? '') ?? [];
  const workers = settingOf(launch, ['--workers'], ['KV_ACCORD_WORKERS']);
  const pods = /^k8s:\/\/([^/?#]*)\?(.*)$/is.exec(workers?.value ?? '');
  const selector = pods === null ? undefined : new URLSearchParams(pods[2]).get('selector');
  return [
    ...(graph === undefined || name === undefined
      ? []
      : [
          {
            setting: graph,
            namespace: graphNamespace ?? own,
            selector: `nvidia.com/dynamo-graph-deployment-name=${name},nvidia.com/dynamo-component-type in (worker,prefill,decode)`,
          },
        ]),
    ...(workers === undefined || selector === undefined || selector === null
      ? []
      : [{ setting: workers, namespace: pods?.[1] === '' ? own : pods?.[1], selector }]),
  ];
}

/** The sidecars of kv-accord in pods, one of each pod template. */
function sidecarsOf(all: readonly Fleet[]): readonly { readonly launch: Launch; readonly site: PodSite }[] {
  const bySite = new Map<PodSite, Launch>();
  for (const launch of all.flatMap(({ own }) => own)) {
    if (launch.program === 'kv-accord sidecar' && launch.site !== undefined) {
      bySite.set(launch.site, launch);
    }
  }
  return [...bySite].map(([site, launch]) => ({ launch, site }));
}

/** A pod's labels, with those that Dynamo's operator gives to the pods of a graph. */
function labelsOf(site: PodSite): ReadonlyMap<string, string> {
  if (site.kind !== 'DynamoGraphDeployment') {
    return site.labels;
  }
  return new Map([
    ...site.labels,
    ['nvidia.com/dynamo-graph-deployment-name', site.name],
    ['nvidia.com/dynamo-component', site.part ?? ''],
    ['nvidia.com/dynamo-component-type', site.componentType?.value ?? ''],
    ...(site.dynamoNamespace === undefined
      ? []
      : [['nvidia.com/dynamo-namespace', site.dynamoNamespace] as const]),
  ]);
}
