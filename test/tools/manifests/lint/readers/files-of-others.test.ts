import { describe, expect, it } from 'vitest';
import { inspectTexts } from '../../../../../src/tools/manifests/lint/lint-texts.js';
import { envFilesIn } from '../../../../../src/tools/manifests/lint/readers/compose.js';
import { deployment, found, inspect } from '../support.js';

const compose = (service: string): string => `services:
  router:
    image: i
    command: [python3, -m, dynamo.router, --router-block-size, "32"]
  worker:
    image: i
${service.replace(/^/gm, '    ')}
`;

describe("the environment of a compose file's variables", () => {
  const command = `command: python3 -m dynamo.vllm --model m --block-size \${SIZE:-32}`;
  /** The findings of a compose file with environment files beside it. */
  const rules = (service: string, files: Readonly<Record<string, string>>): readonly string[] => {
    const texts = Object.entries({ 'd/compose.yaml': compose(service), ...files });
    const given = new Map(Object.keys(files).map((file) => [file, [file]]));
    return inspectTexts(
      texts.map(([file, text]) => ({ file, text })),
      { given },
    ).findings.map(({ ruleId, file, line, fix }) => {
      // Such files hold secrets, and are never changed.
      expect(fix?.file.endsWith('env')).not.toBe(true);
      return `${ruleId} ${file}:${line}`;
    });
  };
  const mismatch = ['block-size-mismatch d/compose.yaml:4'];

  it.each([
    ['as it is', 'SIZE=64\n', mismatch],
    ['with quotes and a comment', 'A=1\r\nexport SIZE="64" # tokens\r\n', mismatch],
    ['in single quotes', "SIZE='64'\n", mismatch],
    ['with a comment behind it', 'SIZE=64 # tokens\n', mismatch],
    ['out of another one', `PAGE=64\nSIZE=\${PAGE}\n`, mismatch],
    ['empty, so that the default counts', 'SIZE=\n', []],
    ['out of one that is not known', `SIZE=\${PAGE}\n`, []],
    ['of another name', 'SIZES=64\n', []],
  ])('is .env beside it: a value %s', (_how, env, expected) => {
    expect(rules(command, { 'd/.env': env })).toEqual(expected);
  });

  it('is not the .env of another folder', () => {
    expect(rules(command, { '.env': 'SIZE=64\n' })).toEqual([]);
  });

  it('is put into lists, and taken by a name without a value', () => {
    const listed = `command: [python3, -m, dynamo.vllm, --model, m, --block-size, "\${SIZE}"]`;
    expect(rules(listed, { 'd/.env': 'SIZE=64\n' })).toEqual(mismatch);
    const shell = `command: ["sh", "-c", "python3 -m dynamo.vllm --model m --block-size $$SIZE"]\nenvironment:\n  - SIZE`;
    expect(rules(shell, { 'd/.env': 'SIZE=64\n' })).toEqual(mismatch);
  });

  it.each([
    ['a text', 'env_file: ./worker.env'],
    ['a list', 'env_file:\n  - none.env\n  - worker.env'],
    ['a list of mappings', 'env_file:\n  - path: worker.env\n    required: false'],
  ])('is in env_file for the service: %s', (_how, entry) => {
    const shell = `${entry}\ncommand: ["sh", "-c", "python3 -m dynamo.vllm --model m --block-size $$SIZE"]`;
    expect(rules(shell, { 'd/worker.env': 'SIZE=64\n' })).toEqual(mismatch);
    expect(rules(shell, {})).toEqual([]);
  });

  it('gives way to environment', () => {
    const shell = `env_file: worker.env\nenvironment: {SIZE: "32"}\ncommand: ["sh", "-c", "python3 -m dynamo.vllm --model m --block-size $$SIZE"]`;
    expect(rules(shell, { 'd/worker.env': 'SIZE=64\n' })).toEqual([]);
  });

  it('is looked for only by compose files that use one, and never outside of their folder', () => {
    const files = (entry: string): readonly string[] => envFilesIn(compose(entry));
    expect(files(command)).toEqual(['.env']);
    expect(files('env_file: [a.env, b/c.env, ../d.env, /etc/e.env, "x/../../f.env"]')).toEqual([
      '.env',
      'a.env',
      'b/c.env',
    ]);
    expect(files('command: [x]')).toEqual([]);
    expect(envFilesIn('kind: Pod\nspec: $X\n')).toEqual([]);
  });

  it("shows an engine's file that is mounted", () => {
    const service =
      'command: python3 -m dynamo.vllm --model m --config /cfg/v.yaml\nvolumes: ["./conf:/cfg:ro"]';
    const text = compose(service);
    const config = 'block-size: 64\n';
    expect(found({ 'd/compose.yaml': text, 'd/conf/v.yaml': config })).toEqual([
      'block-size-mismatch d/compose.yaml:4 error',
    ]);
    expect(found({ 'd/compose.yaml': text, 'd/v.yaml': config })).toEqual([]);
  });
});

