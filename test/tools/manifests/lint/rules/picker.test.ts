import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

interface Picker {
  readonly tag?: string;
  readonly parameters?: string;
}

/** llm-d's picker in a Deployment, with its configuration in a ConfigMap. */
function picker({ tag = 'v0.3.2', parameters = '' }: Picker = {}, name = 'epp'): string {
  return `kind: ConfigMap
metadata: {name: ${name}}
data:
  c.yaml: |
    apiVersion: inference.networking.x-k8s.io/v1alpha1
    kind: EndpointPickerConfig
    plugins:
    - type: precise-prefix-cache-scorer
      parameters:
        tokenProcessorConfig: {blockSize: 16, hashSeed: "42"}
${parameters === '' ? '' : `        ${parameters}\n`}---
kind: Deployment
metadata: {name: ${name}}
spec:
  template:
    spec:
      containers:
      - {name: epp, image: "ghcr.io/llm-d/llm-d-inference-scheduler:${tag}", args: [--configFile, /config/c.yaml]}
---
`;
}

const HASH = ', --prefix-caching-hash-algo, sha256_cbor';

function worker(events: string, more = HASH, model = 'Qwen/Qwen3-8B', env = ''): string {
  const config = events === '' ? '' : `, --kv-events-config, '${events}'`;
  return `kind: Deployment
metadata: {name: vllm}
spec:
  template:
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.19.0
        command: [vllm, serve, ${model}]
        args: [--block-size, "16"${more}${config}]
        env: [{name: PYTHONHASHSEED, value: "42"}${env}]
---
`;
}

const events = (endpoint: string, topic = 'kv@pod@Qwen/Qwen3-8B'): string =>
  JSON.stringify({
    enable_kv_cache_events: true,
    publisher: 'zmq',
    endpoint,
    ...(topic === '' ? {} : { topic }),
  });

const advice = (files: Readonly<Record<string, string>>): string | undefined =>
  inspect(files).findings[0]?.advice;

describe('a worker whose KV events go to its own pod', () => {
  const ip = ', {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}';
  const found1 = (tag: string, endpoint: string, env = ip, parameters = ''): readonly string[] =>
    inspect({ 'a.yaml': picker({ tag, parameters }) + worker(events(endpoint), '', undefined, env) })
      .findings.filter(({ ruleId }) => ruleId === 'picker-index-empty')
      .map(({ severity, message, advice: says }) => `${severity}: ${message} | ${says}`);

  it('reaches no picker', () => {
    expect(found1('v0.7.0', 'tcp://$(POD_IP):5557')).toEqual([
      'error: vllm of vllm connects to its own pod (tcp://$(POD_IP):5557), where llm-d endpoint picker v0.7.0 does not wait | Let the worker wait (tcp://*:5557): the picker connects to the pods.',
    ]);
  });

  it('reaches none either where a script names the variable', () => {
    const config = events('tcp://$POD_IP:5557').replaceAll('"', '\\"');
    const script = `command: [sh, -c]\n        args: ['vllm serve m --block-size 16 --kv-events-config "${config}"']`;
    const scripted = worker('', '', undefined, ip).replace(/command: .*\n.*args: .*/, () => script);
    expect(found({ 'a.yaml': picker({ tag: 'v0.7.0' }) + scripted })).toContain(
      'picker-index-empty a.yaml:29 error',
    );
  });

  it('learns where the picker waits, where it does', () => {
    const waits = 'kvEventsConfig: {discoverPods: false, zmqEndpoint: "tcp://*:5556"}';
    expect(found1('v0.7.0', 'tcp://$(POD_IP):5557', ip, waits)).toEqual([
      expect.stringContaining('tcp://PICKER:5556'),
    ]);
  });

  it.each([
    ['tcp://*:5557', ip],
    ['tcp://$(POD_IP):5557', ', {name: POD_IP, value: "$(EPP)"}'],
    ['tcp://$(EPP):5557', ip],
  ])('may be another one: %s, %s', (endpoint, env) => {
    expect(found1('v0.7.0', endpoint, env)).toEqual([]);
  });
});

