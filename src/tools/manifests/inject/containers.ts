import type { Engine } from './engine.js';
import type { InjectOptions, Transport } from './options.js';

/** A container, volume or object as it is written. */
export type Written = Readonly<Record<string, unknown>>;

/** Where sidecars serve gRPC: the port that discovery assumes. */
export const GRPC_PORT = 50_061;

const HTTP_PORT = 9_464;

/** Where a Secret with certificates is mounted. */
const TLS_FOLDER = '/etc/kv-accord/tls';

const TLS_VOLUME = 'kv-accord-tls';

/** Where the image has the program, and where a container under `exec` finds it with the Node that it runs on. */
const PROGRAM_FOLDER = '/opt/kv-accord';
const NODE_IN_IMAGE = '/usr/local/bin/node';
const PROGRAM_VOLUME = 'kv-accord';
const COPY_FOLDER = '/program';

/** How long a gate waits: a model may take long to load. `kv-accord` ends then, says why, and restarts. */
export const GATE_HOURS = 1;

/** What the restricted Pod Security Standard asks for. */
const SECURITY_CONTEXT: Written = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** The sidecar of a worker. */
export function sidecarContainer(
  engine: Engine,
  { image, sidecarKind, transport, readyWhenOffered }: InjectOptions,
): Written {
  const probe = sidecarProbe(transport);
  return {
    name: 'kv-accord-sidecar',
    image,
    ...(sidecarKind === 'native' ? { restartPolicy: 'Always' } : {}),
    args: [
      'sidecar',
      `--engine=${engine.url}`,
      ...(engine.kind === undefined ? [] : [`--engine-kind=${engine.kind}`]),
      ...(engine.eventSource === undefined ? [] : [`--kv-event-sources=${engine.eventSource}`]),
      ...(engine.replaySource === undefined ? [] : [`--kv-replay-sources=${engine.replaySource}`]),
      ...(engine.tokensPerBlock === undefined ? [] : [`--tokens-per-block=${engine.tokensPerBlock}`]),
      ...(engine.model === undefined ? [] : [`--model=${engine.model}`]),
      `--listen=0.0.0.0:${GRPC_PORT}`,
      `--http-listen=0.0.0.0:${HTTP_PORT}`,
      ...(transport.type === 'plaintext' ? ['--insecure'] : [...certificates(), '--tls-client-auth=require']),
    ],
    env: [
      { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
      { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      // A label that the pod does not have is an empty text, which says nothing.
      labelled('TOPOLOGY_ZONE', 'topology.kubernetes.io/zone'),
      labelled('TOPOLOGY_REGION', 'topology.kubernetes.io/region'),
      labelled('KV_ACCORD_GPU_CLIQUE', 'nvidia.com/gpu.clique'),
    ],
    ports: [
      { name: 'kva-grpc', containerPort: GRPC_PORT },
      { name: 'kva-http', containerPort: HTTP_PORT },
    ],
    // They ask the sidecar alone: one that waited for the engine would keep the engine from being started.
    startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 60 },
    livenessProbe: { ...probe, periodSeconds: 10, failureThreshold: 3 },
    ...(readyWhenOffered ? { readinessProbe: offeredProbe(transport) } : {}),
    // 70 MB, and 33 bytes for each block that the engine holds.
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    securityContext: SECURITY_CONTEXT,
    ...mounts([], transport),
  };
}

/** The kubelet's gRPC probe speaks plaintext only. */
function sidecarProbe(transport: Transport): Written {
  return transport.type === 'plaintext'
    ? { grpc: { port: GRPC_PORT, service: 'kvaccord.v1.Capabilities' } }
    : { httpGet: { path: '/livez', port: 'kva-http', scheme: 'HTTPS' } };
}

/** In a rolling change it has to pass soon after the frontend decides; a look costs nothing. */
function offeredProbe({ type }: Transport): Written {
  const scheme = type === 'plaintext' ? {} : { scheme: 'HTTPS' };
  return { httpGet: { path: '/readyz?offered', port: 'kva-http', ...scheme }, periodSeconds: 2 };
}

/** An init container that ends when the workers agree. */
export function waitContainer(arguments_: readonly string[], { image, transport }: InjectOptions): Written {
  return {
    name: 'kv-accord-wait',
    image,
    args: ['wait', ...arguments_],
    resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    securityContext: SECURITY_CONTEXT,
    ...mounts([], transport),
  };
}

/** An init container that leaves the program where the frontend's own container finds it. */
export function copyContainer({ image }: InjectOptions): Written {
  return {
    name: 'kv-accord-copy',
    image,
    command: ['cp', '-r', `${PROGRAM_FOLDER}/.`, NODE_IN_IMAGE, `${COPY_FOLDER}/`],
    resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '256Mi' } },
    securityContext: SECURITY_CONTEXT,
    volumeMounts: [{ name: PROGRAM_VOLUME, mountPath: COPY_FOLDER }],
  };
}

/** What stands in front of the frontend's own command. */
export function execCommand(arguments_: readonly string[]): readonly string[] {
  return [`${PROGRAM_FOLDER}/node`, `${PROGRAM_FOLDER}/dist/cli/main.js`, 'exec', ...arguments_, '--'];
}

/** What the frontend's own container mounts to run under `exec`. */
export function execMounts({ transport }: InjectOptions): readonly Written[] {
  const { volumeMounts } = mounts(
    [{ name: PROGRAM_VOLUME, mountPath: PROGRAM_FOLDER, readOnly: true }],
    transport,
  );
  return volumeMounts ?? [];
}

/** The volumes of a pod with a sidecar or a gate. Node and the program take 150 MB. */
export function volumesOf({ transport }: InjectOptions, holdsProgram: boolean): readonly Written[] {
  return [
    ...(holdsProgram ? [{ name: PROGRAM_VOLUME, emptyDir: { sizeLimit: '512Mi' } }] : []),
    ...(transport.type === 'tls'
      ? [{ name: TLS_VOLUME, secret: { secretName: transport.secret, defaultMode: 0o444 } }]
      : []),
  ];
}

/** How long a gate waits, and how it and the sidecars trust each other. */
export function gateArguments(transport: Transport): readonly string[] {
  return [
    `--timeout=${GATE_HOURS}h`,
    ...(transport.type === 'plaintext'
      ? ['--insecure']
      : [...certificates(), `--tls-server-name=${transport.certificateName}`]),
  ];
}

/** Both sides show theirs: who has none of this authority is not answered. */
function certificates(): readonly string[] {
  return ['tls-cert=tls.crt', 'tls-key=tls.key', 'tls-ca=ca.crt'].map(
    (file) => `--${file.replace('=', `=${TLS_FOLDER}/`)}`,
  );
}

function mounts(
  own: readonly Written[],
  transport: Transport,
): { readonly volumeMounts?: readonly Written[] } {
  const all = [
    ...own,
    ...(transport.type === 'tls' ? [{ name: TLS_VOLUME, mountPath: TLS_FOLDER, readOnly: true }] : []),
  ];
  return all.length === 0 ? {} : { volumeMounts: all };
}

/** A variable with a label of the pod, by the downward API. */
function labelled(name: string, label: string): Written {
  return { name, valueFrom: { fieldRef: { fieldPath: `metadata.labels['${label}']` } } };
}