describe("LMCache's file", () => {
  const worker = (name: string, more = ''): string =>
    deployment(
      name,
      `command: [vllm, serve, m, --block-size, "64", --kv-offloading-size, "9", --kv-offloading-backend, lmcache]\nenv:\n- {name: LMCACHE_CONFIG_FILE, value: /cfg/${name}.yaml}\n${more}volumeMounts: [{name: cfg, mountPath: /cfg}]`,
      '      volumes: [{name: cfg, configMap: {name: lmcache}}]\n',
    );
  const map = (chunk: number): string =>
    `kind: ConfigMap\nmetadata: {name: lmcache}\ndata:\n  a.yaml: |\n    chunk_size: 256\n    remote_url: redis://r\n  b.yaml: |\n    chunk_size: ${chunk}\n    remote_url: redis://r\n---\n`;

  it('in a ConfigMap has chunks of whole blocks', () => {
    expect(found({ 'x.yaml': worker('b') + map(100) })).toEqual(['lmcache-chunk-size x.yaml:23 warning']);
    expect(found({ 'x.yaml': worker('b') + map(128) })).toEqual([]);
  });

  it('has the same chunks for all that share a store', () => {
    expect(found({ 'x.yaml': worker('a') + worker('b') + map(128) })).toEqual([
      'lmcache-chunk-size x.yaml:38 warning',
    ]);
    expect(found({ 'x.yaml': worker('a') + worker('b') + map(256) })).toEqual([]);
  });

  it('gives way to the variable, which LMCache reads after it', () => {
    const own = worker('b', '- {name: LMCACHE_CHUNK_SIZE, value: "256"}\n');
    expect(found({ 'x.yaml': own + map(100) })).toEqual([]);
  });

  it('beside a script is read, and proves nothing while it is not there', () => {
    const script =
      'LMCACHE_CONFIG_FILE=configs/p.yaml vllm serve m --block-size 64 --kv-offloading-size 9 --kv-offloading-backend lmcache\n';
    expect(found({ 'x/a.sh': script, 'x/configs/p.yaml': 'chunk_size: 100\n' })).toEqual([
      'lmcache-chunk-size x/configs/p.yaml:1 warning',
    ]);
    expect(found({ 'x/a.sh': script })).toEqual([]);
  });
});

describe('models of production-stack', () => {
  const model = (name: string, dtype: string, lmcache: string, more = ''): string =>
    `  - name: ${name}
    modelURL: m/x
    vllmConfig: {enablePrefixCaching: true${dtype === '' ? '' : `, dtype: ${dtype}`}}
    lmcacheConfig: {enabled: true, ${lmcache}}
    env: [{name: A, value: b}${more}]
`;
  const stack = (models: string, logic = 'disaggregated_prefill'): string =>
    `servingEngineSpec:\n  modelSpec:\n${models}routerSpec: {routingLogic: ${logic}}\n`;

  it('have a part each and one dtype', () => {
    const pair = (one: string, other: string): string =>
      stack(model('p', one, 'kvRole: kv_producer') + model('d', other, 'kvRole: kv_consumer'));
    expect(found({ 'v.yaml': pair('float16', 'bfloat16') })).toEqual(['pair-settings v.yaml:10 error']);
    expect(found({ 'v.yaml': pair('bfloat16', 'bfloat16') })).toEqual([]);
    expect(found({ 'v.yaml': pair('float16', '') })).toEqual([]);
  });

  it("have the same chunks where they report to LMCache's controller", () => {
    const chunk = (size: number): string => `, {name: LMCACHE_CHUNK_SIZE, value: "${size}"}`;
    const two = (size: number, controller: boolean): string =>
      stack(
        [256, size]
          .map((one, at) => model(`m${at}`, '', `enableController: ${controller}`, chunk(one)))
          .join(''),
        controller ? 'kvaware' : 'roundrobin',
      );
    expect(found({ 'v.yaml': two(128, true) })).toEqual(['lmcache-chunk-size v.yaml:12 warning']);
    expect(found({ 'v.yaml': two(256, true) })).toEqual([]);
    expect(found({ 'v.yaml': two(128, false) })).toEqual([]);
  });
});