describe("the sockets of llm-d's picker", () => {
  it.each(['v0.2.1', 'v0.3.2', 'v0.4.0'])('wait at tcp://*:5557 by default in %s', (tag) => {
    const precise =
      tag === 'v0.2.1'
        ? picker({ tag }).replace('precise-', '').replace('tokenP', 'mode: cache_tracking\n        tokenP')
        : picker({ tag });
    expect(found({ 'a.yaml': precise + worker(events('tcp://epp:5557')) })).toEqual([]);
    const { findings } = inspect({ 'a.yaml': precise + worker(events('tcp://*:5557')) });
    expect(findings).toMatchObject([
      {
        ruleId: 'picker-index-empty',
        message: expect.stringContaining(`${tag} waits for workers at tcp://*:5557 by default`),
      },
    ]);
    expect(findings[0]?.advice).not.toContain('discoverPods');
  });

  it('are not met by a worker that connects to another port, unless it stands in the file of the picker', () => {
    const of = (endpoint: string, more = ''): readonly string[] =>
      found({ 'a.yaml': picker() + more, 'b.yaml': worker(events(endpoint), HASH, 'Qwen/Qwen3-8B', env) });
    const env = ', {name: NAMESPACE, valueFrom: {}}, {name: EPP, valueFrom: {}}';
    expect(of('tcp://epp:5558')).toEqual(['picker-index-empty b.yaml:10 warning']);
    expect(of('tcp://epp.$(NAMESPACE).svc:5558')).toEqual(['picker-index-empty b.yaml:10 warning']);
    expect(of('tcp://epp:5557')).toEqual([]);
    expect(of('tcp://$(EPP):5558')).toEqual([]);
    expect(of('tcp://epp:5558', '# port: 5558\n')).toEqual([]);
  });

  it.each(['v0.5.0', 'v0.8.0-rc.1'])('connect to port 5557 of the pods by default in %s', (tag) => {
    expect(found({ 'a.yaml': picker({ tag }) + worker(events('tcp://*:5557'), '') })).toEqual([]);
    expect(found({ 'a.yaml': picker({ tag }) + worker(events('tcp://*:5556'), '') })).toEqual([
      'picker-index-empty a.yaml:29 error',
    ]);
    expect(found({ 'a.yaml': picker({ tag }) + worker(events('tcp://epp:5557'), '') })).toEqual([
      'picker-index-empty a.yaml:29 error',
    ]);
  });

  it('are not known without a release', () => {
    for (const endpoint of ['tcp://*:5556', 'tcp://epp:5557'])
      expect(found({ 'a.yaml': picker({ tag: 'latest' }) + worker(events(endpoint), '') })).toEqual([]);
  });

  it('meet the port of a worker whose topic has unknown parts', () => {
    const parameters = 'kvEventsConfig: {discoverPods: true, podDiscoveryConfig: {socketPort: 5558}}';
    const env =
      ', {name: EP, value: "tcp://*:5557"}, {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: P, valueFrom: {}}';
    const at = (topic: string): readonly string[] =>
      found({
        'a.yaml':
          picker({ tag: 'v0.8.0', parameters }) + worker(events('$(EP)', topic), '', 'Qwen/Qwen3-8B', env),
      });
    expect(at('kw@$(POD_IP):$(P)@Qwen/Qwen3-8B')).toEqual([
      'kv-events-off a.yaml:30 error',
      'picker-index-empty a.yaml:30 error',
    ]);
    expect(at('kv@$(POD_IP):$(P)@Qwen/Qwen3-8B')).toEqual(['picker-index-empty a.yaml:30 error']);
  });
});

