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