describe('Ray Serve LLM', () => {
  const service = (kwargs: string): string => `apiVersion: ray.io/v1
kind: RayService
metadata: {name: r}
spec:
  serveConfigV2: |
    applications:
    - name: llms
      import_path: ray.serve.llm:build_openai_app
      args:
        llm_configs:
        - model_loading_config: {model_id: m}
          engine_kwargs: ${kwargs}
          runtime_env: {env_vars: {LMCACHE_CHUNK_SIZE: "100"}}
`;

  it('starts vLLM with its engine_kwargs and variables', () => {
    const { findings, fleets } = inspect({
      'x.yaml': service('{block_size: 64, kv_offloading_size: 9, kv_offloading_backend: lmcache}'),
    });
    expect(fleets.flatMap(({ workers }) => workers)).toMatchObject([
      { model: 'm', size: { tokens: 64 }, launch: { program: 'Ray Serve LLM (vLLM)' } },
    ]);
    expect(findings.map(({ ruleId, line }) => `${ruleId} ${line}`)).toEqual(['lmcache-chunk-size 13']);
    expect(findings[0]?.message).toContain('blocks of 64');
  });

  it('is named as seen, also in a configuration of its own', () => {
    const own = 'applications:\n- args: {llm_configs: [{engine_kwargs: {block_size: 32}}, {}]}\n';
    expect(inspect({ 'serve.yaml': own }).notChecked).toMatchObject([
      { program: 'Ray Serve LLM (vLLM)', count: 2 },
    ]);
  });

  it.each([
    'llm_configs: [',
    'applications: {llm_configs: 1}',
    'applications: [{args: {llm_configs: [1, [], x.yaml]}}]',
  ])('is nothing else: %s', (text) => {
    expect(found({ 'x.yaml': service('5').replace(/applications:[\s\S]*/, text) })).toEqual([]);
    expect(inspect({ 'x.yaml': text }).fleets.flatMap(({ launches }) => launches)).toEqual([]);
  });
});

describe('a pair of Ray Serve LLM', () => {
  const pair = (prefill: string, decode: string): string => `applications:
  - import_path: ray.serve.llm:build_pd_openai_app
    args:
      prefill_config:
        model_loading_config: {model_id: m}
        engine_kwargs: {kv_transfer_config: {kv_connector: ${prefill}, kv_role: kv_both}}
      decode_config:
        model_loading_config: {model_id: m}
        engine_kwargs: {kv_transfer_config: {kv_connector: ${decode}, kv_role: kv_both}}
`;

  it('has one connector', () => {
    expect(found({ 'x.yaml': pair('NixlConnector', 'P2pNcclConnector') })).toEqual([
      'pair-settings x.yaml:9 error',
    ]);
    expect(found({ 'x.yaml': pair('NixlConnector', 'NixlConnector') })).toEqual([]);
  });
});