describe("a block size of llm-d's picker that is not its workers'", () => {
  const at = (tag: string, own: number, tokens: number): ReturnType<typeof inspect>['findings'] =>
    inspect({
      'a.yaml':
        picker({ tag }).replace('blockSize: 16', `blockSize: ${own}`) +
        worker(events(tag === 'v0.4.0' ? 'tcp://epp:5557' : 'tcp://*:5557')).replace('"16"', `"${tokens}"`),
    }).findings;

  it.each(['v0.4.0', 'v0.5.0', 'v0.8.0-rc.1'])('keeps %s from every block', (tag) => {
    for (const [own, tokens] of [
      [64, 128],
      [64, 16],
    ] as const) {
      const [finding, ...others] = at(tag, own, tokens);
      expect(finding).toMatchObject({ ruleId: 'block-size-mismatch', severity: 'error' });
      expect(finding?.consequence).toContain(`The picker ${tag} takes no KV event`);
      expect(others).toEqual([]);
    }
  });

  it('is divided from 0.9 on, where it can be', () => {
    expect(at('v0.9.0', 64, 128)).toEqual([]);
    const [finding] = at('v0.9.0', 64, 16);
    expect(finding).toMatchObject({ ruleId: 'block-size-mismatch', severity: 'warning' });
    expect(finding?.consequence).toContain('skips every KV event with fewer than 64 tokens');
  });

  it('is a warning for both where the release is not known', () => {
    const [dividing] = at('latest', 64, 128);
    expect(dividing).toMatchObject({ ruleId: 'block-size-mismatch', severity: 'warning' });
    expect(dividing?.consequence).toContain('Up to 0.8');
    expect(dividing?.consequence).toContain('divides the blocks');
    expect(at('latest', 64, 16)[0]?.consequence).toContain('skips every KV event');
  });
});

describe("a picker's configuration without a namespace", () => {
  const config = (name: string): string => `kind: ConfigMap
metadata: {name: ${name}}
data:
  c.yaml: |
    kind: EndpointPickerConfig
    plugins:
    - type: precise-prefix-cache-producer
      parameters: {tokenProcessorConfig: {blockSize: 64}}
    schedulingProfiles:
    - {name: default, plugins: [{pluginRef: precise-prefix-cache-producer}]}
`;
  const workerIn = (namespace: string): string =>
    worker(events('tcp://*:5556')).replace(
      '{name: vllm}',
      `{name: vllm-${namespace}, namespace: ${namespace}}`,
    );
  const rules = (files: Readonly<Record<string, string>>): readonly string[] =>
    inspect(files).findings.map(({ ruleId }) => ruleId);

  it('is meant for the workers beside it, where these are in one namespace', () => {
    expect(rules({ 'epp.yaml': config('epp'), 'vllm.yaml': workerIn('inference') })).toContain(
      'block-size-mismatch',
    );
  });

  it('is compared with none where they are in several', () => {
    const workers = workerIn('a') + workerIn('b');
    expect(rules({ 'epp.yaml': config('epp'), 'vllm.yaml': workers })).not.toContain('block-size-mismatch');
  });
});

describe("a worker that publishes nothing before llm-d's picker", () => {
  it('learns the address at which this picker listens, and gets no fix that would not work', () => {
    const files = { 'a.yaml': picker({ tag: 'v0.3.2' }) + worker('') };
    expect(found(files)).toEqual(['kv-events-off a.yaml:28 error']);
    expect(inspect(files).findings[0]?.fix).toBeUndefined();
    expect(advice(files)).toContain('"endpoint":"tcp://PICKER:5557","topic":"kv@$(POD_IP)@MODEL"');
    expect(advice(files)).toContain('the picker waits at tcp://*:5557');
  });

  it('learns the port to which this picker connects, and who has it', () => {
    const parameters = 'kvEventsConfig: {discoverPods: true, podDiscoveryConfig: {socketPort: 5600}}';
    const of = (env: string): string | undefined =>
      advice({ 'a.yaml': picker({ tag: 'v0.7.0', parameters }) + worker('', '', 'm', env) });
    expect(of('')).toContain('"endpoint":"tcp://*:5600"');
    expect(of('')).not.toContain('has port');
    expect(of(', {name: VLLM_NIXL_SIDE_CHANNEL_PORT, value: "5600"}')).toContain(
      'VLLM_NIXL_SIDE_CHANNEL_PORT has port 5600 in this pod',
    );
  });

  it('learns both where the release is not known', () => {
    expect(advice({ 'a.yaml': picker({ tag: 'latest' }) + worker('') })).toContain(
      'where it connects to pods',
    );
  });
});

