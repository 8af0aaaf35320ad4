import type { ProposedFix } from '../diagnosis.js';
import { NO_EVENT_ADDRESS, OF_MOONCAKE } from '../logs/general/publisher-rules.js';
import type { Measurements } from '../measurements/measurements.js';
import { storeChecks } from './confirm.js';
import { argumentsOf } from './lines.js';
import { PICKER_CHECKS, pickerSizeFix } from './picker.js';
import { reachControlPlane } from './programs.js';
import { onlyEngine } from './tuning.js';

/** Lets a publisher of KV events send what it has, by the error that it reports. */
export function publisherFixes({ seen }: Measurements, error: string): readonly ProposedFix[] {
  const program = onlyEngine(seen)?.program ?? 'engine';
  const said = { disturbs: 'one_worker_at_a_time', files: [], verify: storeChecks(seen) } as const;
  if (error.includes('_kv_cache_events_thread: ')) return [{ ...said, ...otherEventThread(seen, error) }];
  if (/serialize int|2\*\*6[34]|[Ii]nteger|overflow/.test(error))
    return [
      {
        ...said,
        says: `Start each ${program} worker with --prefix-caching-hash-algo sha256_cbor_64bit`,
        why: 'The hashes of the present algorithm do not fit into the 64 bits that the event format has in this version. Later versions cut them, or publish them as bytes.',
        commands: [
          argumentsOf(program, '--prefix-caching-hash-algo sha256_cbor_64bit', 'or a later version'),
        ],
      },
    ];
  if (error.startsWith(OF_MOONCAKE)) return [{ ...said, ...mooncakeEvents(error) }];
  if (error.startsWith(NO_EVENT_ADDRESS))
    return [
      {
        ...said,
        says: 'Give the engine an address for its KV events that each rank can bind: tcp://*:5557 (the endpoint of --kv-events-config, or of kv_events_config)',
        why: 'Each data-parallel rank takes the port of the address plus its own number. An address without a port, of another scheme, or near the last port has none for all of them, and the engine ends as it starts.',
        commands: [
          argumentsOf(
            program,
            `--kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557"}'`,
          ),
        ],
      },
    ];
  if (/in use|EADDRINUSE|bind/i.test(error))
    return [
      {
        ...said,
        says: 'Give each engine on a host a port of its own for KV events (--kv-events-config)',
        why: 'Another process publishes at this address already. With data parallelism each rank takes the next port.',
        commands: [
          argumentsOf(
            'the second engine on the host',
            `--kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5567"}'`,
          ),
        ],
      },
    ];
  if (/nats|no responders|jetstream/i.test(error)) return [reachControlPlane(['NATS'])];
  return [
    {
      ...said,
      says: 'Restart each worker whose publisher failed, once what its error names is fixed',
      why: 'A publisher that has failed does not come back by itself in every version. The lines behind the error (a traceback) show where it failed.',
      commands: ['kubectl logs WORKER | grep -A 20 -m1 -iE "publisher thread|publish.*event"'],
    },
  ];
}

/** The thread that hands out the events of TensorRT-LLM has ended, or drops what it reads. */
function otherEventThread(
  seen: Measurements['seen'],
  error: string,
): Pick<ProposedFix, 'says' | 'why' | 'commands'> {
  const later = error.includes("'new_value'")
    ? 'a TensorRT-LLM from February 2026 or later (its pull request 11576)'
    : 'a later TensorRT-LLM, which takes such events';
  return {
    says: `Restart the worker, and run it with ${later}; until then let the router go without KV events${seen.dynamo ? ' (--no-router-kv-events on the frontend; --no-kv-events before 1.0)' : ''}`,
    why: 'The engine serves on, and no event leaves it any more, or its next request fails with the same error: what the router knows of this worker grows old. The thread does not begin again; a worker of the same version ends it with the same event.',
    commands: [
      'kubectl exec WORKER -- pip list | grep -iE "tensorrt|dynamo"    # the versions that are there',
      'kubectl logs WORKER | grep -A 20 -m1 "_kv_cache_events_thread"    # the traceback',
    ],
  };
}

