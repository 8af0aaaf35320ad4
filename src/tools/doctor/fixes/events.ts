import { ENGINES } from '../../../engines/catalogue/engines.js';
import { TRTLLM } from '../../../engines/trtllm/descriptor.js';
import { isAtLeast } from '../../manifests/lint/launches/dynamo-version.js';
import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import { STORE_CHECKS } from './confirm.js';
import { fixesFrom } from './from-findings.js';
import { argumentsOf, engineYaml } from './lines.js';
import { lineOf } from './tuning.js';

const ZMQ = '"publisher":"zmq","endpoint":"tcp://*:5557"';

/** Lets workers publish what they hold. */
export function publishingFixes(measurements: Measurements): readonly ProposedFix[] {
  const said = {
    why: 'The router learns from events alone what a worker holds. Each worker restarts and loses its cache; they may do so one after the other.',
    disturbs: 'one_worker_at_a_time',
    verify: STORE_CHECKS,
  } as const;
  const fromFiles = fixesFrom(measurements, ['kv-events-off'], said);
  return fromFiles.length > 0
    ? fromFiles
    : [
        {
          ...said,
          says: 'Let the workers publish their KV events',
          files: [],
          commands: publishFlags(measurements),
        },
      ];
}

function publishFlags({ dynamo: { backend, version } }: Measurements): readonly string[] {
  const trtllm =
    version !== undefined && !isAtLeast(version, 1, 3)
      ? '--publish-events-and-metrics'
      : '--publish-kv-events';
  const published = ENGINES.flatMap(({ word, displayName, launch }) =>
    launch?.kvEvents === undefined || (backend !== undefined && backend !== word)
      ? []
      : [argumentsOf(displayName, `${launch.kvEvents.flag} '${launch.kvEvents.example}'`)],
  );
  // Dynamo's wrapper around TensorRT-LLM publishes for it.
  const isWrapped = backend === undefined || backend === TRTLLM.word;
  const note = version === undefined ? '--publish-events-and-metrics before 1.3' : '';
  return isWrapped ? [...published, argumentsOf('dynamo.trtllm', trtllm, note)] : published;
}

/** Prefix caching that was switched off. */
export function cachingFix({ dynamo: { backend } }: Measurements): ProposedFix {
  const commands = ENGINES.flatMap((engine) =>
    engine.launch === undefined || (backend !== undefined && backend !== engine.word)
      ? []
      : [lineOf(engine, engine.launch.tuning.prefixCaching)],
  );
  return {
    says: 'Switch prefix caching on in the engines',
    why: 'An engine that keeps no blocks for later requests has nothing to publish and nothing to reuse. If that is intended, let the router go by load.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands,
    verify: STORE_CHECKS,
  };
}

/** Lets events come through. */
export function reachingFix(): ProposedFix {
  return {
    says: 'Let KV events pass from the workers to the router',
    why: 'Events go from a socket of each worker (ZMQ) or over a broker (NATS) to every router. An address that is loopback, a port that no NetworkPolicy lets through, or a broker that is down leaves the router without any, and requests go on by load.',
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl get networkpolicies    # must let the frontend reach the event ports of the workers',
      'kubectl exec FRONTEND -- python3 -c "import socket; socket.create_connection((\'WORKER_IP\', 5557), 3)"    # the port of the engine or of the event plane',
      'kubectl exec WORKER -- env | grep -E "DYN_EVENT_PLANE|NATS_SERVER|DYN_EVENT_PLANE_HOST"    # the same event plane as the frontend\'s, and an address that others can reach',
    ],
    verify: STORE_CHECKS,
  };
}

/** Lets fewer events get lost. */
export function lossFixes(): readonly ProposedFix[] {
  return [
    {
      says: 'Let the router take a new snapshot of what its workers hold: restart the frontend',
      why: 'Dynamo from 1.1 on reads what workers hold from their local indexers as it starts, so that what was lost is known again. It repairs the state, and not what loses events.',
      disturbs: 'frontend',
      files: [],
      commands: ['kubectl rollout restart deployment/FRONTEND'],
      verify: STORE_CHECKS,
    },
    {
      says: 'Give the event stream room and a replay',
      why: 'Publishers drop events when a subscriber is slower than they are and the high-water mark is reached. A buffer bridges bursts, a replay socket closes gaps.',
      disturbs: 'one_worker_at_a_time',
      files: [],
      commands: [
        argumentsOf(
          'vLLM or SGLang',
          `--kv-events-config '{"enable_kv_cache_events":true,${ZMQ},"replay_endpoint":"tcp://*:5558","buffer_steps":10000,"hwm":100000}'`,
        ),
        engineYaml('kv_cache_config: { event_buffer_max_size: 65536 }'),
      ],
      verify: STORE_CHECKS,
    },
  ];
}
