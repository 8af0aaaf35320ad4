import type { CommandDescription } from '../../command.js';
import { OF_PEERS } from '../../settings/common-settings.js';
import { withSettings } from '../../shared/with-settings.js';

const ownSettings = {
  write: {
    kind: 'boolean',
    group: 'Output',
    help: 'Change the files; with - write the changed text to standard output. Without it nothing is changed.',
  },
  remove: {
    kind: 'boolean',
    group: 'Output',
    help: 'Take out what inject added, and leave every other byte as it is.',
  },
  image: {
    kind: 'string',
    placeholder: 'IMAGE',
    maxLength: 512,
    group: 'What is added',
    defaultHelp: 'kv-accord with the version of this program as its tag',
    help: 'Image of kv-accord.',
  },
  'sidecar-kind': {
    kind: 'enum',
    choices: ['native', 'container'],
    default: 'native',
    group: 'What is added',
    help: 'The sidecar as an init container that stays (Kubernetes 1.29 and later), or as an ordinary container.',
  },
  'ready-when-offered': {
    kind: 'boolean',
    group: 'What is added',
    help: 'Give the sidecar a readiness probe on /readyz?offered: a pod takes the place of another in a rolling change only once a frontend offers its worker.',
  },
  gate: {
    kind: 'enum',
    choices: ['wait', 'exec', 'none'],
    default: 'wait',
    group: 'What is added',
    help: 'What holds frontends back until workers agree: an init container; or kv-accord exec around their program, which also gives it the size and restarts it when the fleet changes.',
  },
  workers: {
    kind: 'list',
    item: 'target',
    defaultHelp: 'the workers of these manifests',
    group: 'Fleet',
    help: 'Where gates find the sidecars.',
  },
  'min-workers': {
    kind: 'integer',
    min: 1,
    max: 100_000,
    words: ['auto'],
    defaultHelp: 'half of the replicas in these manifests; auto for graphs of Dynamo',
    group: 'Fleet',
    help: 'How many workers have to report before a gate opens. Listed ones that are missing are waited for as --on-missing of wait and exec says.',
  },
  'is-worker': {
    kind: 'list',
    item: 'object-name',
    group: 'Fleet',
    help: 'Workloads, or components of a graph, that are workers though their command does not show it.',
  },
  'is-frontend': {
    kind: 'list',
    item: 'object-name',
    group: 'Fleet',
    help: 'Workloads, or components of a graph, that are frontends though their command does not show it.',
  },
  namespace: {
    kind: 'string',
    placeholder: 'NAME',
    maxLength: 63,
    default: 'default',
    group: 'Fleet',
    help: 'The namespace of manifests that name none, for RoleBindings, which must.',
  },
  'tls-secret': {
    kind: 'string',
    placeholder: 'NAME',
    maxLength: 253,
    group: 'TLS',
    help: 'Secret with tls.crt, tls.key and ca.crt that sidecars and gates mount; both sides show their certificates. Or --insecure for plaintext between pods.',
  },
  'certificate-name': {
    kind: 'string',
    placeholder: 'NAME',
    maxLength: 253,
    default: 'kv-accord-workers',
    group: 'TLS',
    help: "The name that the workers' certificates have in common: pods are dialled by addresses that change.",
  },
} as const;

/** A reference to an image: a registry with its port, names in lower case, a tag or a digest or both. */
const IMAGE =
  /^(?:(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:\d+\/))(?::\d{1,5})?\/)?[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-fA-F]{32,})?$/;

/** The settings of `kv-accord inject`. */
export const injectSettings: typeof ownSettings & typeof withSettings = { ...ownSettings, ...withSettings };

/** `kv-accord inject`. */
export const injectDescription: CommandDescription<typeof injectSettings> = {
  name: 'inject',
  summary: 'Add sidecars and gates to Kubernetes manifests, and show the change first',
  description:
    'Adds the sidecar to workers and the gate to frontends of Deployments, StatefulSets, DaemonSets, LeaderWorkerSets, DynamoGraphDeployments and pod specs inside other kinds (RoleBasedGroup, StormService, InferenceService, RayService…). Prints the change as a unified diff and changes nothing without --write; a second run changes nothing. Exit codes: 0 nothing to change or done, 1 there are changes and no --write, 2 bad usage, or a file that cannot be changed.',
  operands: {
    syntax: '<FILE...>',
    help: 'manifests, folders with *.yaml, *.yml and *.json, or - for standard input',
  },
  settings: injectSettings,
  unread: OF_PEERS,
  examples: [
    { says: 'What would be added', line: 'kv-accord inject --insecure deploy/' },
    { says: 'Add it', line: 'kv-accord inject --tls-secret kv-accord-tls --write deploy/graph.yaml' },
    {
      says: 'On the way to the cluster',
      line: 'kustomize build . | kv-accord inject --insecure --write - | kubectl apply -f -',
    },
    { says: 'Take it out again', line: 'kv-accord inject --remove --write deploy/' },
  ],
  check({ remove, tlsSecret, insecure, image, namespace }, reject) {
    const problem = `a name of lower-case letters, digits, - and .`;
    if (image !== undefined && !IMAGE.test(image))
      throw reject('image', 'a reference to an image, such as registry.example/kv-accord:0.1.0');
    if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace)) throw reject('namespace', problem);
    if (tlsSecret !== undefined && !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(tlsSecret))
      throw reject('tls-secret', problem);
    if (remove) return;
    if (tlsSecret === undefined && !insecure)
      throw reject(
        'tls-secret',
        'the Secret with the certificates of sidecars and gates, unless there is --insecure for plaintext between pods',
      );
    if (tlsSecret !== undefined && insecure) throw reject('tls-secret', 'left out with --insecure');
  },
};