describe("the hashes of workers before llm-d's picker", () => {
  const front = 'tcp://epp:5557';
  it.each(['builtin', 'sha256', 'xxhash'])('are not found by 0.2 to 0.4: %s', (algorithm) => {
    const more = `, --prefix-caching-hash-algo, ${algorithm}`;
    expect(found({ 'a.yaml': picker() + worker(events(front), more) })).toEqual([
      'hash-algorithm-differs a.yaml:29 error',
    ]);
  });

  it('are not found by default', () => {
    expect(found({ 'a.yaml': picker() + worker(events(front), '') })).toEqual([
      'hash-algorithm-differs a.yaml:28 error',
    ]);
  });

  it.each([
    ', --prefix-caching-hash-algo, sha256_cbor',
    ', --prefix-caching-hash-algo=sha256_cbor_64bit',
    ', $(MORE)',
  ])('are found, or may be: %s', (more) => {
    const env = ', {name: MORE, valueFrom: {}}';
    expect(found({ 'a.yaml': picker() + worker(events(front), more, 'Qwen/Qwen3-8B', env) })).toEqual([]);
  });

  it('have the form of the release: 64 bits in a chain up to 0.3.1', () => {
    const of = (tag: string): string | undefined =>
      advice({ 'a.yaml': picker({ tag }) + worker(events(front), ', --prefix-caching-hash-algo, builtin') });
    expect(of('v0.3.1')).toContain('sha256_cbor_64bit');
    expect(of('v0.4.0')).toContain('sha256_cbor, or');
  });

  it('are nothing to a picker with keys of its own, nor is the seed', () => {
    const other = (tag: string): readonly string[] =>
      found({ 'a.yaml': picker({ tag }).replace('"42"', '"7"') + worker(events('tcp://*:5557'), '') });
    expect(other('v0.6.1')).toEqual([]);
    expect(other('latest')).toEqual(['hash-seed-differs a.yaml:10 warning']);
  });

  it('are random without a seed, and of an empty one where the picker has none', () => {
    const seedless = worker(events(front)).replace('name: PYTHONHASHSEED', 'name: OTHER');
    const files = { 'a.yaml': picker() + seedless };
    expect(found(files)).toEqual(['hash-seed-differs a.yaml:28 error']);
    expect(advice(files)).toContain('PYTHONHASHSEED=42');
    const without = picker().replace(', hashSeed: "42"', '');
    expect(found({ 'a.yaml': without + worker(events(front)) })).toEqual([
      'hash-seed-differs a.yaml:8 error',
    ]);
    expect(found({ 'a.yaml': without + seedless })).toEqual(['hash-seed-differs a.yaml:28 error']);
    // What comes of a Secret is not seen.
    const unseen = seedless.replace('env: [', 'envFrom: [{secretRef: {name: s}}]\n        env: [');
    expect(found({ 'a.yaml': picker() + unseen })).toEqual([]);
    expect(found({ 'a.yaml': picker({ tag: 'v0.6.1' }) + seedless.replace('epp:5557', '*:5557') })).toEqual(
      [],
    );
  });

  it('have the seed of a picker that makes them itself', () => {
    expect(found({ 'a.yaml': picker().replace('"42"', '"7"') + worker(events(front)) })).toEqual([
      'hash-seed-differs a.yaml:10 error',
    ]);
  });
});