/** The publisher of Mooncake's master leaves itself out where it cannot begin. */
function mooncakeEvents(error: string): Pick<ProposedFix, 'says' | 'why' | 'commands'> {
  const says = /is empty/.test(error)
    ? 'Give mooncake_master both --kv_events_bind_endpoint=tcp://0.0.0.0:5557 and --kv_events_backend_id=NAME'
    : 'Give mooncake_master a --kv_events_bind_endpoint that is free on its host';
  return {
    says,
    why: 'Where it cannot begin, the publisher of the master switches itself off, and the master serves on: blocks of the store are not published.',
    commands: [
      argumentsOf(
        'mooncake_master',
        '--enable_kv_events=true --kv_events_bind_endpoint=tcp://0.0.0.0:5558 --kv_events_backend_id=NAME',
      ),
    ],
  };
}

/** Lets a router read the KV events that arrive, by the errors that it reports. */
export function readingFixes(measurements: Measurements, errors: string): readonly ProposedFix[] {
  const { seen } = measurements;
  const verify = seen.picker ? PICKER_CHECKS : storeChecks(seen);
  const said = { disturbs: 'one_worker_at_a_time', files: [], verify } as const;
  const line = measurements.signal('events_unreadable')?.first.text ?? '';
  if (/from topic/.test(line))
    return [
      {
        ...said,
        says: 'Give each worker the topic that the picker expects: kv@POD_IP:PORT@MODEL',
        why: 'The picker reads the pod and the model out of the topic of each event. An event with another topic is dropped.',
        commands: [
          argumentsOf(
            'the engine',
            `--kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5556","topic":"kv@$(POD_IP):8000@MODEL"}'`,
          ),
        ],
      },
    ];
  if (/without tokens/.test(errors))
    return [
      {
        ...said,
        disturbs: 'frontend',
        says: 'Run a picker that reads events of offloaded blocks: kubectl set image deployment/PICKER',
        why: 'Blocks that an engine moves to CPU memory are published without their tokens. Older pickers cannot place them; what the GPU holds is not concerned.',
        commands: [],
      },
    ];
  if (/no keys or entries/.test(errors)) {
    const worker = measurements.sizes.rows.find(({ side }) => side === 'worker');
    return [pickerSizeFix(worker?.tokensPerBlock)];
  }
  if (seen.dynamo) return [{ ...said, ...engineOfDynamo(seen, errors) }];
  return [
    {
      ...said,
      says: 'Run versions of engine and router that belong together: kubectl get pods shows their images',
      why: 'The format of KV events has changed several times (fields at the end, maps in place of lists, hashes as bytes). The release notes of the router name the versions of the engines that it reads.',
      commands: [
        'kubectl get pods -o jsonpath=\'{range .items[*]}{.metadata.name} {.spec.containers[*].image}{"\\n"}{end}\'',
      ],
    },
  ];
}

/** Dynamo reads the events in its own worker: the engine beside it is to be the one of its release. */
function engineOfDynamo(
  seen: Measurements['seen'],
  errors: string,
): Pick<ProposedFix, 'says' | 'why' | 'commands'> {
  const [one, ...others] = seen.engines;
  const extra = one === undefined || others.length > 0 ? 'ENGINE' : one.word;
  const engine = `the engine that this release pins: pip install "ai-dynamo[${extra}]==VERSION", or its image`;
  return {
    says: /expected i64/.test(errors)
      ? `Run Dynamo 0.6 or later in workers and frontend, which reads hashes without a sign, or ${engine}`
      : `Run workers and frontend of one release, and ${engine} (versions that belong together)`,
    why: 'The worker of Dynamo reads what the engine beside it publishes. Engines have changed the form several times (hashes without a sign, further fields, maps in place of lists), and a release of Dynamo reads that of the engine which it pins.',
    commands: [
      'kubectl exec WORKER -- pip list | grep -iE "dynamo|llm|lang"    # what is there',
      'pip download --no-deps ai-dynamo==VERSION && unzip -p ai_dynamo-*.whl "*/METADATA" | grep Requires-Dist    # what that release pins',
    ],
  };
}
