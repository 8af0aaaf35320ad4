import { capitalised } from '../../../core/text/capitalised.js';
import { SIGN_VALUES } from '../../../engines/diagnosis/sign-values.js';
import { isAtLeast } from '../../manifests/lint/launches/dynamo-version.js';
import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import { storeChecks } from './confirm.js';
import { fixesFrom } from './from-findings.js';
import { argumentsOf } from './lines.js';
import { engineLines, type KnownEngine, knownEngines, onlyEngine, startedWith } from './tuning.js';

/** Lets workers publish what they hold. */
export function publishingFixes(measurements: Measurements): readonly ProposedFix[] {
  const { seen } = measurements;
  const said = {
    why: 'The router learns from events alone what a worker holds. Each worker restarts and loses its cache; they may do so one after the other.',
    disturbs: 'one_worker_at_a_time',
    verify: storeChecks(seen),
  } as const;
  const fromFiles = fixesFrom(measurements, ['kv-events-off'], said);
  if (fromFiles.length > 0) return fromFiles;
  const engine = onlyEngine(seen);
  const flag = engine === undefined ? undefined : publishFlag(engine, measurements);
  return [
    {
      ...said,
      says:
        engine === undefined || flag === undefined
          ? "Start each worker with its engine's KV events switched on"
          : `Start each ${engine.program} worker with ${flag}`,
      files: [],
      commands: publishLines(measurements),
    },
  ];
}

function publishLines(measurements: Measurements): readonly string[] {
  const known = knownEngines(measurements.seen);
  if (known.length === 0) return engineLines(measurements.seen, () => undefined);
  const { version } = measurements.dynamo;
  return known.flatMap((one) => {
    const flag = publishFlag(one, measurements);
    const isOlder = one.engine.launch?.dynamo?.publishing !== undefined && version === undefined;
    const note = isOlder ? '--publish-events-and-metrics before 1.3' : '';
    return flag === undefined ? [] : [argumentsOf(one.program, flag, note)];
  });
}

/** The flag by which workers of an engine publish; Dynamo's wrapper around TensorRT-LLM publishes for it. */
function publishFlag(
  { engine: { launch } }: KnownEngine,
  { dynamo: { version }, seen }: Measurements,
): string | undefined {
  if (launch?.kvEvents !== undefined) return `${launch.kvEvents.flag} '${launch.kvEvents.example}'`;
  if (launch?.dynamo?.publishing === undefined || !seen.dynamo) return undefined;
  return version !== undefined && !isAtLeast(version, 1, 3)
    ? '--publish-events-and-metrics'
    : '--publish-kv-events';
}

/** Prefix caching that was switched off. */
export function cachingFix({ seen }: Measurements): ProposedFix {
  const engine = onlyEngine(seen);
  return {
    says:
      engine === undefined
        ? "Start each worker with its engine's prefix caching switched on"
        : capitalised(startedWith(engine, engine.tuning.prefixCaching)),
    why: 'An engine that keeps no blocks for later requests has nothing to publish and nothing to reuse. If that is intended, let the router go by load.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: engineLines(seen, ({ prefixCaching }) => prefixCaching),
    verify: storeChecks(seen),
  };
}

/** Lets events come through. */
export function reachingFix({ seen, signal }: Measurements): ProposedFix {
  const values = [...(signal('events_unreachable')?.values.keys() ?? [])];
  if (values.includes(SIGN_VALUES.severalPublishers)) return oneSourceFix(seen);
  return {
    says: 'Open the event port of each worker (5557 unless set) to the router: in the NetworkPolicy, and by an address that is not loopback',
    why: 'Events go from a socket of each worker (ZMQ) or over a broker (NATS) to every router. An address that is loopback, a port that no NetworkPolicy lets through, or a broker that is down leaves the router without any, and requests go on by load.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl get networkpolicies    # must let the router reach the event ports of the workers',
      'kubectl exec FRONTEND -- python3 -c "import socket; socket.create_connection((\'WORKER_IP\', 5557), 3)"    # the port of the engine or of the event plane',
      ...(seen.dynamo
        ? [
            'kubectl exec WORKER -- env | grep -E "DYN_EVENT_PLANE|NATS_SERVER|DYN_EVENT_PLANE_HOST"    # the same event plane as the frontend\'s, and an address that others can reach',
          ]
        : []),
    ],
    verify: storeChecks(seen),
  };
}

/** Two registrations of one worker's events: a router takes none of them. */
function oneSourceFix(seen: Measurements['seen']): ProposedFix {
  return {
    says: 'Leave one publisher of KV events to each worker: stop the old process that is registered under the same worker, and restart the worker',
    why: 'Discovery has several sources for one worker and rank, and the router does not know whose events are those of the engine that serves. A process that did not end, or two endpoints that claim the same KV state, leave such registrations.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs FRONTEND | grep -m3 "registration is ambiguous"    # worker_id, dp_ranks and serving_endpoint',
      'kubectl get pods -o wide    # more than one that serves this endpoint as the same worker?',
    ],
    verify: storeChecks(seen),
  };
}

/** Lets fewer events get lost. */
export function lossFixes({ seen }: Measurements): readonly ProposedFix[] {
  const room = eventRoomFix({ seen });
  if (!seen.dynamo) return [room];
  return [
    {
      says: 'Restart the frontend, which then reads what its workers hold: kubectl rollout restart deployment/FRONTEND',
      why: 'Dynamo from 1.1 on reads what workers hold from their local indexers as it starts, so that what was lost is known again. It repairs the state, and not what loses events.',
      disturbs: 'frontend',
      files: [],
      commands: ['kubectl rollout restart deployment/FRONTEND'],
      verify: storeChecks(seen),
    },
    room,
  ];
}

/** Gives the stream of events room, and a replay. */
export function eventRoomFix({ seen }: Pick<Measurements, 'seen'>): ProposedFix {
  const engine = onlyEngine(seen);
  const setting = engine?.tuning.eventRoom;
  return {
    says:
      engine === undefined || setting === undefined
        ? 'Start each worker with a replay socket and a larger buffer for its KV events'
        : capitalised(startedWith(engine, setting)),
    why: 'Publishers drop events when a subscriber is slower than they are and the high-water mark is reached. A buffer bridges bursts, a replay socket closes gaps and lets a router that starts late read what was stored before it.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: engineLines(seen, ({ eventRoom }) => eventRoom),
    verify: storeChecks(seen),
  };
}