describe("the model of llm-d's picker", () => {
  const parameters = (model: string): string =>
    `indexerConfig: {tokenizersPoolConfig: {modelName: ${model}}}`;
  const of = (tokenizer: string, model: string, tag = 'v0.7.0', more = ''): readonly string[] =>
    found({
      'a.yaml':
        picker({ tag, parameters: parameters(tokenizer) }) +
        worker(events('tcp://*:5557', `kv@pod@${model}`), more, model),
    });

  it.each([
    ['Qwen/Qwen3-32B', 'meta-llama/Llama-3.2-3B-Instruct'],
    ['meta-llama/Llama-2-7b-chat-hf', 'meta-llama/Meta-Llama-3.1-8B-Instruct'],
    ['deepseek-ai/DeepSeek-V3', 'openai/gpt-oss-120b'],
    ['Qwen/Qwen3-32B', '/models/Llama-3.1-8B-Instruct'],
    ['Qwen/Qwen3-32B', '/data/hf/Qwen2.5-7B-Instruct/'],
  ])('is of another family: %s before %s', (tokenizer, model) => {
    expect(of(tokenizer, model)).toEqual(['picker-model-differs a.yaml:29 warning']);
    expect(of(tokenizer, model, 'latest')).toEqual(['picker-model-differs a.yaml:29 warning']);
    // Those releases take the tokenizer of the request's model.
    expect(of(tokenizer, model, 'v0.3.2', HASH)).not.toContain('picker-model-differs a.yaml:29 warning');
  });

  it.each([
    ['Qwen/Qwen3-32B', 'Qwen/Qwen3-32B'],
    ['Qwen/Qwen3-32B', 'RedHatAI/Qwen3-8B-FP8-dynamic'],
    ['Qwen/Qwen3-32B', 'Qwen/Qwen3-0.6B'],
    ['meta-llama/Llama-3.1-70B-Instruct', 'RedHatAI/Meta-Llama-3.3-70B-Instruct-FP8'],
    ['meta-llama/Llama-3.1-8B', 'deepseek-ai/DeepSeek-R1-Distill-Llama-8B'],
    ['Qwen/Qwen3-32B', '/models/llama'],
    ['Qwen/Qwen3-32B', '/models/Qwen3-8B'],
    ['Qwen/Qwen3-32B', 'acme/support-bot-7b'],
    ['acme/support-bot-7b', 'Qwen/Qwen3-32B'],
    ['Qwen/Qwen3-32B', '/models/model-7b'],
    ['mistralai/Mixtral-8x7B-Instruct-v0.1', 'mistralai/Mistral-7B-Instruct-v0.3'],
    ['facebook/opt-125m', 'facebook/opt-350m'],
    ['Qwen/Qwen3-32B', 'llama'],
    ['$MODEL', 'meta-llama/Llama-3.2-3B-Instruct'],
  ])('may be the same: %s before %s', (tokenizer, model) => {
    expect(of(tokenizer, model)).toEqual([]);
  });

  it.each([
    ['v0.7.0', 'vllm: {url: "http://render:8000"}, ', 'refuses it'],
    ['v0.9.0', '', 'refuses it'],
    ['v0.8.0', '', 'without an error'],
    ['v0.9.0', 'udsTokenizerConfig: {socketFile: /tmp/x}, ', 'without an error'],
  ])('is asked for by its name where a vLLM renders prompts: %s %s', (tag, more, says) => {
    const text = picker({ tag }).replace(
      'plugins:',
      `plugins:\n    - {type: token-producer, parameters: {${more}modelName: Qwen/Qwen3-32B}}`,
    );
    const model = 'meta-llama/Llama-3.2-3B-Instruct';
    const { findings } = inspect({
      'a.yaml': text + worker(events('tcp://*:5557', `kv@pod@${model}`), '', model),
    });
    const [one] = findings.filter(({ ruleId }) => ruleId === 'picker-model-differs');
    expect(one?.consequence).toContain(says);
    expect(one?.consequence.includes('refuses it')).toBe(says === 'refuses it');
  });

  it('is that of a tokenizer that the worker is given', () => {
    expect(of('Qwen/Qwen3-32B', 'own/llama-tune', 'v0.7.0', ', --tokenizer, Qwen/Qwen3-8B')).toEqual([]);
  });

  const named = (topic: string, more: string): readonly string[] =>
    found({ 'a.yaml': picker({ tag: 'v0.7.0' }) + worker(events('tcp://*:5557', topic), more) });

  it('of events is a name that the worker serves', () => {
    expect(named('kv@pod@Qwen/Qwen3-8B', ', --served-model-name, chat')).toEqual([
      'picker-model-differs a.yaml:29 warning',
    ]);
    expect(named('kv@pod@Qwen/Qwen3-32B', '')).toEqual(['picker-model-differs a.yaml:29 warning']);
  });

  it.each([
    ['kv@pod@chat', ', --served-model-name, chat'],
    ['kv@pod@Qwen/Qwen3-8B', ', --served-model-name, chat, Qwen/Qwen3-8B'],
    ['kv@pod@Qwen/Qwen3-8B', ', --served-model-name, $(NAME)'],
    ['kv@pod@$MODEL', ''],
    ['kv@', ''],
  ])('of events is not doubted: %s with %s', (topic, more) => {
    expect(named(topic, more).filter((one) => one.startsWith('picker-model'))).toEqual([]);
  });
});