describe("the topic of KV events before llm-d's picker", () => {
  const picker = (filter: string): string => `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: precise-prefix-cache-producer
  parameters:
    tokenProcessorConfig: {blockSize: 64}
    kvEventsConfig: {topicFilter: "${filter}"}
---
`;
  const worker = (config: string): string =>
    deployment('w', `command: [vllm, serve, m, --block-size, "64", --kv-events-config, '${config}']`);
  const events = (topic: string): string =>
    `{"enable_kv_cache_events": true, "publisher": "zmq"${topic === '' ? '' : `, "topic": "${topic}"`}}`;

  it.each([
    ['kv-events', 'publishes its KV events under the topic "kv-events", and'],
    ['', 'publishes its KV events without a topic, and'],
    ['events@$(POD_IP)@m', 'publishes its KV events under the topic "events@"…, and'],
  ])('reaches it only where it begins as its subscription: %s', (topic, words) => {
    const { findings } = inspect({ 'x.yaml': picker('kv@') + worker(events(topic)) });
    expect(findings.map(({ ruleId, line }) => `${ruleId} ${line}`)).toEqual(['kv-events-off 18']);
    expect(findings[0]?.message).toContain(words);
    expect(findings[0]?.related).toMatchObject([{ line: 7 }]);
  });

  it.each(['kv@$(POD_IP)@m', 'kv@10.0.0.1@m', '$(PREFIX)@m', 'k$(REST)', '{{ .Topic }}'])(
    'is not doubted: %s',
    (topic) => {
      expect(found({ 'x.yaml': picker('kv@') + worker(events(topic)) })).toEqual([]);
    },
  );

  it('has to begin with kv@ where no subscription is written, and an empty one takes all', () => {
    const unwritten = picker('kv@').replace(/ {4}kvEvents.*\n/, '');
    expect(found({ 'x.yaml': picker('') + worker(events('x')) })).toEqual([]);
    expect(found({ 'x.yaml': unwritten + worker(events('kv@pod@m')) })).toEqual([]);
    const { findings } = inspect({ 'x.yaml': unwritten + worker(events('x')) });
    expect(findings).toMatchObject([
      { ruleId: 'kv-events-off', line: 17, message: expect.stringContaining('begin with "kv@" by default') },
    ]);
  });
});

describe('the configuration of trtllm-serve disaggregated', () => {
  const config = (router: string): string => `hostname: localhost
context_servers:
  urls: ["localhost:8001"]
  router: {${router}}
generation_servers:
  urls: ["localhost:8002"]
`;
  const servers = (first: number, second: number): string =>
    [first, second]
      .map(
        (tokens, at) =>
          `cat > e${at}.yaml <<EOF\nkv_cache_config: {tokens_per_block: ${tokens}}\nEOF\ntrtllm-serve m --port 800${at + 1} --extra_llm_api_options e${at}.yaml &\n`,
      )
      .join('');
  const script = (router: string): string =>
    `cat > disagg.yaml <<EOF\n${config(router)}EOF\ntrtllm-serve disaggregated -c disagg.yaml\n`;

  it('is read in a script, and its router compared with the servers beside it', () => {
    const { findings } = inspect({ 'a.sh': servers(64, 64) + script('type: kv_cache_aware') });
    expect(findings.map(({ ruleId, line }) => `${ruleId} ${line}`)).toEqual(['block-size-mismatch 13']);
    expect(findings[0]?.message).toContain('32 tokens by default, and its servers 64');
    expect(found({ 'a.sh': servers(32, 32) + script('type: kv_cache_aware') })).toEqual([]);
    expect(found({ 'a.sh': servers(64, 64) + script('type: round_robin') })).toEqual([]);
  });

  it('has servers of one size', () => {
    const { findings } = inspect({ 'a.sh': servers(32, 64) + script('type: round_robin') });
    expect(findings.map(({ ruleId, line }) => `${ruleId} ${line}`)).toEqual(['block-size-mismatch 6']);
  });

  it('is read in a ConfigMap, for the pod that mounts it', () => {
    const pod = deployment(
      'd',
      'command: [trtllm-serve, disaggregated, --config_file, /cfg/d.yaml]\nvolumeMounts: [{name: c, mountPath: /cfg}]',
      '      volumes: [{name: c, configMap: {name: c}}]\n',
    );
    const map = `kind: ConfigMap\nmetadata: {name: c}\ndata:\n  d.yaml: |\n    kv_cache_config: {tokens_per_block: 64, event_buffer_max_size: 9}\n    context_servers: {router: {type: kv_cache_aware}}\n    generation_servers: {router: {type: kv_cache_aware, tokens_per_block: 32}}\n---\n`;
    expect(found({ 'x.yaml': pod + map })).toEqual([
      'block-size-mismatch x.yaml:19 error',
      'block-size-mismatch x.yaml:20 error',
    ]);
  });

  it('is named while it is not there', () => {
    expect(inspect({ 'a.sh': 'trtllm-serve disaggregated -c $DIR/x.yaml\n' }).notChecked).toMatchObject([
      { program: 'trtllm-serve disaggregated', reason: expect.stringContaining('--with FILE') },
    ]);
  });
});
