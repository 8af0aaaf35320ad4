import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

/** A Deployment of vLLM. */
function vllm(name: string, args: string, more = ''): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  template:
    metadata: {labels: {app: ${name}${more}}}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.0
          args: [--model, org/m, ${args}]
          env: [{name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
---
`;
}

const NIXL = (role: string): string =>
  `--kv-transfer-config, '{"kv_connector":"NixlConnector","kv_role":"${role}"}'`;
const EVENTS =
  '--kv-events-config, \'{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://epp:5557","topic":"kv@a@org/m"}\'';

function pair(name: string, args: string): string {
  return (
    vllm(`${name}-prefill`, `${args}, ${NIXL('kv_producer')}`) +
    vllm(`${name}-decode`, `${args}, ${NIXL('kv_consumer')}`)
  );
}

/** The configuration of a picker of llm-d; `asked` are the profiles that look prompts up. */
function picker(...asked: readonly string[]): string {
  const profiles = ['prefill', 'decode'].map(
    (name) =>
      `  - name: ${name}\n    plugins: [{pluginRef: ${name}-filter}${asked.includes(name) ? ', {pluginRef: precise-prefix-cache-scorer}' : ''}]\n`,
  );
  return `apiVersion: inference.networking.x-k8s.io/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: prefill-filter
  - type: decode-filter
  - type: precise-prefix-cache-scorer
    parameters: {tokenProcessorConfig: {blockSize: 64}, kvEventsConfig: {zmqEndpoint: "tcp://*:5557"}}
schedulingProfiles:
${profiles.join('')}---
`;
}

describe('several pairs of one model', () => {
  it('have each a partner of its own', () => {
    const both = pair('fp8', '--kv-cache-dtype, fp8') + pair('bf16', '--kv-cache-dtype, bfloat16');
    expect(found({ 'a.yaml': both })).toEqual([]);
  });

  it('have a fault where no prefill worker has what a decode worker has', () => {
    const odd = vllm('odd-decode', `--kv-cache-dtype, fp8_e5m2, ${NIXL('kv_consumer')}`);
    const both = pair('fp8', '--kv-cache-dtype, fp8') + pair('bf16', '--kv-cache-dtype, bfloat16') + odd;
    expect(found({ 'a.yaml': both })).toEqual([expect.stringMatching(/^pair-settings a\.yaml:\d+ error$/)]);
  });
});

describe('a picker that looks prompts up for one part of a request', () => {
  const prefill = (args: string): string => vllm('p', args, ', llm-d.ai/role: prefill');
  const decode = (args: string): string => vllm('d', args, ', llm-d.ai/role: decode');

  it('needs nothing of the workers of the other part', () => {
    const silent = decode('--no-enable-prefix-caching');
    const publishing = prefill(`--block-size, "64", ${EVENTS}`);
    expect(found({ 'a.yaml': picker('prefill') + publishing + silent })).toEqual([]);
    expect(found({ 'a.yaml': picker('prefill', 'decode') + publishing + silent })).toEqual([
      expect.stringMatching(/^prefix-caching-off a\.yaml:\d+ error$/),
    ]);
  });

  it('needs the events of those whom it asks', () => {
    expect(found({ 'a.yaml': picker('prefill') + prefill('--block-size, "64"') })).toEqual([
      expect.stringMatching(/^kv-events-off a\.yaml:\d+ error$/),
    ]);
  });
});

describe('workers that generate nothing', () => {
  it.each(['--runner, pooling', '--task, embed', '--convert, classify'])('%s', (args) => {
    const embed = vllm('embed', `${args}, --no-enable-prefix-caching`);
    expect(found({ 'a.yaml': picker('prefill', 'decode') + embed })).toEqual([]);
  });
});

describe('a worker and a picker in folders of their own', () => {
  it('are a warning, for nothing but the place joins them', () => {
    const files = { 'w/a.yaml': vllm('w', '--block-size, "64"'), 'p/b.yaml': picker('decode') };
    expect(found(files)).toEqual([expect.stringMatching(/^kv-events-off w\/a\.yaml:\d+ warning$/)]);
    expect(found({ 'a.yaml': files['w/a.yaml'], 'b.yaml': files['p/b.yaml'] })).toEqual([
      expect.stringMatching(/^kv-events-off a\.yaml:\d+ error$/),
    ]);
  });
});

describe("values of llm-d's model service", () => {
  const values = (args: string): string =>
    `modelArtifacts: {name: org/m}\ndecode:\n  containers:\n  - {name: vllm, modelCommand: vllmServe, args: [--block-size=64${args}]}\n`;
  const publishing = values(
    `, '--kv-events-config={"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://e:5557","topic":"kv@a@org/m"}'`,
  );
  const gaie = `inferenceExtension:\n  pluginsConfigFile: a.yaml\n  pluginsCustomConfig:\n    a.yaml: |\n${picker('decode').replace('---\n', '').replace(/^/gm, '      ')}\n`;

  it('are a layer where others of their folder publish', () => {
    expect(found({ 'ms/values.yaml': values(''), 'gaie/values.yaml': gaie })).toHaveLength(1);
    const layered = { 'ms/values.yaml': values(''), 'ms/values-kv.yaml': publishing };
    expect(found({ ...layered, 'gaie/values.yaml': gaie })).toEqual([]);
  });

  it('have no picker that another release is named after', () => {
    const files = { 'ms-a/values.yaml': values(''), 'ms-b/values.yaml': publishing };
    expect(found({ ...files, 'gaie-b/values.yaml': gaie })).toEqual([]);
    expect(found({ ...files, 'gaie-a/values.yaml': gaie })).toHaveLength(1);
  });
});

describe('a model of production-stack before routingLogic: kvaware', () => {
  const values = (env: string): string =>
    `servingEngineSpec:\n  modelSpec:\n  - name: a\n    modelURL: org/vllm-m\n    lmcacheConfig: {enabled: true}\n    env: [${env}]\nrouterSpec: {routingLogic: kvaware}\n`;

  it('may switch the controller on by its variables', () => {
    expect(found({ 'values.yaml': values('') })).toHaveLength(1);
    expect(found({ 'values.yaml': values('{name: LMCACHE_ENABLE_CONTROLLER, value: "True"}') })).toEqual([]);
    expect(found({ 'values.yaml': values('{name: LMCACHE_CONFIG_FILE, value: /a.yaml}') })).toEqual([]);
  });
});

describe('a router of Dynamo for one component', () => {
  const script = (router: string): string =>
    `python3 -m dynamo.router --endpoint a.${router}.generate --router-block-size 16 &
python3 -m dynamo.vllm --model m --is-prefill-worker --block-size 16 --kv-events-config '{"enable_kv_cache_events":true}' &
python3 -m dynamo.vllm --model m --is-decode-worker --block-size 128 &
`;

  it('is compared with the workers that register there without an endpoint of their own', () => {
    expect(found({ 'a.sh': script('prefill') })).toEqual([]);
    expect(found({ 'a.sh': script('backend') })).toContain('block-size-mismatch a.sh:1 error');
  });
});

describe('arguments that come of a variable', () => {
  it('are unknown where no variable of that name is in the files', () => {
    const graph = (args: string): string =>
      `kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    F: {componentType: frontend, envs: [{name: DYN_ROUTER_MODE, value: kv}]}
    W:
      componentType: worker
      extraPodSpec: {mainContainer: {image: "a/vllm-runtime:1.2.0", command: [python3, -m, dynamo.vllm], args: [--model, m${args}]}}
`;
    expect(found({ 'a.yaml': graph('') })).toHaveLength(1);
    for (const item of [
      '$(KV_ARGS)',
      '$KV_ARGS',
      '"$' + '{KV_ARGS}"',
      '"{{ kv_args }}"',
      '<KV_ARGS>',
      '"@KV_ARGS@"',
    ])
      expect(found({ 'a.yaml': graph(`, ${item}`) })).toEqual([]);
  });
});

describe('side channels of engines that one script starts', () => {
  const engine = (role: string): string =>
    `--kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_${role}"}'`;
  const run = (gpu: number, role: string, options = ''): string =>
    `docker run -d ${options} -e CUDA_VISIBLE_DEVICES=${gpu} vllm/vllm-openai:v0.11.0 --model m ${engine(role)}\n`;

  it('are apart in containers with networks of their own', () => {
    const both = (options = ''): string => run(0, 'producer', options) + run(1, 'consumer', options);
    expect(found({ 'a.sh': both() })).toEqual([]);
    expect(found({ 'a.sh': both('--network host') })).toEqual(['side-channel-port a.sh:2 error']);
    expect(found({ 'a.sh': both('--net=host') })).toHaveLength(1);
  });

  it.each(['srun --nodelist=a bash -c', 'kubectl exec a -- bash -c'])(
    'are apart on nodes and in pods: %s',
    (starter) => {
      const line = (gpu: number, role: string): string =>
        `${starter} "CUDA_VISIBLE_DEVICES=${gpu} python3 -m sglang.launch_server --model-path m --disaggregation-mode ${role}" &\n`;
      expect(found({ 'a.sh': line(0, 'prefill') + line(1, 'prefill') })).toEqual([]);
    },
  );

  it('are apart in services of a compose file', () => {
    const service = (name: string, gpu: number, role: string, more = ''): string =>
      `  ${name}:\n    image: vllm/vllm-openai:v0.11.0\n    environment: [CUDA_VISIBLE_DEVICES=${gpu}]\n    command: [--model, m, ${NIXL(role)}]\n${more}`;
    const both = (more = ''): string =>
      `services:\n${service('p', 0, 'kv_producer', more)}${service('d', 1, 'kv_consumer', more)}`;
    expect(found({ 'compose.yaml': both() })).toEqual([]);
    expect(found({ 'compose.yaml': both('    network_mode: host\n') })).toHaveLength(1);
  });

  it('are one for an engine on several nodes', () => {
    const pod = (part: string, rank: number): string =>
      `    ${part}Template: {spec: {hostNetwork: true, containers: [{name: s, image: lmsysorg/sglang:v0.5.3, command: [python3, -m, sglang.launch_server, --model-path, m, --disaggregation-mode, prefill, --nnodes, "2", --node-rank, "${rank}"]}]}}\n`;
    const set = `kind: LeaderWorkerSet\nmetadata: {name: p}\nspec:\n  replicas: 1\n  leaderWorkerTemplate:\n    size: 2\n${pod('leader', 0)}${pod('worker', 1)}`;
    expect(found({ 'a.yaml': set })).toEqual([]);
  });
});