describe('a picker that guesses', () => {
  const guess = picker({ tag: 'v0.2.1' }, 'guess').replace('precise-', '');
  const tracking = picker({ tag: 'v0.2.1' })
    .replace('precise-', '')
    .replace('tokenP', 'mode: cache_tracking\n        tokenP');
  const silent = worker('');

  it('is the router of its own file, and of its own kustomization', () => {
    expect(found({ 'x/model.yaml': guess + silent, 'x/epp.yaml': tracking })).toEqual([]);
    const kustomization = 'kind: Kustomization\nresources: [model.yaml]\n';
    expect(
      found({
        'x/model.yaml': guess + silent,
        'x/epp.yaml': tracking,
        'x/kustomization.yaml': kustomization,
      }),
    ).toEqual([]);
    expect(found({ 'x/model.yaml': silent, 'x/epp.yaml': tracking })).toEqual([
      'kv-events-off x/model.yaml:9 error',
    ]);
  });

  it('is said to be the reason why nothing is compared', () => {
    const { notChecked } = inspect({ 'x/model.yaml': guess + silent });
    expect(notChecked.map(({ program, reason }) => `${program}: ${reason}`)).toEqual([
      'llm-d endpoint picker: it guesses from its own decisions, with blocks of its own',
      'vllm: the router beside it asks nothing of it: it guesses, or goes by load',
    ]);
  });
});

describe('the plugin that reads the index of a picker', () => {
  const config = (asked: string, more = ''): string => `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: precise-prefix-cache-producer
    parameters: {tokenProcessorConfig: {blockSize: 16}}
  - type: prefix-cache-scorer
    name: by-prefix
    parameters: {prefixMatchInfoProducerName: precise-prefix-cache-producer}
${more}  - type: queue-scorer
schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}${asked}]}]
`;

  it('is asked by a profile', () => {
    expect(found({ 'epp.yaml': config(', {pluginRef: by-prefix, weight: 3}') })).toEqual([]);
    expect(found({ 'epp.yaml': config('') })).toEqual(['picker-index-empty epp.yaml:6 error']);
  });

  it('may be one that a handler of profiles asks', () => {
    const decider =
      '  - type: prefix-based-pd-decider\n    parameters: {prefixMatchInfoProducerName: precise-prefix-cache-producer}\n';
    expect(found({ 'epp.yaml': config('', decider) })).toEqual([]);
  });

  it('is the scorer itself in the mode of the first releases', () => {
    const tracking = (asked: string): string => `inferenceExtension:
  image: {name: llm-d-inference-scheduler, hub: ghcr.io/llm-d, tag: v0.2.1}
  pluginsConfigFile: c.yaml
  pluginsCustomConfig:
    c.yaml: |
      apiVersion: inference.networking.x-k8s.io/v1alpha1
      kind: EndpointPickerConfig
      plugins:
        - type: prefix-cache-scorer
          parameters: {mode: cache_tracking, indexerConfig: {tokenProcessorConfig: {blockSize: 64, hashSeed: "42"}}}
        - type: queue-scorer
      schedulingProfiles: [{name: default, plugins: [{pluginRef: ${asked}}]}]
`;
    expect(found({ 'values.yaml': tracking('prefix-cache-scorer') })).toEqual([]);
    expect(found({ 'values.yaml': tracking('queue-scorer') })).toEqual([
      'picker-index-empty values.yaml:9 error',
    ]);
  });
});

