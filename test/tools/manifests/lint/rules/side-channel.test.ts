import { describe, expect, it } from 'vitest';
import { found } from '../support.js';

interface PodOptions {
  /** Of the pod spec, such as `hostNetwork: true`. */
  readonly spec?: string;
  /** Of the container, such as `ports: [{containerPort: 5600}]`. */
  readonly container?: string;
  /** Variables beside the port. */
  readonly host?: string;
  readonly port?: string;
  readonly args?: string;
  readonly replicas?: number;
  readonly kind?: string;
}

function pod(role: 'prefill' | 'decode', options: PodOptions = {}): string {
  const { spec, container, port, args = '', replicas = 1, kind = 'Deployment' } = options;
  const { host = 'valueFrom: {fieldRef: {fieldPath: status.podIP}}' } = options;
  return `apiVersion: apps/v1
kind: ${kind}
metadata: {name: ${role}}
spec:
  replicas: ${replicas}
  template:
    metadata: {labels: {app: llama, llm-d.ai/role: ${role}}}
    spec:
      ${spec ?? ''}
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.31.0
          ${container ?? ''}
          command: [vllm, serve, m${args}]
          args: [--kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']
          env:
            - {name: VLLM_NIXL_SIDE_CHANNEL_HOST, ${host}}
${port === undefined ? '' : `            - {name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "${port}"}\n`}---
`;
}

function policy(ingress: string, select = '{matchLabels: {llm-d.ai/role: prefill}}', name = 'p'): string {
  return `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: ${name}}
spec: {podSelector: ${select}, ingress: ${ingress}}
---
`;
}

function service(spec: string): string {
  return `apiVersion: v1
kind: Service
metadata: {name: llama-prefill}
spec: {selector: {llm-d.ai/role: prefill}, ${spec}}
---
`;
}

const pair = (options: PodOptions = {}): string => pod('prefill', options) + pod('decode');

describe('a network policy of a prefill worker', () => {
  it.each([
    ['the port', '[{ports: [{port: 5600}]}]'],
    ['a range with it', '[{ports: [{port: 1024, endPort: 65535}]}]'],
    ['every port', '[{}]'],
    ['every port of TCP', '[{ports: [{protocol: TCP}]}]'],
    ['a port that has a name', '[{ports: [{port: nixl}]}]'],
    [
      'the decode pods',
      '[{from: [{podSelector: {matchLabels: {llm-d.ai/role: decode}}}], ports: [{port: 5600}]}]',
    ],
    ['all pods of the namespace', '[{from: [{podSelector: {}}]}]'],
    ['pods of other namespaces', '[{from: [{namespaceSelector: {}}]}]'],
    ['addresses', '[{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]'],
    ['pods by expressions', '[{from: [{podSelector: {matchExpressions: [{key: a, operator: Exists}]}}]}]'],
  ])('that opens %s is no finding', (_what, ingress) => {
    expect(found({ 'a.yaml': pair() + policy(ingress) })).toEqual([]);
  });

  it.each([
    ['another port alone', '[{ports: [{port: 8000}]}]'],
    ['UDP alone', '[{ports: [{port: 5600, protocol: UDP}]}]'],
    ['others alone', '[{from: [{podSelector: {matchLabels: {app: gateway}}}]}]'],
    ['nothing', '[]'],
  ])('that opens %s is a finding at its name', (_what, ingress) => {
    expect(found({ 'a.yaml': pair() + policy(ingress) })).toEqual(['side-channel-closed a.yaml:39 error']);
  });

  it('has to open the port of each data-parallel rank', () => {
    const two = pair({ args: ', --data-parallel-size=2' });
    expect(found({ 'a.yaml': two + policy('[{ports: [{port: 5600}]}]') })).toHaveLength(1);
    expect(found({ 'a.yaml': two + policy('[{ports: [{port: 5600, endPort: 5601}]}]') })).toEqual([]);
  });

  it('is none where another one opens the port, selects others, or cannot be read to its end', () => {
    const shut = policy('[{ports: [{port: 8000}]}]');
    expect(found({ 'a.yaml': pair() + shut + policy('[{ports: [{port: 5600}]}]', '{}', 'q') })).toEqual([]);
    expect(found({ 'a.yaml': pair() + policy('[]', '{matchLabels: {app: other}}') })).toEqual([]);
    const byExpression = policy('[]', '{matchExpressions: [{key: app, operator: Exists}]}', 'q');
    expect(found({ 'a.yaml': pair() + shut + byExpression })).toEqual([]);
    expect(found({ 'a/pair.yaml': pair(), 'b/policy.yaml': shut })).toEqual([]);
    const outward = shut.replace('podSelector', 'policyTypes: [Egress], podSelector');
    expect(found({ 'a.yaml': pair() + outward })).toEqual([]);
  });
});

