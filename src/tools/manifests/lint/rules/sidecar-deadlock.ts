import type { ContainerSite } from '../../pod-site.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { settingOf } from '../launches/settings.js';
import { locateScalar } from '../text/scalar-text.js';
import type { Span } from '../text/span.js';

const rule: Rule = {
  id: 'sidecar-deadlock',
  severity: 'error',
  summary: 'A pod waits in its init phase for something that starts only after it.',
  explanation:
    'The kubelet starts the containers of a pod after every init container has ended, or, for one with restartPolicy: Always, after its startup probe has passed. What waits there for the engine waits for ever, and the pod stays in Init.',
};

/** Paths that the sidecar answers by itself, whatever its engine does. */
const OWN_PATHS = /^\/(?:livez|readyz|startupz|metrics|api\/|$)/;

/** Sidecars and gates that keep their own pod from starting. */
export const sidecarDeadlock: LintRule = {
  rule,
  check: ({ own }) => own.flatMap((launch) => checkLaunch(launch)),
};

function checkLaunch(launch: Launch): readonly Finding[] {
  const { site, container } = launch;
  if (site === undefined || container?.list !== 'initContainers') {
    return [];
  }
  const isNative = container.restartsAlways;
  if (launch.program === 'kv-accord wait' && !isNative) {
    return waitsForItself(launch);
  }
  if (!['kv-accord sidecar', 'kv-accord aggregator', 'kv-accord frontend'].includes(launch.program)) {
    return [];
  }
  if (!isNative) {
    return [
      findingAt(rule, launch.at, {
        message: `${nameOf(launch)} runs in the init container ${container.name} without restartPolicy: Always: it never ends, and the pod never starts`,
        advice:
          'Give the init container restartPolicy: Always (a native sidecar, Kubernetes 1.29), or move it to containers.',
      }),
    ];
  }
  return launch.program === 'kv-accord sidecar' ? checkProbe(launch, container) : [];
}

function checkProbe(launch: Launch, { startupProbe }: ContainerSite): readonly Finding[] {
  const { service, path } = startupProbe ?? {};
  const placed =
    service?.value === 'engine' ? service : path && !OWN_PATHS.test(path.value) ? path : undefined;
  if (placed === undefined) {
    return [];
  }
  const span: Span = locateScalar(launch.source, placed).span;
  return [
    findingAt(rule, span, {
      message: `the startup probe of ${nameOf(launch)} asks for the engine (${placed.value}), which starts only after the probe has passed`,
      advice: 'Probe /startupz of the sidecar, which passes as soon as the sidecar serves.',
    }),
  ];
}

/** A gate in the pod of the very worker that it waits for. */
function waitsForItself(launch: Launch): readonly Finding[] {
  const workers = settingOf(launch, ['--workers'], ['KV_ACCORD_WORKERS']);
  if (
    workers?.value === undefined ||
    !/(?:^|,)(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]):/.test(workers.value)
  ) {
    return [];
  }
  const isNativeInFront = launch.site?.initContainers.some(
    (one) => one !== launch.container && one.restartsAlways,
  );
  return isNativeInFront
    ? []
    : [
        findingAt(rule, workers.span, {
          message: `${nameOf(launch)} waits in an init container for a sidecar of the same pod, which starts after it`,
          advice: 'Wait in the pods of the frontend, not in those of the workers.',
        }),
      ];
}
