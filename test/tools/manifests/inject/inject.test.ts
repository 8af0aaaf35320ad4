import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  type InjectResult,
  injectManifests,
  removeFromManifests,
} from '../../../../src/tools/manifests/inject/inject.js';
import type { InjectOptions } from '../../../../src/tools/manifests/inject/options.js';
import { readMaterial } from '../../../../src/tools/manifests/lint/facts/material.js';
import { readLaunches } from '../../../../src/tools/manifests/lint/launches/read-launches.js';
import { readPodSites } from '../../../../src/tools/manifests/read-pod-sites.js';
import { readSourceFile } from '../../../../src/tools/manifests/source-file.js';
import { propertyRuns } from '../../../support/property-runs.js';
import { DEFAULT_INJECT_OPTIONS } from './inject-options.js';
import { randomManifest } from './random-manifest.js';

const EVERY_WAY: readonly InjectOptions[] = [
  DEFAULT_INJECT_OPTIONS,
  { ...DEFAULT_INJECT_OPTIONS, gate: 'exec', sidecarKind: 'container', readyWhenOffered: true },
  {
    ...DEFAULT_INJECT_OPTIONS,
    transport: { type: 'tls', secret: 'certificates', certificateName: 'workers' },
  },
  {
    ...DEFAULT_INJECT_OPTIONS,
    gate: 'exec',
    transport: { type: 'tls', secret: 'certificates', certificateName: 'workers' },
  },
  {
    ...DEFAULT_INJECT_OPTIONS,
    workers: ['k8s:///workers:50061'],
    image: 'registry.example/kv-accord@sha256:00',
  },
];

function inject(text: string, options: Partial<InjectOptions> = {}): InjectResult {
  return injectManifests([{ file: 'x.yaml', text }], { ...DEFAULT_INJECT_OPTIONS, ...options });
}

/** The text after, of a file that must not be refused. */
function injected(text: string, options: Partial<InjectOptions> = {}): string {
  const { files, refused } = inject(text, options);
  expect(refused).toEqual([]);
  return files[0]?.after ?? '';
}

function removed(text: string): string {
  const { files, refused } = removeFromManifests([{ file: 'x.yaml', text }]);
  expect(refused).toEqual([]);
  return files[0]?.after ?? '';
}

// biome-ignore lint/suspicious/noExplicitAny: manifests are looked at as they are.
function objects(text: string): any[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS())
    .filter((object) => object !== null);
}

const FOLDER = fileURLToPath(new URL('../../../fixtures/manifests/inject/', import.meta.url));
const FIXTURES = readdirSync(FOLDER).map((name): [string, string] => [
  name,
  readFileSync(FOLDER + name, 'utf8'),
]);

describe('every shape of manifest', () => {
  it.each(FIXTURES)(
    '%s comes back byte for byte, and is brought up to date by a run with any options',
    (_, text) => {
      const fresh = EVERY_WAY.map((options) => injected(text, options));
      for (const after of fresh) {
        expect(after).not.toBe(text);
        expect(removed(after)).toBe(text);
        expect(readSourceFile('x.yaml', after).problems).toEqual([]);
        // Those of the run before are among them, with which nothing changes.
        for (const [at, options] of EVERY_WAY.entries()) expect(injected(after, options)).toBe(fresh[at]);
      }
    },
  );

  it('keeps every line outside of its blocks, whatever the style', () => {
    fc.assert(
      fc.property(randomManifest, fc.constantFrom(...EVERY_WAY), (text, options) => {
        const { files, refused } = inject(text, options);
        expect(refused).toEqual([]);
        const after = files[0]?.after ?? '';
        expect(after).not.toBe(text);
        expect(removed(after)).toBe(text);
        expect(injected(after, options)).toBe(after);
        expect(objects(after).length).toBeGreaterThanOrEqual(objects(text).length);
      }),
      { numRuns: propertyRuns(30) },
    );
  });
});

/** A Deployment with one container. */
function deployment(name: string, container: string, more = ''): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
spec:
  replicas: 3
  selector:
    matchLabels: {app: ${name}}
  template:
    metadata:
      labels: {app: ${name}}
    spec:
      containers:
      - name: ${name}
        image: registry.example/${name}:1