describe('the Service that a prefill worker hands out', () => {
  const named = pair({ host: 'value: llama-prefill.prod.svc.cluster.local' });

  it.each([
    ['has the port', 'ports: [{port: 8000}, {port: 5600}]'],
    ['is headless', 'clusterIP: None, ports: [{port: 8000}]'],
  ])('is no finding where it %s', (_what, spec) => {
    expect(found({ 'a.yaml': named + service(spec) })).toEqual([]);
  });

  it('is a finding where it has other ports alone', () => {
    expect(found({ 'a.yaml': named + service('ports: [{port: 8000}]') })).toEqual([
      'side-channel-closed a.yaml:39 error',
    ]);
    // Pods are reached by their own addresses.
    expect(found({ 'a.yaml': pair() + service('ports: [{port: 8000}]') })).toEqual([]);
  });
});

describe('pods on the network of their host', () => {
  const host = { spec: 'hostNetwork: true' };

  it('are a finding where two may come to one host with one port', () => {
    const both = pod('prefill', host) + pod('decode', host);
    expect(found({ 'a.yaml': both })).toEqual(['side-channel-port a.yaml:32 warning']);
    expect(found({ 'a.yaml': pair({ ...host, replicas: 2 }) })).toEqual([
      'side-channel-port a.yaml:14 warning',
    ]);
  });

  it.each([
    ['another port', { ...host, port: '5700' }],
    [
      'its port listed, by which the scheduler keeps them apart',
      { ...host, container: 'ports: [{containerPort: 5600}]' },
    ],
    [
      'rules of its own for where it goes',
      { spec: 'hostNetwork: true\n      affinity: {podAntiAffinity: {}}' },
    ],
    ['a network of its own', {}],
  ])('are none where one has %s', (_what, options) => {
    expect(found({ 'a.yaml': pod('prefill', host) + pod('decode', options) })).toEqual([]);
  });

  it('are none where one of them runs on each host', () => {
    expect(found({ 'a.yaml': pair({ ...host, kind: 'DaemonSet', replicas: 3 }) })).toEqual([]);
  });
});

describe("a side channel on all addresses behind AIBrix's gateway", () => {
  const ofAibrix = (labels: string): string =>
    pair({ host: 'value: "0.0.0.0"' }).replaceAll('labels: {app: llama,', `labels: {app: llama, ${labels},`);

  it('is reached, as the gateway names the prefill pod itself', () => {
    expect(found({ 'a.yaml': ofAibrix('model.aibrix.ai/name: llama') })).toEqual([]);
  });

  it.each([
    ['with another connector type', 'model.aibrix.ai/name: llama, model.aibrix.ai/kv-connector-type: nixl'],
    ['before another router', 'app.kubernetes.io/name: llama'],
  ])('is not reached %s', (_what, labels) => {
    expect(found({ 'a.yaml': ofAibrix(labels) }).join()).toContain('side-channel-host');
  });
});