describe('the port at which a picker waits', () => {
  const at = (port: number, more: string): string =>
    picker({
      tag: 'v0.8.0',
      parameters: `kvEventsConfig: {discoverPods: false, zmqEndpoint: "tcp://*:${port}"}`,
    }) + more;
  const service = (targetPort: number): string =>
    `kind: Service\nmetadata: {name: epp}\nspec: {ports: [{port: 5556, targetPort: ${targetPort}}]}\n---\n`;
  const from = worker(events('tcp://epp:5556'), '');

  it('is where its Service leads', () => {
    expect(found({ 'a.yaml': at(5556, service(5556)) + from })).toEqual([]);
    expect(found({ 'a.yaml': at(5557, service(5557)) + from })).toEqual([]);
    expect(found({ 'a.yaml': at(5557, service(5556)) + from })).toEqual([
      expect.stringMatching(/^picker-index-empty a\.yaml:\d+ warning$/),
    ]);
  });

  it('is compared with an endpoint that a variable has, of which a part is known at run time alone', () => {
    const env =
      ', {name: NS, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}, {name: EP, value: "tcp://epp.$(NS).svc:5558"}';
    const far = worker(events('$(EP)'), '', 'Qwen/Qwen3-8B', env);
    const files = (own: string) => ({ 'epp.yaml': at(5556, service(5556)), 'vllm.yaml': own });
    expect(found(files(far))).toEqual(['picker-index-empty vllm.yaml:10 warning']);
    expect(found(files(far.replace('svc:5558', 'svc:5556')))).toEqual([]);
  });
});

describe('one of several workers of a model before one picker', () => {
  const values = `router:
  modelServers: {matchLabels: {app: chat}}
  epp:
    pluginsCustomConfig:
      c.yaml: |
        apiVersion: llm-d.ai/v1alpha1
        kind: EndpointPickerConfig
        plugins:
        - type: precise-prefix-cache-producer
          parameters: {tokenProcessorConfig: {blockSize: 64}, kvEventsConfig: {discoverPods: true, podDiscoveryConfig: {socketPort: 5557}}}
`;
  const one = (name: string, size: number, more: string, app = 'chat', model = 'm/x'): string =>
    `kind: Deployment
metadata: {name: ${name}}
spec:
  template:
    metadata: {labels: {app: ${app}}}
    spec:
      containers:
      - name: vllm
        image: vllm/vllm-openai:v0.22.0
        command: [vllm, serve, ${model}]
        args: [--block-size, "${size}"${more}]
---
`;
  const publishing = `, --kv-events-config, '${events('tcp://*:5557', 'kv@pod@m/x')}'`;
  const beside = (other: string): readonly string[] =>
    found({ 'values.yaml': values, 'vllm.yaml': one('a', 64, publishing) + other });

  it('has the size of the others', () => {
    expect(beside(one('b', 32, publishing))).toEqual(['block-size-mismatch vllm.yaml:23 warning']);
    expect(beside(one('b', 128, publishing))).toEqual([]);
  });

  it('publishes as the others do', () => {
    expect(beside(one('b', 64, ''))).toEqual(['kv-events-off vllm.yaml:22 warning']);
  });

  it('may be something else: of another model, or of pods that the picker does not choose', () => {
    const other = events('tcp://*:5557', 'kv@pod@m/y');
    expect(beside(one('b', 32, `, --kv-events-config, '${other}'`, 'chat', 'm/y'))).toEqual([]);
    expect(beside(one('b', 64, '', 'chat', 'm/y'))).toEqual([]);
    expect(beside(one('b', 32, '', 'batch'))).toEqual([]);
  });
});