describe('a manifest that something fills in', () => {
  const pod = (line: string): string =>
    `kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    image: vllm/vllm-openai\n${line}`;

  it.each([
    ['names between @', '    command: @COMMAND@\n'],
    ['names between %', '    command: %COMMAND%\n'],
    ['a line that is a variable', '$EXTRA_ARGS\n'],
    ['ytt', '    #@ if data.values.on:\n    args: [#@ data.values.x\n    ]\n'],
  ])('is a template: %s', (_, line) => {
    expect(inspect({ 'a.yaml': pod(line) }).findings).toMatchObject([
      { ruleId: 'unreadable', severity: 'note', message: expect.stringContaining('template') },
    ]);
  });
});

describe('a worker that the pool beside a picker does not select', () => {
  const pool = (label: string): string =>
    `apiVersion: inference.networking.k8s.io/v1\nkind: InferencePool\nmetadata: {name: p}\nspec: {selector: {matchLabels: {app: ${label}}}, targetPorts: [{number: 8000}]}\n---\n`;
  const baseline = vllm('baseline', '--no-enable-prefix-caching');
  const both = picker('decode') + vllm('kv', `--block-size, "64", ${EVENTS}`) + baseline;

  it('is compared with nothing', () => {
    const offIn = (text: string): readonly string[] =>
      found({ 'a.yaml': text }).filter((one) => one.startsWith('prefix-caching-off'));
    expect(offIn(both)).toHaveLength(1);
    expect(offIn(both + pool('kv'))).toEqual([]);
    expect(offIn(both + pool('baseline'))).toHaveLength(1);
  });
});

