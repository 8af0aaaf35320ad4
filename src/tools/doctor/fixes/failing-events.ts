import type { ProposedFix } from '../diagnosis.js';
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
