import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

interface PoolOptions {
  readonly ports?: string;
  readonly mode?: string;
  readonly namespace?: string;
  readonly labels?: string;
}

function pool({
  ports = '[{number: 8000}]',
  mode = 'FailClose',
  namespace,
  labels = '{app: w}',
}: PoolOptions = {}): string {
  const place = namespace === undefined ? '' : `, namespace: ${namespace}`;
  return `apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: p${place}}
spec:
  selector: {matchLabels: ${labels}}
  targetPorts: ${ports}
  endpointPickerRef: {name: w-epp, port: {number: 9002}, failureMode: ${mode}}
---
`;
}

function pods(container: string, more = ''): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: w${more}}
spec:
  template:
    metadata: {labels: {app: w, tier: decode}}
    spec:
      containers:
        - name: main
          image: example.com/image:1
${container.replace(/^/gm, '          ')}
---
`;
}

const vllm = (port: string, declared: string): string =>
  pods(`command: [vllm, serve, m${port}]\nports: [${declared}]`);

describe('the target port of a pool', () => {
  it.each([
    ['is declared', vllm('', '{containerPort: 8000}')],
    ['is written in an argument', vllm(', --port=8000', '{containerPort: 9}')],
    ["is the engine's own", vllm('', '{containerPort: 9}')],
    [
      'is known at run time',
      pods('command: [sh, -c, "vllm serve m --port $PORT"]\nports: [{containerPort: 9}]'),
    ],
    ['is not known, because no port is declared', vllm(', --port=9', '')],
    ['is not known, because no pod is selected', ''],
    [
      'is of pods in another namespace',
      vllm(', --port=9', '{containerPort: 9}').replace('name: w}', 'name: w, namespace: other}'),
    ],
  ])('that %s is no finding', (_name, workers) => {
    expect(found({ 'a.yaml': pool({ namespace: 'kv' }) + workers })).toEqual([]);
  });

  it('that no container has is a finding, in another file too, and for each port', () => {
    const workers = vllm(', --port=9', '{containerPort: 9}');
    expect(found({ 'a/pool.yaml': pool(), 'a/w.yaml': workers })).toEqual([
      'pool-port-mismatch a/pool.yaml:6 warning',
    ]);
    expect(found({ 'a.yaml': pool({ ports: '[{number: 9}, {number: 10}]' }) + workers })).toEqual([
      'pool-port-mismatch a.yaml:6 warning',
    ]);
  });

  it('that one of several variants has is none', () => {
    expect(
      found({
        'a/pool.yaml': pool(),
        'a/gpu.yaml': vllm(', --port=9', '{containerPort: 9}'),
        'a/cpu.yaml': vllm('', '{containerPort: 8000}'),
      }),
    ).toEqual([]);
  });

  it('is compared with the nearest pods alone', () => {
    expect(
      found({
        'a/pool.yaml': pool(),
        'a/w.yaml': vllm('', '{containerPort: 8000}'),
        'b/w.yaml': vllm(', --port=9', '{containerPort: 9}'),
      }),
    ).toEqual([]);
  });

  it('of v1alpha2 is read', () => {
    const old = `apiVersion: inference.networking.x-k8s.io/v1alpha2
kind: InferencePool
metadata: {name: p}
spec: {selector: {app: w}, targetPortNumber: 8000, extensionRef: {name: e}}
---
`;
    expect(found({ 'a.yaml': old + vllm(', --port=9', '{containerPort: 9}') })).toEqual([
      'pool-port-mismatch a.yaml:4 warning',
    ]);
  });
});

describe('the picker of a pool', () => {
  const reference = (args: string): string =>
    pods(`args: [${args}]`, '-epp').replace(
      'example.com/image:1',
      'ghcr.io/llm-d/llm-d-inference-scheduler:v0.8.0',
    );
  const own = (args: string): string => pods(`command: [kv-accord, epp${args}]`, '-epp');

  it('without a gate is a note, by the name of its pool', () => {
    expect(found({ 'a.yaml': pool() + reference('--pool-name, p') })).toEqual([
      'pool-without-gate a.yaml:3 note',
    ]);
    expect(found({ 'a.yaml': pool() + reference('--poolName=other') })).toEqual([]);
  });

  it('that guesses is none to say of: its blocks are its own', () => {
    const config = (plugin: string): string => `kind: EndpointPickerConfig\nplugins: [{type: ${plugin}}]\n`;
    const files = (plugin: string): Readonly<Record<string, string>> => ({
      'a/pool.yaml': pool() + reference('--pool-name, p'),
      'a/config.yaml': config(plugin),
    });
    expect(found(files('prefix-cache-scorer'))).toEqual([]);
    expect(found(files('precise-prefix-cache-producer'))).toEqual(['pool-without-gate a/pool.yaml:3 note']);
    const upstream = reference('--pool-name, p').replace(
      'ghcr.io/llm-d/llm-d-inference-scheduler:v0.8.0',
      'registry.k8s.io/gateway-api-inference-extension/epp:v1.5.0',
    );
    expect(found({ 'a.yaml': pool() + upstream })).toEqual([]);
  });

  it('is that of the Service that the pool asks', () => {
    const service = (app: string): string =>
      `kind: Service\nmetadata: {name: asked}\nspec: {selector: {app: ${app}}, ports: [{port: 9002}]}\n---\n`;
    const asking = pool().replace(/endpointPickerRef: \{name: [\w-]+/, 'endpointPickerRef: {name: asked');
    const picker = reference('--pool-name, p').replace('{app: w, tier: decode}', '{app: epp}');
    expect(found({ 'a.yaml': asking + picker })).toEqual([]);
    expect(found({ 'a.yaml': asking + service('other') + picker })).toEqual([]);
    expect(found({ 'a.yaml': asking + service('epp') + picker })).toEqual([
      'pool-without-gate a.yaml:3 note',
    ]);
  });

  it.each(['', ', --pool=p', ', --pool, kv/p', ', --pool=pool://kv/p'])(
    'is a gate as kv-accord epp%s',
    (args) => {
      const files = { 'a.yaml': pool({ mode: 'FailOpen' }) + own(args) };
      expect(found(files).filter((one) => one.startsWith('pool'))).toEqual([
        'pool-fail-open a.yaml:7 warning',
      ]);
    },
  );

  it('that is beside a gate is none that decides', () => {
    const files = { 'a.yaml': pool() + own(', --pool=p') + reference('--pool-name, p') };
    expect(found(files)).toEqual([]);
  });

  it('that is not there is nothing to say of', () => {
    expect(found({ 'a.yaml': pool({ mode: 'FailOpen' }) })).toEqual([]);
  });

  it('with FailOpen has a fix', () => {
    const { findings } = inspect({ 'a.yaml': pool({ mode: 'FailOpen' }) + own(', --pool=p') });
    expect(findings[0]?.fix?.edits.map(({ text }) => text)).toEqual(['FailClose']);
  });
});

describe("the index of llm-d's picker", () => {
  const config = (
    events: string,
    profile = 'precise-prefix-cache-scorer',
  ): string => `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: precise-prefix-cache-scorer
  parameters:
    tokenProcessorConfig: {blockSize: 32}