/** Roles of one object, and values of llm-d's model service. */
const roles = (host: string): string => `apiVersion: orchestration.aibrix.ai/v1alpha1
kind: StormService
metadata: {name: s}
spec:
  template:
    spec:
      roles:
${['prefill', 'decode']
  .map(
    (role) => `        - name: ${role}
          template:
            metadata: {labels: {model.aibrix.ai/name: m}}
            spec:
              containers:
                - name: vllm
                  image: aibrix/vllm-openai:v0.9.2
                  command: [vllm, serve, m]
                  args: [--kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']
                  env: [{name: A, value: b}${role === 'prefill' ? host : ''}]
`,
  )
  .join('')}`;

const values = (host: string): string => `modelArtifacts: {name: m}
${['decode', 'prefill']
  .map(
    (part) => `${part}:
  containers:
    - name: vllm
      image: ghcr.io/llm-d/llm-d-cuda:v0.6.0
      modelCommand: vllmServe
      args: [--kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']
      env: [{name: A, value: b}${part === 'prefill' ? host : ''}]
`,
  )
  .join('')}`;

const hostOf = (value: string): string => `, {name: VLLM_NIXL_SIDE_CHANNEL_HOST, ${value}}`;
const POD_IP = hostOf('valueFrom: {fieldRef: {fieldPath: status.podIP}}');

describe('the host of a side channel', () => {
  it.each([
    ['', 15],
    [hostOf('value: localhost'), 17],
    [hostOf('value: "127.0.0.1"'), 17],
  ])('is the own pod in a role that only its name shows: %s', (host, line) => {
    expect(found({ 'a.yaml': roles(host) })).toEqual([`side-channel-host a.yaml:${line} error`]);
  });

  it("is the pod's address, or one that AIBrix's gateway replaces", () => {
    expect(found({ 'a.yaml': roles(POD_IP) })).toEqual([]);
    expect(found({ 'a.yaml': roles(hostOf('value: "0.0.0.0"')) })).toEqual([]);
  });

  it("is missing in values of llm-d's model service, whose chart does not write it", () => {
    expect(found({ 'ms/values.yaml': values('') })).toEqual([
      expect.stringMatching(/^side-channel-host ms\/values\.yaml:\d+ error$/),
    ]);
    expect(found({ 'ms/values.yaml': values(POD_IP) })).toEqual([]);
  });
});

describe('ports of side channels in a script that starts Dynamo', () => {
  const script = (
    port: number,
    more = '',
  ): string => `CUDA_VISIBLE_DEVICES=0 VLLM_NIXL_SIDE_CHANNEL_PORT=20097 \\
  python3 -m dynamo.vllm --model m --is-decode-worker${more} &
CUDA_VISIBLE_DEVICES=1 VLLM_NIXL_SIDE_CHANNEL_PORT=${port} \\
  python3 -m dynamo.vllm --model m --is-prefill-worker${more}
`;

  it('are one each', () => {
    expect(found({ 'a.sh': script(20097) })).toEqual(['side-channel-port a.sh:3 error']);
    expect(found({ 'a.sh': script(20098) })).toEqual([]);
  });

  it('are of no use without a connector', () => {
    expect(found({ 'a.sh': script(20097, ' --connector none') })).toEqual([]);
  });
});

describe('the other ports of engines on one host', () => {
  const events = (endpoint: string, more = ''): string =>
    `--kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq"${endpoint === '' ? '' : `,"endpoint":"${endpoint}"`}${more}}'`;
  const script = (...commands: readonly string[]): string => commands.map((one) => `${one} &\n`).join('');
  const on = (gpu: number, args: string, more = ''): string =>
    `CUDA_VISIBLE_DEVICES=${gpu} ${more}vllm serve m --port 800${gpu} ${args}`;
  const CLASH = 'side-channel-port x.sh:2 error';

  it.each([
    ['that is written', events('tcp://*:5557'), events('tcp://*:5557')],
    ['by default', events(''), events('tcp://*:5557')],
    ['of a rank', events('tcp://*:5557'), `--data-parallel-rank 1 ${events('tcp://*:5556')}`],
    ['of several ranks', `--data-parallel-size 2 ${events('tcp://*:5557')}`, events('tcp://*:5558')],
    ['of a replay', events('tcp://*:5557', ',"replay_endpoint":"tcp://*:5600"'), events('tcp://*:5600')],
  ])('are a finding: KV events at one port %s', (_, first, second) => {
    expect(found({ 'x.sh': script(on(0, first), on(1, second)) })).toEqual([CLASH]);
  });

  it.each([
    ['others', events('tcp://*:5557'), events('tcp://*:5558')],
    ['those of a router to which both connect', events('tcp://router:5557'), events('tcp://router:5557')],
    ['those of sockets in files', events('ipc:///tmp/a'), events('ipc:///tmp/a')],
    ['free ones', events('tcp://*:0'), events('tcp://*:0')],
    [
      'offset by ranks',
      `--data-parallel-rank 0 ${events('tcp://*:5557')}`,
      `--data-parallel-rank 1 ${events('tcp://*:5557')}`,
    ],
    [
      'offset by unknown ranks',
      `--data-parallel-rank $A ${events('')}`,
      `--data-parallel-rank $B ${events('')}`,
    ],
    ['of one that publishes nothing', events(''), events('', ',"publisher":"null"')],
  ])('are no finding where they are %s', (_, first, second) => {
    expect(found({ 'x.sh': script(on(0, first), on(1, second)) })).toEqual([]);
  });

  it('are those of SGLang as well, which publishes without a switch', () => {
    const sglang = (gpu: number, config: string): string =>
      `CUDA_VISIBLE_DEVICES=${gpu} python3 -m sglang.launch_server --model m --port 800${gpu} --kv-events-config '${config}'`;
    const zmq = '{"publisher":"zmq","topic":"kv"}';
    expect(found({ 'x.sh': script(sglang(0, zmq), sglang(1, zmq)) })).toEqual([CLASH]);
    expect(found({ 'x.sh': script(sglang(0, zmq), sglang(1, '{"topic":"kv"}')) })).toEqual([]);
  });

  it.each([
    ['LMCACHE_LMCACHE_WORKER_PORTS', '8500', '8500', 1],
    ['LMCACHE_LMCACHE_WORKER_PORTS', '8500,8501', '8501,8502', 1],
    ['LMCACHE_PD_PEER_INIT_PORT', '7300', '7301', 0],
    ['LMCACHE_P2P_INIT_PORTS', '$A', '$A', 0],
  ])('are those of LMCache where variables say them: %s=%s, %s', (name, first, second, count) => {
    const text = script(on(0, '', `${name}=${first} `), on(1, '', `${name}=${second} `));
    expect(found({ 'x.sh': text }).filter((one) => one === CLASH)).toHaveLength(count);
  });

  it("are the bootstrap servers of Mooncake's prefill engines", () => {
    const config = (role: string): string =>
      `--kv-transfer-config '{"kv_connector":"MooncakeConnector","kv_role":"${role}"}'`;
    const port = 'VLLM_MOONCAKE_BOOTSTRAP_PORT=8998 ';
    expect(
      found({ 'x.sh': script(on(0, config('kv_producer'), port), on(1, config('kv_producer'), port)) }),
    ).toEqual([CLASH]);
    expect(
      found({ 'x.sh': script(on(0, config('kv_producer'), port), on(1, config('kv_consumer'), port)) }),
    ).toEqual([]);
  });

  it('are those of containers with the network of their host', () => {
    const run = (gpu: number, net: string): string =>
      `docker run -d ${net} --gpus '"device=${gpu}"' vllm/vllm-openai:v0.31.0 --model m --port 800${gpu} ${events('')}`;
    expect(found({ 'x.sh': script(run(0, '--network host'), run(1, '--net=host')) })).toEqual([CLASH]);
    expect(found({ 'x.sh': script(run(0, '--network host'), run(0, '--network host')) })).toEqual([]);
    expect(found({ 'x.sh': script(run(0, ''), run(1, '')) })).toEqual([]);
  });

  it('are those of services of a compose file with the network of the host, unless they are alternatives', () => {
    const compose = (net: string, ports: readonly [number, number], more = ''): string =>
      `services:\n${ports
        .map(
          (port, at) =>
            `  w${at}:\n    image: vllm/vllm-openai:v0.31.0\n${net}${more}    command: --model m --port ${port} ${events('')}\n`,
        )
        .join('')}`;
    const host = '    network_mode: host\n';
    expect(found({ 'compose.yaml': compose(host, [8000, 8001]) })).toEqual([
      'side-channel-port compose.yaml:9 error',
    ]);
    expect(found({ 'compose.yaml': compose(host, [8000, 8000]) })).toEqual([]);
    expect(found({ 'compose.yaml': compose('', [8000, 8001]) })).toEqual([]);
  });

  it('are no finding of pods with the network of the host that have a port in common', () => {
    const both = (container: string): readonly string[] =>
      found({
        'a.yaml': pod('prefill', { spec: 'hostNetwork: true', container, replicas: 2, port: '5600' }),
      }).filter((one) => one.startsWith('side-channel-port'));
    expect(both('')).toHaveLength(1);
    expect(both('ports: [{containerPort: 8000}]')).toEqual([]);
  });
});