describe('settings that other programs have', () => {
  it('are those of servers with commands of their own, beside a router of TensorRT-LLM', () => {
    const router = `context_servers:\n  num_instances: 1\n  kv_cache_config: {free_gpu_memory_fraction: 0.2}\n  router: {type: kv_cache_aware}\n  urls: ["localhost:8001"]\ngeneration_servers:\n  num_instances: 1\n  urls: ["localhost:8002"]\n`;
    const start = 'trtllm-serve disaggregated -c disagg.yaml\n';
    const server = 'trtllm-serve m --port 8001 --extra_llm_api_options ctx.yaml &\n';
    expect(found({ 'disagg.yaml': router, 'a.sh': `#!/bin/sh\n${start}` })).toHaveLength(1);
    const files = { 'disagg.yaml': router, 'ctx.yaml': 'kv_cache_config: {event_buffer_max_size: 1024}\n' };
    expect(found({ ...files, 'a.sh': `#!/bin/sh\n${server}${start}` })).toEqual([]);
  });

  it('are those of decode workers, where these have a request first', () => {
    const worker = (mode: string, more = ''): string =>
      `python3 -m dynamo.trtllm --model-path m --disaggregation-mode ${mode} --disaggregation-strategy decode_first ${more} &\n`;
    const front = 'python3 -m dynamo.frontend --router-mode kv &\n';
    const publishing = '--publish-events-and-metrics';
    const offIn = (text: string): readonly string[] =>
      found({ 'a.sh': text }).filter((one) => one.startsWith('kv-events-off'));
    expect(offIn(front + worker('prefill') + worker('decode', publishing))).toEqual([]);
    expect(offIn(front + worker('prefill', publishing) + worker('decode'))).toEqual([
      'kv-events-off a.sh:3 error',
    ]);
  });
});

describe('a side channel at localhost', () => {
  it('is a warning where both pods have the network of their host', () => {
    const at = (spec: string): string =>
      pair('a', '--dtype, float16')
        .replaceAll('valueFrom: {fieldRef: {fieldPath: status.podIP}}', 'value: localhost')
        .replaceAll('    spec:\n      containers', `    spec:\n${spec}      containers`);
    expect(found({ 'a.yaml': at('') })).toEqual([expect.stringMatching(/^side-channel-host .* error$/)]);
    const [host] = found({ 'a.yaml': at('      hostNetwork: true\n') });
    expect(host).toMatch(/^side-channel-host .* warning$/);
  });
});