${container.replace(/^/gm, '        ')}
${more}`;
}

const VLLM = deployment('vllm', 'command: [vllm, serve, tiny]');
const FRONTEND = deployment('frontend', 'command: [python3, -m, dynamo.frontend]');
const SET = `${VLLM}---\n${FRONTEND}`;

function notesOf(text: string, options: Partial<InjectOptions> = {}): readonly string[] {
  return inject(text, options).notes.map((note) => `${note.line} ${note.type}: ${note.text}`);
}

function fixture(name: string): string {
  return readFileSync(FOLDER + name, 'utf8');
}

describe('the sidecar', () => {
  it('is a native sidecar whose probes ask itself and never the engine', () => {
    const [{ spec }] = objects(injected(VLLM));
    const [sidecar] = spec.template.spec.initContainers;
    expect(sidecar).toMatchObject({
      name: 'kv-accord-sidecar',
      image: 'kv-accord:1.2.3',
      restartPolicy: 'Always',
      startupProbe: { grpc: { port: 50061, service: 'kvaccord.v1.Capabilities' } },
      securityContext: { runAsNonRoot: true, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    });
    expect(sidecar.args).toContain('--insecure');
    expect(sidecar.env[0]).toEqual({
      name: 'POD_UID',
      valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } },
    });
  });

  it('is an ordinary container when asked', () => {
    const [{ spec }] = objects(injected(VLLM, { sidecarKind: 'container' }));
    const { containers, initContainers } = spec.template.spec;
    expect(initContainers).toBeUndefined();
    expect(containers.map(({ name }: { name: string }) => name)).toEqual(['vllm', 'kv-accord-sidecar']);
    expect(containers[1]).not.toHaveProperty('restartPolicy');
  });

  it.each([
    ['vLLM', 'command: [vllm, serve, tiny]', '--engine=http://127.0.0.1:8000'],
    ['vLLM on another port', 'command: [vllm, serve, tiny, --port=8100]', '--engine=http://127.0.0.1:8100'],
    [
      'vLLM on a port of its environment',
      'command: [vllm, serve, tiny, --port, $(PORT)]\nenv: [{name: PORT, value: "81"}]',
      '--engine=http://127.0.0.1:81',
    ],
    [
      'vLLM on a port that only the run knows',
      'command: [sh, -c, "vllm serve tiny --port $PORT"]',
      '--engine=auto',
    ],
    ['vLLM behind TLS', 'command: [vllm, serve, tiny, --ssl-keyfile, k]', '--engine=auto'],
    ['SGLang', 'command: [python3, -m, sglang.launch_server]', '--engine=http://127.0.0.1:30000'],
    [
      'TensorRT-LLM in a script',
      'command: [bash, -c]\nargs: ["exec trtllm-serve tiny --port 8200"]',
      '--engine=http://127.0.0.1:8200',
    ],
    [
      'Dynamo with a system port',
      'command: [python3, -m, dynamo.vllm]\nenv: [{name: DYN_SYSTEM_PORT, value: "8081"}]',
      '--engine=http://127.0.0.1:8081',
    ],
  ])('asks %s where it answers', (_, container, argument) => {
    const [{ spec }] = objects(injected(deployment('engine', container)));
    expect(spec.template.spec.initContainers[0].args).toContain(argument);
  });

  it('declares for a Dynamo worker what its system port does not report', () => {
    const [graph] = objects(injected(fixture('graph-v1beta1.yaml')));
    const [, decode, prefill] = graph.spec.components;
    expect(decode.podTemplate.spec.initContainers[0].args).toEqual([
      'sidecar',
      '--engine=http://127.0.0.1:9190',
      '--engine-kind=dynamo',
      '--kv-event-sources=tcp://127.0.0.1:5557',
      '--kv-replay-sources=tcp://127.0.0.1:5567',
      '--tokens-per-block=32',
      '--model=tiny',
      '--listen=0.0.0.0:50061',
      '--http-listen=0.0.0.0:9464',
      '--insecure',
    ]);
    expect(prefill.podTemplate.spec.initContainers[0].args).toContain('--engine=http://127.0.0.1:9090');
  });

  it('declares no size of an engine whose file is unseen, and says where it stands', () => {
    const worker = (command: string): string =>
      `apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {name: g}\nspec:\n  services:\n    Frontend: {componentType: frontend}\n    Worker:\n      componentType: worker\n      extraPodSpec:\n        mainContainer:\n          image: i\n          command: [python3, -m, dynamo.trtllm, ${command}]\n`;
    const unseen = worker('--extra-engine-args, /etc/trtllm/engine.yaml');
    const run = (text: string, engine?: string): InjectResult =>
      injectManifests(
        [{ file: 'a.yaml', text }],
        DEFAULT_INJECT_OPTIONS,
        engine === undefined ? [] : [{ file: 'x/engine.yaml', text: engine, paths: [] }],
      );
    const without = run(unseen);
    expect(without.files[0]?.after).toContain('--engine-kind=dynamo');
    expect(without.files[0]?.after).not.toContain('--tokens-per-block');
    expect(without.notes.map(({ text }) => text).join('\n')).toMatch(
      /takes its block size from \/etc\/trtllm\/engine\.yaml \(--extra-engine-args\).*--with FILE/,
    );
    expect(run(unseen, 'kv_cache_config: {tokens_per_block: 64}\n').files[0]?.after).toContain(
      '--tokens-per-block=64',
    );
    expect(run(worker('--kv-block-size, "64"')).files[0]?.after).toContain('--tokens-per-block=');
  });

  it('makes nothing of an event configuration that is beyond the bounds of foreign JSON', () => {
    const many = `{"x": [${'0,'.repeat(140_000)}0], "publisher": "zmq", "endpoint"`;
    const text = fixture('graph-v1beta1.yaml').replace('{"publisher": "zmq", "endpoint"', many);
    expect(text).toContain(many);
    const [graph] = objects(injected(text));
    const args = graph.spec.components[1].podTemplate.spec.initContainers[0].args.join(' ');
    expect(args).toContain('--engine-kind=dynamo');
    expect(args).not.toContain('--kv-event-sources');
  });

  it('shows certificates and asks for them with TLS, and is probed by HTTPS', () => {
    const transport = { type: 'tls', secret: 'certificates', certificateName: 'workers' } as const;
    const [{ spec }] = objects(injected(VLLM, { transport }));
    const pod = spec.template.spec;
    expect(pod.initContainers[0].args).toEqual(
      expect.arrayContaining(['--tls-cert=/etc/kv-accord/tls/tls.crt', '--tls-client-auth=require']),
    );
    expect(pod.initContainers[0].args).not.toContain('--insecure');
    expect(pod.initContainers[0].livenessProbe).toMatchObject({
      httpGet: { path: '/livez', scheme: 'HTTPS' },
    });
    expect(pod.volumes).toEqual([
      { name: 'kv-accord-tls', secret: { secretName: 'certificates', defaultMode: 0o444 } },
    ]);
  });

  it('goes to every pod that a pool selects, whatever it runs', () => {
    const text = FIXTURES.find(([name]) => name === 'pool.yaml')?.[1] ?? '';
    const { notes } = inject(text);
    const found = 'sidecar beside its engine, which it looks for on the usual local ports';
    expect(notes.map((note) => `${note.type}: ${note.text}`)).toEqual([
      'left: LeaderWorkerSet qwen-group/worker: left alone: the engine of a group answers at its leader',
      `done: Deployment qwen: ${found}`,
      `done: StatefulSet qwen-big: ${found}`,
      `done: LeaderWorkerSet qwen-group/leader: ${found}`,
    ]);
    const withSidecar = objects(injected(text)).flatMap(({ metadata, spec }) => {
      const templates = [spec?.template, spec?.leaderWorkerTemplate?.leaderTemplate];
      const has = templates.some((one) => one?.spec?.initContainers?.[0]?.name === 'kv-accord-sidecar');
      return has ? [metadata.name] : [];
    });
    expect(withSidecar).toEqual(['qwen', 'qwen-big', 'qwen-group']);
  });

  it('goes to the leader of a group, where the engine answers', () => {
    const [, set] = objects(injected(fixture('sets.yaml')));
    const { leaderTemplate, workerTemplate } = set.spec.leaderWorkerTemplate;
    expect(leaderTemplate.spec.initContainers).toHaveLength(1);
    expect(workerTemplate.spec.initContainers).toBeUndefined();
  });
});

describe('the gate', () => {
  it('waits for the workers of the same manifests, by a Service that lists them before they are ready', () => {
    const [, frontend, service] = objects(injected(SET));
    expect(frontend.spec.template.spec.initContainers[0].args).toEqual([
      'wait',
      '--workers=dns:///vllm-kv-accord:50061',
      // Half of three: one that never comes up does not hold a restart back.
      '--min-workers=2',
      '--timeout=1h',
      '--insecure',
      '--frontend-uses=declared',
    ]);
    expect(service).toMatchObject({
      kind: 'Service',
      metadata: { name: 'vllm-kv-accord' },
      spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: { app: 'vllm' } },
    });
  });

  it('counts the groups of a LeaderWorkerSet and the pods of the others, in its own namespace', () => {
    const [, , router] = objects(injected(fixture('sets.yaml')));
    expect(router.spec.template.spec.initContainers[0].args.slice(1, 4)).toEqual([
      '--workers=dns:///sglang-kv-accord.serving:50061',
      '--workers=dns:///large-kv-accord.serving:50061',
      '--min-workers=3',
    ]);
  });

  it('finds the pods of its graph, and is given the right to list them', () => {
    const [graph, role, binding] = objects(injected(fixture('graph-v1alpha1.yaml')));
    const { Frontend } = graph.spec.services;
    expect(Frontend.extraPodSpec.initContainers[0].args.slice(1, 3)).toEqual([
      '--dynamo-graph=chat',
      '--min-workers=auto',
    ]);
    expect(role).toMatchObject({ kind: 'Role', metadata: { name: 'chat-kv-accord', namespace: 'serving' } });
    expect(binding.subjects).toEqual([
      { kind: 'ServiceAccount', name: 'chat-k8s-service-discovery', namespace: 'serving' },
    ]);
  });

  it('uses the service account that the graph names itself', () => {
    const [, , binding] = objects(
      injected(fixture('graph-v1beta1-native-engine.yaml'), { namespace: 'chat' }),
    );
    expect(binding.subjects).toEqual([{ kind: 'ServiceAccount', name: 'side-frontend', namespace: 'chat' }]);
  });

  it('gives two frontends of a graph their rights by one binding', () => {
    const text = fixture('graph-v1beta1.yaml').replace(
      '  - name: decode',
      '  - name: Second\n    type: frontend\n    podTemplate: {spec: {serviceAccountName: second}}\n  - name: decode',
    );
    const [, role, binding, ...rest] = objects(injected(text));
    expect([role.kind, binding.subjects.map(({ name }: { name: string }) => name), rest]).toEqual([
      'Role',
      ['split-k8s-service-discovery', 'second'],
      [],
    ]);
  });

  it('gives a component a pod spec that has none', () => {
    const [graph] = objects(injected(fixture('graph-v1alpha1-bare.yaml')));
    expect(graph.spec.services.Frontend.extraPodSpec.initContainers[0].name).toBe('kv-accord-wait');
  });

  it('runs the program under exec, a shell with its script as a whole', () => {
    const [graph] = objects(injected(fixture('graph-v1alpha1.yaml'), { gate: 'exec' }));
    const { initContainers, mainContainer, volumes } = graph.spec.services.Frontend.extraPodSpec;
    expect(initContainers[0]).toMatchObject({
      name: 'kv-accord-copy',
      command: ['cp', '-r', '/opt/kv-accord/.', '/usr/local/bin/node', '/program/'],
    });
    expect(mainContainer.command).toEqual([
      '/opt/kv-accord/node',
      '/opt/kv-accord/dist/cli/main.js',
      'exec',
      '--dynamo-graph=chat',
      '--min-workers=auto',
      '--timeout=1h',
      '--insecure',
      '--',
      '/bin/sh',
      '-c',
    ]);
    expect(mainContainer.args).toEqual(['exec python3 -m dynamo.frontend --router-mode kv']);
    expect(mainContainer.startupProbe.httpGet).toEqual({ path: '/live', port: 'http' });
    expect(volumes[0]).toMatchObject({ name: 'kv-accord', emptyDir: {} });
  });

  it('is seen by lint, which then finds no block size missing', () => {
    for (const name of [
      'sets.yaml',
      'deployments.yaml',
      'graph-v1alpha1.yaml',
      'graph-v1beta1-native-engine.yaml',
    ]) {
      const file = readSourceFile(name, injected(fixture(name), { gate: 'exec' }));
      const launches = readPodSites(file).flatMap((site) => readLaunches(file, site, readMaterial([file])));
      const gated = launches.filter(({ isGated }) => isGated).map(({ role }) => role);
      expect(gated).toEqual([name === 'sets.yaml' ? 'router' : 'frontend']);
    }
  });

  it("writes down under exec what Dynamo's operator would have started", () => {
    const [graph] = objects(injected(fixture('graph-v1beta1-native-engine.yaml'), { gate: 'exec' }));
    const [main] = graph.spec.components[0].podTemplate.spec.containers;
    expect([...main.command.slice(-2), ...main.args]).toEqual(['--', 'python3', '-m', 'dynamo.frontend']);
  });

  it('is left out before workers whose size only requests would show, unless an option says for which workers to wait', () => {
    const graph = fixture('graph-v1beta1.yaml').replaceAll('--page-size', '--tp-size');
    const note = 'left without a gate: what the block size of split/decode';
    const isTold = expect.stringContaining(note);
    for (const gate of ['wait', 'exec'] as const) {
      expect(notesOf(graph, { gate })).toContainEqual(isTold);
      expect(injected(graph, { gate })).not.toContain('--dynamo-graph');
      expect(injected(graph, { gate })).toContain('kv-accord-sidecar');
      expect(notesOf(graph, { gate, workers: ['k8s:///all:50061'] })).not.toContainEqual(isTold);
      expect(notesOf(fixture('graph-v1beta1.yaml'), { gate })).not.toContainEqual(isTold);
    }
    // Plain engines tell it themselves.
    expect(notesOf(SET)).toContainEqual(expect.stringContaining('gate (wait)'));
  });

  it('takes the targets and the number that it is given', () => {
    const options = { workers: ['k8s:///all:50061'], gate: 'exec' } as const;
    const [, frontend, ...rest] = objects(injected(SET, options));
    expect(frontend.spec.template.spec.containers[0].command).toEqual(
      expect.arrayContaining(['--workers=k8s:///all:50061', '--min-workers=auto']),
    );
    expect(rest).toEqual([]);
    expect(notesOf(SET, { workers: ['10.0.0.1:50061'] })).toContainEqual(
      expect.stringContaining('the gate opens as soon as one worker has reported'),
    );
  });

  it('says which rights a cluster has to give, and which startup probe is too short for exec', () => {
    expect(notesOf(SET, { workers: ['k8s:///all:50061'] })).toContainEqual(
      expect.stringContaining('its service account must be allowed to find workers by k8s://…'),
    );
    const probed = `${VLLM}---\n${FRONTEND.replace('        command', '        startupProbe: {failureThreshold: 6}\n        command')}`;
    const note = expect.stringContaining(
      'its startup probe gives up after 60 s, and the gate may hold it back for 1 h',
    );
    expect(notesOf(probed, { gate: 'exec' })).toContainEqual(note);
    expect(notesOf(probed)).not.toContainEqual(note);
    expect(notesOf(probed.replace('6}', '360}'), { gate: 'exec' })).not.toContainEqual(note);
  });

  it('says what an init container cannot do for a router of its own', () => {
    const note =
      'dynamo.router uses DYN_ROUTER_BLOCK_SIZE, which an init container cannot set: take --gate exec';
    expect(notesOf(fixture('sets.yaml'))).toContainEqual(expect.stringContaining(note));
    expect(notesOf(fixture('sets.yaml'), { gate: 'exec' })).not.toContainEqual(expect.stringContaining(note));
  });

  it('can be left out', () => {
    const [, frontend] = objects(injected(SET, { gate: 'none' }));
    expect(frontend).toEqual(objects(FRONTEND)[0]);
  });
});

describe('what is left alone, and said so', () => {
  it.each([
    [
      'kv-accord that somebody put there',
      deployment(
        'vllm',
        'command: [vllm, serve, tiny]',
        '      - name: side\n        image: registry.example/kv-accord:0.1.0\n',
      ),
      {},
      '4 left: Deployment vllm: left alone: it has kv-accord already (container side)',
    ],
    [
      'a frontend whose workers are elsewhere',
      FRONTEND,
      {},
      '4 left: Deployment frontend: left without a gate: no worker in its namespace is among these files; name their file too, or say with --workers which it is to wait for',
    ],
    [
      'a container that is worker and frontend',
      deployment('both', 'command: [sh, -c, "vllm serve tiny & python3 -m dynamo.frontend"]'),
      { gate: 'exec' },
      '4 left: Deployment both: left alone: worker and frontend share a container, and a gate in front of both would wait for a worker that it holds back; give each a container of its own',
    ],
    [
      'a pod that is worker and frontend, before an init container',
      deployment(
        'both',
        'command: [vllm, serve, tiny]',
        '      - name: frontend\n        command: [python3, -m, dynamo.frontend]\n',
      ),
      {},
      '4 left: Deployment both: left alone: worker and frontend share a pod, and an init container would wait for a worker that starts after it; take --gate exec',
    ],
    [
      'a program that only its image knows, under exec',
      `${VLLM}---\n${deployment('front', 'args: [--verbose]')}`,
      { gate: 'exec', frontendNames: ['front'] },
      '21 left: Deployment front: left without a gate: its container has no command, and what its image starts is not known here; write the command into the manifest, or take --gate wait',
    ],
    [
      'a Job',
      'apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: a, command: [vllm, serve, tiny]}\n',
      {},
      '3 left: Job once: left alone: a Job cannot be changed once it runs; add kv-accord to what makes it',
    ],
  ] satisfies [string, string, Partial<InjectOptions>, string][])('%s', (_, text, options, note) => {
    expect(notesOf(text, options)).toContain(note);
  });

  it.each([
    [
      'a worker of the same name as another',
      `${VLLM}---\n${VLLM.replace('Deployment', 'StatefulSet')}`,
      'StatefulSet vllm: left alone: another worker has the same name, and so would their Services',
    ],
    [
      'a worker whose name no Service can have',
      deployment('a.b', 'command: [vllm, serve, tiny]'),
      'Deployment a.b: left alone: no Service can be called a.b-kv-accord; say with --workers how the gate finds them',
    ],
    [
      'a worker on the network of its node',
      deployment('vllm', 'command: [vllm, serve, tiny]', '      hostNetwork: true\n'),
      'Deployment vllm: it is on the network of its node: the ports of the sidecar (50061, 9464) must be free there',
    ],
    [
      'a worker of several nodes',
      fixture('graph-v1beta1.yaml').replace('replicas: 3', 'replicas: 3\n    multinode: {nodeCount: 2}'),
      'DynamoGraphDeployment split/prefill: it runs on 2 nodes, and its engine answers on the first of them',
    ],
    [
      'a Dynamo worker without a port to ask',
      deployment('vllm', 'command: [python3, -m, dynamo.vllm]'),
      'start the worker with DYN_SYSTEM_PORT',
    ],
    [
      'a Dynamo worker that does not say its block size',
      fixture('graph-v1beta1-flow.yaml'),
      'the manifest does not say its block size',
    ],
  ])('reports %s', (_, text, words) => {
    expect(notesOf(text)).toContainEqual(expect.stringContaining(words));
  });

  it.each([
    ['python3 hello_world.py', false],
    ['python3 -u /app/client.py --x', false],
    ['python3 my_worker.py', true],
    ['python3 -m dynamo.vllm --model m', true],
    ['./start.sh', true],
  ])('takes a component of the type worker for one by what it runs: %s', (command, isWorker) => {
    const graph = `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    W:
      componentType: worker
      extraPodSpec: {mainContainer: {image: a/b:c, command: [/bin/sh, -c], args: ["${command}"]}}
`;
    expect(inject(graph).notes.some(({ text }) => text.includes('sidecar beside'))).toBe(isWorker);
  });

  it.each([
    ['Processor', false],
    ['Router', false],
    ['Planner', false],
    ['VllmWorker', true],
    ['PrefillWorker', true],
  ])('gives no sidecar to a part of an old graph without an engine: %s', (part, isWorker) => {
    const graph = `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    ${part}:
      componentType: worker
      extraPodSpec: {mainContainer: {image: a/b:c, args: [dynamo, serve, 'graphs.agg:Frontend', --service-name, ${part}]}}
`;
    expect(inject(graph).notes.some(({ text }) => text.includes('sidecar beside'))).toBe(isWorker);
  });

  it('takes names where commands show nothing, and reports those that are nowhere', () => {
    const text = `${deployment('engine', 'args: [serve]')}---\n${deployment('front', 'args: [x]')}`;
    expect(inject(text).notes).toEqual([]);
    const { notes, unknownNames } = inject(text, {
      workerNames: ['engine', 'gone'],
      frontendNames: ['front'],
    });
    expect(notes.map(({ type }) => type)).toEqual(['done', 'done']);
    expect(unknownNames).toEqual(['gone']);
  });
});

/** Pieces that mean something to YAML, or to us. */
const PIECES = fc.constantFrom(
  ...[' ', '\n', '\t', '#', '- ', ': ', '[', ']', '{', '}', '"', "'", '&a ', '*a', '<<: ', '|', '>', '---\n'],
  ...['? ', '!!x ', '\r\n', '\ufeff', '\u0085', '\u0000', '\ud83d', '# kv-accord: end\n', 'null'],
);

describe('a broken manifest', () => {
  it('is refused with a place, or comes back as it was', () => {
    const texts = FIXTURES.flatMap(([, text]) => [text, injected(text, { gate: 'exec' })]);
    const edit = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(4), PIECES);
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        (text, edits) => {
          const broken = edits.reduce((now, [place, length, piece]) => {
            const at = Math.floor(place * now.length);
            return now.slice(0, at) + piece + now.slice(at + length);
          }, text);
          const { files, refused } = inject(broken, { gate: 'exec' });
          if (refused.length > 0) {
            expect(refused[0]?.line).toBeGreaterThan(0);
            return;
          }
          const after = files[0]?.after ?? '';
          expect(injected(after, { gate: 'exec' })).toBe(after);
          expect(removed(after)).toBe(removed(broken));
        },
      ),
      { numRuns: propertyRuns(30) },
    );
  });
});

describe('what is refused rather than damaged', () => {
  const ANCHORED = SET.replace('    spec:\n      containers:', '    spec: &pod\n      containers:');
  it.each([
    ['JSON', JSON.stringify(objects(VLLM)[0]), 1, 'this is JSON'],
    ['what is no YAML', `${VLLM}  a: [\n`, 18, 'is no YAML: '],
    [
      'a template',
      `${VLLM}  {{ if .Values.more }}\n`,
      17,
      'is a template of Go, not YAML: run inject on what it makes',
    ],
    [
      'a pod spec that is used twice',
      `${ANCHORED.replace('---\n', '')}`.replace(/\napiVersion[\s\S]*$/, `\ncopy: *pod\n`),
      1,
      'an anchor (&) is used in several places',
    ],
    [
      'a list that may be merged',
      VLLM.replace('      containers:', '      <<: {initContainers: []}\n      containers:'),
      13,
      'what is merged here (<<) may hold initContainers',
    ],
    [
      'characters that end lines for some readers',
      VLLM.replace('kind', '# \u2028\nkind'),
      2,
      'the character U+2028',
    ],
    [
      'a block without its end',
      `# kv-accord: begin (kv-accord inject --remove takes this out)\n${VLLM}`,
      1,
      'a block begins that does not end',
    ],
    ['a block without its beginning', `${VLLM}# kv-accord: end\n`, 17, 'a block ends that does not begin'],
  ])('%s', (_, text, line, words) => {
    const { files, refused } = inject(text);
    expect(files).toEqual([]);
    expect(refused).toEqual([{ file: 'x.yaml', line, message: expect.stringContaining(words) }]);
  });
});
