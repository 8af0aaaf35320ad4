import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { problemsOf } from '../deploy/manifest-problems.js';
import {
  asNode,
  deployFiles,
  type Node,
  nodesOf,
  objectsOf,
  type Placed,
  podTemplatesOf,
  repositoryFile,
} from '../deploy/manifests.js';
import { installGatewayCrds } from './support/gateway-crds.js';
import { helm } from './support/helm.js';
import { type Kube, startKube } from './support/kube.js';
import { kubeconform, writeKubeSchemas } from './support/kube-schemas.js';
import { lacks, peerPath } from './support/peers.js';
import { run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';
import { SMALL_CRDS } from './support/small-crds.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const chart = join(root, 'deploy/helm/kv-accord');

/** Every folder that is meant for `kubectl apply -k`. */
const kustomizations = deployFiles('kustomization.yaml')
  .filter((file) => /^deploy\/(kustomize\/overlays|examples)\//.test(file))
  .map((file) => file.replace('/kustomization.yaml', ''));

/** Values for the chart, each with what it is for. */
const values: Readonly<Record<string, Node>> = {
  'as they are': {},
  'an aggregator': { component: 'aggregator', replicas: 1, extraArgs: ['--collect-timeout=30s'] },
  'all that can be secured': {
    tls: { secretName: 'kv-accord-tls', clientAuth: 'request' },
    token: { secretName: 'kv-accord-token' },
    apiKeys: { secretName: 'kv-accord-api-keys' },
    monitoring: { enabled: true, labels: { release: 'prometheus' } },
    imagePullSecrets: [{ name: 'registry' }],
  },
  'pods of another namespace': {
    workers: { find: 'pods', min: 'auto', namespace: 'workers', labels: { app: 'vllm' } },
    image: { repository: 'registry.example/team/kv-accord', digest: `sha256:${'a'.repeat(64)}` },
    networkPolicy: { enabled: true },
    podLabels: { team: 'a' },
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    tolerations: [{ key: 'cpu-only', operator: 'Exists' }],
    extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=2048' }],
  },
  'a graph of Dynamo': {
    workers: { find: 'graph', graph: 'vllm-agg', min: 'auto' },
    monitoring: { enabled: true },
  },
  'a list': {
    workers: { find: 'targets', targets: ['dns:///workers:50061', '10.0.0.5:50061'], min: 4 },
    serviceAccount: { create: false },
    podDisruptionBudget: { enabled: false },
    networkPolicy: { enabled: false },
    preStopSeconds: 0,
    drainTimeoutSeconds: 600,
  },
  'the number of workers from their Deployment': { workers: { min: 'auto' } },
  'everything that a cluster may want beside it': {
    workers: { min: 4, onMissing: 'proceed', collectTimeout: '2m', blockSizePolicy: 'rehash' },
    expectedModels: ['meta-llama/Llama-3.1-8B-Instruct', 'qwen3'],
    extraVolumes: [{ name: 'scratch', emptyDir: {} }],
    extraVolumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
    extraObjects: [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: '{{ include "kv-accord.fullname" . }}-extra' },
        data: { component: '{{ .Values.component }}' },
      },
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-text\n',
    ],
    autoscaling: {
      enabled: true,
      minReplicas: 3,
      maxReplicas: 9,
      targetMemoryUtilizationPercentage: 80,
      metrics: [
        {
          type: 'Pods',
          pods: { metric: { name: 'requests' }, target: { type: 'AverageValue', averageValue: '64' } },
        },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
    },
    ingress: {
      enabled: true,
      className: 'nginx',
      annotations: { 'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600' },
      hosts: [{ host: 'llm.example' }, { host: '*.example', paths: [{ path: '/v1', pathType: 'Prefix' }] }],
      tls: [{ secretName: 'llm-tls', hosts: ['llm.example'] }],
    },
    httpRoute: {
      enabled: true,
      parentRefs: [{ name: 'public', namespace: 'gateways' }],
      hostnames: ['llm.example'],
      timeouts: { request: '0s' },
    },
    tracing: {
      endpoint: 'http://otel-collector.monitoring:4318',
      sampler: 'parentbased_traceidratio',
      samplerArg: '0.1',
      resourceAttributes: { 'deployment.environment': 'test' },
      headers: { secretName: 'collector' },
    },
    monitoring: {
      enabled: true,
      alerts: {
        enabled: true,
        disabled: ['KvAccordNotExact'],
        labels: { team: 'serving' },
        runbookBase: 'https://git.example/kv-accord/blob/main/',
      },
      recording: { enabled: true },
      dashboards: { enabled: true, annotations: { grafana_folder: 'Inference' } },
    },
    engines: {
      apiKey: { secretName: 'engine-key' },
      keyHosts: ['10.0.0.0/8', '*.engines.example'],
      tlsCa: { secretName: 'engine-ca' },
    },
  },
  'an Endpoint Picker beside the frontend': {
    epp: { enabled: true, pool: { targetPorts: [8000, 8001] }, extraArgs: ['--max-requests-per-worker=64'] },
    workers: { min: 'auto' },
    tls: { secretName: 'kv-accord-tls' },
    token: { secretName: 'kv-accord-token' },
  },
  'an Endpoint Picker alone, which only watches': {
    component: 'none',
    epp: { enabled: true, shadow: true, secureServing: false, pool: { create: false, name: 'llama' } },
  },
  'nothing but the template': { component: 'none' },
};

describe.skipIf(lacks('kube'))('manifests on a real API server', () => {
  let kube: Kube;

  beforeAll(async () => {
    kube = await startKube();
    await kube.apply(SMALL_CRDS);
    await installGatewayCrds(kube, 'inferencepools-v1', 'httproutes');
    for (const name of ['kv', 'workers']) await kube.apply([restrictedNamespace(name)]);
  });
  afterAll(() => kube.stop());

  /** What the server says of objects in a namespace where only restricted pods may be. */
  async function dryRun(objects: readonly Node[]): Promise<string> {
    const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    const { status, stderr } = await kube.kubectl(
      ['apply', '--dry-run=server', '-n', 'kv', '-f', '-'],
      stdin,
    );
    return status === 0 ? stderr : `refused: ${stderr}`;
  }

  /** The objects as they are, and each pod template as a pod, whose rights are looked at only then. */
  async function expectTaken(placed: readonly Placed[]): Promise<void> {
    if (placed.length === 0) return;
    const objects = placed.map(({ object }) => object);
    const templates = placed.flatMap(podTemplatesOf);
    expect(await dryRun(objects)).toBe('');
    if (templates.length > 0)
      expect(await dryRun(templates.map(({ spec }, index) => toPod(spec, index)))).toBe('');
    for (const template of templates) expect(await problemsOf(template)).toEqual([]);
  }

  test.each(kustomizations)('kubectl apply -k %s', async (folder) => {
    const { status, stdout, stderr } = await run(peerPath('kube', 'kubectl'), [
      'kustomize',
      join(root, folder),
    ]);
    expect([status, stderr]).toEqual([0, '']);
    const placed = objectsOf(folder, stdout);
    expect(placed.length).toBeGreaterThan(0);
    await expectTaken(placed);
  });

  test.each(deployFiles('.yaml').filter((file) => file.startsWith('deploy/examples/dynamo/')))(
    'kubectl apply -f %s',
    async (file) => {
      await expectTaken(objectsOf(file, repositoryFile(file)));
    },
  );

  test.skipIf(lacks('helm')).each(Object.entries(values))('helm template with %s', async (name, given) => {
    const placed = objectsOf(name, await render(chart, given));
    await expectTaken(placed.filter(({ object }) => asNode(object['metadata'])?.['namespace'] !== 'workers'));
    for (const { object } of placed) {
      const namespace = asNode(object['metadata'])?.['namespace'];
      if (namespace === 'workers') expect(await dryRunIn('workers', object)).toBe('');
    }
  });

  async function dryRunIn(namespace: string, object: Node): Promise<string> {
    const { stderr } = await kube.kubectl(
      ['apply', '--dry-run=server', '-n', namespace, '-f', '-'],
      JSON.stringify(object),
    );
    return stderr;
  }

  test('the check can fail: a misspelt field, a wrong number, a pod with too many rights', async () => {
    const [example] = objectsOf('vllm', repositoryFile('deploy/examples/vllm/workers/deployment.yaml'));
    const [template] = example === undefined ? [] : podTemplatesOf(example);
    const spec = template?.spec ?? {};
    const [container] = nodesOf(spec['containers']);
    expect(await dryRun([toPod({ ...spec, containers: [{ ...container, comand: ['x'] }] }, 0)])).toContain(
      'comand',
    );
    const privileged = { ...container, securityContext: { privileged: true } };
    const refused = await dryRun([toPod({ ...spec, containers: [privileged] }, 0)]);
    expect(refused).toContain('violates PodSecurity "restricted:latest"');
    const file = 'deploy/examples/dynamo/v1beta1/vllm-agg.yaml';
    const graph = repositoryFile(file).replace('replicas: 2', 'replicas: -1');
    expect(await dryRun(objectsOf(file, graph).map(({ object }) => object))).toContain(
      'should be greater than or equal to 0',
    );
    const unknown = repositoryFile(file).replace('replicas: 2', 'replica: 2');
    expect(await dryRun(objectsOf(file, unknown).map(({ object }) => object))).toContain(
      'unknown field "replica"',
    );
  });

  test('the service account may do what its discovery needs, and nothing else', async () => {
    const { stdout } = await run(peerPath('kube', 'kubectl'), [
      'kustomize',
      join(root, 'deploy/kustomize/base/access'),
    ]);
    const { status, stderr } = await kube.kubectl(['apply', '-n', 'kv', '-f', '-'], stdout);
    expect([status, stderr]).toEqual([0, '']);
    expect(await may('watch', 'endpointslices.discovery.k8s.io', 'kv')).toBe('yes');
    expect(await may('watch', 'endpointslices.discovery.k8s.io', 'workers')).toBe('no');
    expect(await may('get', 'endpointslices.discovery.k8s.io', 'kv')).toBe('no');
    expect(await may('list', 'pods', 'kv')).toBe('no');
    expect(await may('get', 'secrets', 'kv')).toBe('no');
    expect(await may('create', 'endpointslices.discovery.k8s.io', 'kv')).toBe('no');
  });

  async function may(verb: string, what: string, namespace: string): Promise<string> {
    const { stdout } = await kube.kubectl([
      ...['auth', 'can-i', verb, what, '-n', namespace],
      '--as=system:serviceaccount:kv:kv-accord',
    ]);
    return stdout.trim();
  }

  test.skipIf(lacks('helm'))(
    'helm install says what to look at, and helm uninstall leaves nothing',
    async () => {
      const cluster = ['--kubeconfig', kube.kubeconfig, '--namespace', 'kv'];
      const { status, stdout, stderr } = await helm(['install', 'test', chart, ...cluster]);
      expect([status, stderr]).toEqual([0, '']);
      const notes = stdout.slice(stdout.indexOf('NOTES:'));
      expect(notes).toContain('kubectl -n kv exec deploy/test-kv-accord -- kv-accord status');
      expect(notes).toContain('workers.min is 1');
      expect(notes).toContain('kv-accord/worker: "true"');
      expect(notes).toContain('Plaintext between pods');
      const kinds =
        'deployments,services,networkpolicies,roles,rolebindings,poddisruptionbudgets,serviceaccounts';
      const left = ['get', kinds, '-n', 'kv', '-l', 'app.kubernetes.io/instance=test', '-o', 'name'];
      expect((await kube.kubectl(left)).stdout.trim().split('\n')).toHaveLength(10);
      expect(await helm(['upgrade', 'test', chart, ...cluster, '--set', 'replicas=3'])).toMatchObject({
        status: 0,
      });
      expect(await helm(['uninstall', 'test', ...cluster])).toMatchObject({ status: 0 });
      expect((await kube.kubectl(left)).stdout).toBe('');
    },
  );

  test.skipIf(lacks('helm'))(
    'helm upgrade with another component is refused before it changes anything',
    async () => {
      const cluster = ['--kubeconfig', kube.kubeconfig, '--namespace', 'kv'];
      expect(await helm(['install', 'fixed', chart, ...cluster])).toMatchObject({ status: 0 });
      const service = [
        'get',
        'service',
        'fixed-kv-accord-status',
        '-n',
        'kv',
        '-o',
        'jsonpath={.spec.selector}',
      ];
      const before = await kube.kubectl(service);
      const { status, stderr } = await helm([
        ...['upgrade', 'fixed', chart, ...cluster],
        ...['--set', 'component=aggregator'],
      ]);
      expect(status).toBe(1);
      expect(stderr).toContain(
        'component cannot be changed from frontend to aggregator in an upgrade, and nothing was changed',
      );
      expect(await kube.kubectl(service)).toEqual(before);
      // Two releases in one namespace.
      expect(
        await helm(['install', 'second', chart, ...cluster, '--set', 'component=aggregator']),
      ).toMatchObject({
        status: 0,
      });
      for (const name of ['fixed', 'second'])
        expect(await helm(['uninstall', name, ...cluster])).toMatchObject({ status: 0 });
    },
  );

  test.skipIf(lacks('kubeconform'))(
    'kubeconform takes them without a server, and finds what is wrong',
    async () => {
      const schemas = await writeKubeSchemas(kube);
      const files = await Promise.all(
        kustomizations.map(async (folder, index) => {
          const { stdout } = await run(peerPath('kube', 'kubectl'), ['kustomize', join(root, folder)]);
          return written(`kustomization-${index}.yaml`, stdout);
        }),
      );
      const ignored = [
        'ServiceMonitor',
        'PodMonitor',
        'PrometheusRule',
        'DynamoGraphDeployment',
        'InferencePool',
        'HTTPRoute',
      ];
      const { status, stdout } = await kubeconform(schemas, files, ignored);
      expect(stdout).toContain('Invalid: 0, Errors: 0');
      expect(status).toBe(0);
      const text = repositoryFile('deploy/examples/vllm/workers/deployment.yaml');
      const bad = await kubeconform(
        schemas,
        [written('bad.yaml', text.replace('image:', 'imagge:'))],
        ignored,
      );
      expect(bad.stdout).toContain('imagge');
      expect(bad.status).toBe(1);
    },
  );
});

describe.skipIf(lacks('helm'))('the chart', () => {
  test.each(Object.entries(values))('helm lint with %s', async (_, given) => {
    const { status, stdout, stderr } = await helm(['lint', '--strict', chart, '--values', valuesFile(given)]);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('0 chart(s) failed');
  });

  const refused: readonly (readonly [string, Node, string])[] = [
    ['a name that is not known', { replica: 3 }, "additional properties 'replica' not allowed"],
    ['a word that is none of them', { component: 'router' }, "'frontend', 'aggregator', 'none'"],
    ['a number that is too small', { workers: { min: 0 } }, "at '/workers/min': minimum: got 0, want 1"],
    [
      'a way to find workers that there is not',
      { workers: { find: 'services' } },
      "at '/workers/find': value must be one of 'service', 'pods', 'graph', 'targets'",
    ],
    [
      'auto with a list',
      { workers: { find: 'targets', targets: ['a:1'], min: 'auto' } },
      'workers.min is auto, and workers.find is targets, which names no workload to count by',
    ],
    ['a graph without a name', { workers: { find: 'graph' } }, 'workers.graph is empty: set it to the name'],
    ['an empty list', { workers: { find: 'targets' } }, 'workers.targets is empty: list them'],
    [
      'a list that would be ignored',
      { workers: { targets: ['a:1'] } },
      'workers.targets is given, and workers.find is service: set workers.find=targets',
    ],
    [
      'a graph that would be ignored',
      { workers: { graph: 'vllm-agg' } },
      'workers.graph is given, and workers.find is service: set workers.find=graph',
    ],
    [
      'an Ingress before an aggregator',
      { component: 'aggregator', ingress: { enabled: true, hosts: [{ host: 'a.example' }] } },
      'ingress.enabled is set, and component is aggregator: only the frontend serves requests',
    ],
    ['a route to no Gateway', { httpRoute: { enabled: true } }, 'httpRoute.parentRefs is empty'],
    ['an Ingress for no host', { ingress: { enabled: true } }, 'ingress.hosts is empty'],
    [
      'fewer pods at most than at least',
      { autoscaling: { enabled: true, minReplicas: 5, maxReplicas: 2 } },
      'autoscaling.minReplicas is 5, more than autoscaling.maxReplicas, which is 2',
    ],
    [
      'an alert that there is not',
      { monitoring: { alerts: { enabled: true, disabled: ['KvAccordNone'] } } },
      'there is no alert "KvAccordNone"; there are KvAccordNoWorkers',
    ],
    [
      'a policy that there is not',
      { workers: { blockSizePolicy: 'lcm' } },
      "at '/workers/blockSizePolicy': value must be one of 'refuse', 'rehash'",
    ],
    ['a size in other units', { indexMemory: '2G' }, "at '/indexMemory'"],
    ['a text for a number', { replicas: '2' }, "at '/replicas': got string, want integer"],
    ['a digest that is none', { image: { digest: 'sha256:1' } }, "at '/image/digest'"],
    ['workers without a label', { workers: { labels: null } }, 'workers.labels must have a label'],
    ['an argument that is no flag', { extraArgs: ['min-workers=2'] }, "at '/extraArgs/0'"],
  ];
  test.each(refused)('refuses %s in words', async (_, given, words) => {
    const { status, stderr } = await helm(['template', 'test', chart, '--values', valuesFile(given)]);
    expect(status).toBe(1);
    expect(stderr).toContain(words);
  });

  test('has the same alerts as Kustomize, but for those that are left out', async () => {
    const ruleOf = (placed: readonly Placed[]): Node =>
      asNode(placed.find(({ object }) => object['kind'] === 'PrometheusRule')?.object['spec']) ?? {};
    const file = 'deploy/kustomize/components/alerts/prometheus-rule.yaml';
    const plain = { monitoring: { alerts: { enabled: true } } };
    expect(ruleOf(objectsOf('plain', await render(chart, plain)))).toEqual(
      ruleOf(objectsOf(file, repositoryFile(file))),
    );
    const given = values['everything that a cluster may want beside it'] ?? {};
    const text = JSON.stringify(ruleOf(objectsOf('more', await render(chart, given))));
    expect(text).not.toContain('"KvAccordNotExact"');
    expect(text).toContain('"team":"serving"');
    expect(text).toContain('https://git.example/kv-accord/blob/main/docs/runbooks.md#kvaccordgone');
  });

  test('has the recording rules of Kustomize, and the dashboards as they lie in deploy/grafana', async () => {
    const given = { monitoring: { recording: { enabled: true }, dashboards: { enabled: true } } };
    const placed = objectsOf('recording', await render(chart, given));
    const kept = (kind: string): Node | undefined =>
      placed.find(({ object }) => object['kind'] === kind && JSON.stringify(object).includes('kv_accord'))
        ?.object;
    const file = 'deploy/kustomize/components/alerts/recording-rule.yaml';
    expect(kept('PrometheusRule')?.['spec']).toEqual(
      objectsOf(file, repositoryFile(file))[0]?.object['spec'],
    );
    const map = kept('ConfigMap');
    expect(asNode(asNode(map?.['metadata'])?.['labels'])).toMatchObject({ grafana_dashboard: '1' });
    expect(map?.['data']).toEqual(
      Object.fromEntries(
        ['overview', 'routing', 'worker'].map((name) => [
          `${name}.json`,
          repositoryFile(`deploy/grafana/${name}.json`),
        ]),
      ),
    );
  });

  test('lets OpenShift choose the user: null takes a field out', async () => {
    const given = { podSecurityContext: { runAsUser: null, runAsGroup: null } };
    const [template] = objectsOf('openshift', await render(chart, given)).flatMap(podTemplatesOf);
    expect(JSON.stringify(template?.spec)).not.toContain('runAsUser');
    expect(template?.spec['securityContext']).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  test('lets workers of different block sizes agree where it is asked to, and gives no flag where it is not', async () => {
    const flag = '--block-size-policy';
    expect(await render(chart, { workers: { blockSizePolicy: 'rehash' } })).toContain(`- ${flag}=rehash\n`);
    for (const workers of [{}, { blockSizePolicy: 'refuse' }, { blockSizePolicy: null }])
      expect(await render(chart, { workers })).not.toContain(flag);
  });

  test('leaves the number of pods to the autoscaler', async () => {
    const placed = objectsOf('hpa', await render(chart, { autoscaling: { enabled: true } }));
    const deployment = placed.find(({ object }) => object['kind'] === 'Deployment');
    expect(asNode(deployment?.object['spec'])?.['replicas']).toBeUndefined();
  });

  test('has names of its own for every release, however long, and in a namespace that releases share', async () => {
    const namesOf = async (release: string, namespace: string, given: Node): Promise<Set<string>> => {
      const args = ['template', release, chart, '--namespace', namespace, '--kube-version', '1.35.4'];
      const { stdout } = await helm([...args, '--values', valuesFile(given)]);
      return new Set(
        objectsOf(release, stdout).map(({ object }) => {
          const { name, namespace: own = namespace } = asNode(object['metadata']) ?? {};
          return `${String(object['kind'])} ${String(own)}/${String(name)}`;
        }),
      );
    };
    const everything = { monitoring: { enabled: true, alerts: { enabled: true } } };
    const long = 'a-release-of-the-serving-team-that-is-long';
    const shared = { ...everything, workers: { namespace: 'workers' } };
    for (const [one, other] of [
      [await namesOf('one', 'kv', everything), await namesOf('two', 'kv', everything)],
      [await namesOf(`${long}-1`, 'kv', everything), await namesOf(`${long}-2`, 'kv', everything)],
      [await namesOf('kv-accord', 'team-a', shared), await namesOf('kv-accord', 'team-b', shared)],
    ] as const) {
      expect(one.size).toBeGreaterThan(10);
      expect([...one].filter((name) => other.has(name))).toEqual([]);
    }
  });

  test('gives other charts the sidecar as a template', async () => {
    const around = mkdtempSync(join(scratchFolder(), 'chart-'));
    cpSync(chart, join(around, 'charts/kv-accord'), { recursive: true });
    mkdirSync(join(around, 'templates'));
    writeFileSync(join(around, 'Chart.yaml'), 'apiVersion: v2\nname: workers\nversion: 1.0.0\n');
    writeFileSync(join(around, 'values.yaml'), 'kv-accord:\n  component: none\n');
    writeFileSync(join(around, 'templates/pods.yaml'), PODS);
    const placed = objectsOf('around', await render(around, {}));
    const [native, plain] = placed.flatMap(podTemplatesOf);
    if (native === undefined || plain === undefined) throw new Error('two pods were to be made');
    for (const template of [native, plain]) expect(await problemsOf(template)).toEqual([]);
    // The same as that of Kustomize, but for what was given.
    const [component] = objectsOf(
      '',
      repositoryFile('deploy/kustomize/components/worker-sidecar/deployment.yaml'),
    );
    const [own] = nodesOf(
      component === undefined ? [] : podTemplatesOf(component)[0]?.spec['initContainers'],
    );
    const [made] = nodesOf(native.spec['initContainers']);
    for (const field of [
      'name',
      'image',
      'restartPolicy',
      'ports',
      'startupProbe',
      'livenessProbe',
      'resources',
    ])
      expect(made?.[field], field).toEqual(own?.[field]);
    expect(made?.['securityContext']).toEqual(own?.['securityContext']);
    const [secured] = nodesOf(plain.spec['containers']);
    expect(secured?.['restartPolicy']).toBeUndefined();
    expect(JSON.stringify(secured?.['args'])).toContain('--tls-client-auth=require');
    expect(secured?.['env']).toContainEqual({ name: 'NODE_OPTIONS', value: '--max-old-space-size=256' });
    expect(secured?.['volumeMounts']).toContainEqual({ name: 'scratch', mountPath: '/scratch' });
    expect(secured?.['securityContext']).not.toHaveProperty('runAsGroup');
    expect(secured?.['securityContext']).toHaveProperty('runAsUser', 65_532);
    expect(plain.spec['volumes']).toEqual([
      { name: 'kv-accord-tls', secret: { secretName: 'kv-accord-workers-tls' } },
      { name: 'kv-accord-engine-tls-ca', secret: { secretName: 'engine-ca' } },
    ]);
  });

  const PODS = `
{{- $security := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") }}
apiVersion: v1
kind: Pod
metadata: { name: native }
spec:
  initContainers:
    {{- include "kv-accord.sidecar" (dict "engine" "http://127.0.0.1:30000" "engineKind" "sglang") | nindent 4 }}
---
apiVersion: v1
kind: Pod
metadata: { name: plain }
spec:
  {{- $sidecar := dict "native" false "tlsSecretName" "kv-accord-workers-tls" "extraArgs" (list "--log-level=debug") }}
  {{- $env := list (dict "name" "NODE_OPTIONS" "value" "--max-old-space-size=256") }}
  {{- $mounts := list (dict "name" "scratch" "mountPath" "/scratch") }}
  {{- $sidecar = merge $sidecar (dict "extraEnv" $env "extraVolumeMounts" $mounts "securityContext" (dict "runAsGroup" nil) "engineTlsCaSecretName" "engine-ca") }}
  containers:
    {{- include "kv-accord.sidecar" $sidecar | nindent 4 }}
  volumes:
    {{- include "kv-accord.sidecarVolumes" $sidecar | nindent 4 }}
`;
});

async function render(folder: string, given: Node): Promise<string> {
  const args = ['template', 'test', folder, '--namespace', 'kv', '--kube-version', '1.35.4'];
  const { status, stdout, stderr } = await helm([...args, '--values', valuesFile(given)]);
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
}

function valuesFile(given: Node): string {
  return written('values.yaml', stringify(given));
}

function written(name: string, text: string): string {
  const file = join(mkdtempSync(join(scratchFolder(), 'manifests-')), name);
  writeFileSync(file, text);
  return file;
}

function toPod(spec: Node, index: number): Node {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${index}` }, spec };
}

/** Only restricted pods are let in, and of workloads that would make others the server warns. */
function restrictedNamespace(name: string): object {
  const labels = Object.fromEntries(
    ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
  );
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}