${events.replace(/^/gm, '    ')}
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: ${profile}
---
`;
  const worker = (endpoint: string): string =>
    pods(
      `command: [vllm, serve, m, --block-size=32, '--kv-events-config={"enable_kv_cache_events": true, "publisher": "zmq", "endpoint": "${endpoint}", "topic": "kv@x"}']`,
    );
  const discovery = 'kvEventsConfig: {discoverPods: true, podDiscoveryConfig: {socketPort: 5556}}';
  const central = 'kvEventsConfig: {discoverPods: false, zmqEndpoint: "tcp://*:5557"}';

  it.each([
    ['it connects to the pods at their port', discovery, 'tcp://*:5556'],
    ['workers connect to it', central, 'tcp://epp:5557'],
    ['it does both', 'kvEventsConfig: {zmqEndpoint: "tcp://*:5557"}', 'tcp://epp:5557'],
    ['it does what its version does by default', 'kvEventsConfig: {topicFilter: kv@}', 'tcp://epp:5557'],
    ['the endpoint of a worker is known at run time', discovery, 'tcp://$EPP:5557'],
  ])('is filled where %s', (_name, events, endpoint) => {
    expect(found({ 'a.yaml': config(events) + worker(endpoint) })).toEqual([]);
  });

  it.each([
    ['it listens to nobody', 'kvEventsConfig: {discoverPods: false}', 'tcp://*:5556', 'a.yaml:4'],
    ['both wait', central, 'tcp://*:5557', 'a.yaml:23'],
    ['both connect', discovery, 'tcp://epp:5557', 'a.yaml:23'],
    ['the ports differ', discovery, 'tcp://*:5557', 'a.yaml:23'],
  ])('stays empty where %s', (_name, events, endpoint, place) => {
    expect(found({ 'a.yaml': config(events) + worker(endpoint) })).toEqual([
      `picker-index-empty ${place} error`,
    ]);
  });

  it('that no profile asks decides nothing', () => {
    const other = config(discovery, 'queue-scorer').replace('plugins:\n', 'plugins:\n- type: queue-scorer\n');
    expect(found({ 'a.yaml': other })).toEqual(['picker-index-empty a.yaml:5 error']);
  });

  it('is none where a profile names a plugin that is not there: the picker ends', () => {
    const { findings } = inspect({ 'a.yaml': config(discovery, 'prefix-cache-scorer') });
    expect(findings).toMatchObject([{ ruleId: 'picker-index-empty', severity: 'error' }]);
    expect(findings[0]?.message).toContain('names prefix-cache-scorer, and no plugin has this name');
  });

  it.each(['max-score-picker', 'single-profile-handler'])(
    'is asked beside %s, which the picker makes by itself',
    (name) => {
      const both = config(discovery).replace(
        'pluginRef: precise',
        `pluginRef: ${name}\n  - pluginRef: precise`,
      );
      expect(found({ 'a.yaml': both })).toEqual([]);
    },
  );
});

describe("llm-d's picker before it had a configuration", () => {
  const of = (tag: string, env: string): readonly string[] =>
    found({
      'a.yaml': `${pool()}kind: Deployment
metadata: {name: w-epp}
spec:
  template:
    spec:
      containers:
        - {name: epp, image: "ghcr.io/llm-d/llm-d-inference-scheduler:${tag}", args: [--poolName, p], env: [${env}]}
`,
    });

  it('asks an index of KV blocks only where a variable says so', () => {
    expect(of('0.0.3', '{name: PD_ENABLED, value: "true"}')).toEqual([]);
    const switched = '{name: ENABLE_KVCACHE_AWARE_SCORER, value: "true"}';
    expect(of('0.0.3', switched)).toEqual(['pool-without-gate a.yaml:3 note']);
  });
});
