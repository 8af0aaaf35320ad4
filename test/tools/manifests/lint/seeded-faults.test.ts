import { describe, expect, it } from 'vitest';
import { deployment, found, inspect } from './support.js';

/** A change of one file, and what has to be said of it. */
interface Fault {
  readonly file: string;
  readonly was: string;
  readonly now: string;
  readonly says: string;
}

const picker = (plugin: string, more = ''): string => `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: ${plugin}
    parameters:
${more}      tokenProcessorConfig:
        blockSize: 64
        hashSeed: "42"
schedulingProfiles: [{name: default, plugins: [{pluginRef: ${plugin}}]}]
`;

const indented = (text: string, by: string): string => text.replace(/^(?=.)/gm, by);

const pickerValues = (config: string): string =>
  `inferenceExtension:\n  pluginsCustomConfig:\n    x.yaml: |\n${indented(config, '      ')}`;

/** Values of llm-d's model service: one decode and one prefill worker. */
const modelService = `modelArtifacts: {name: m/x}
decode:
  containers:
    - name: vllm
      modelCommand: vllmServe
      args:
        - --block-size=64
        - --kv-events-config={"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557","topic":"kv@"}
        - --kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_both"}
      env: [{name: PYTHONHASHSEED, value: "42"}]
prefill:
  containers:
    - name: vllm
      modelCommand: vllmServe
      args:
        - --kv-transfer-config={"kv_connector":"NixlConnector","kv_role":"kv_both"}
      env:
        - {name: PYTHONHASHSEED, value: "42"}
        - {name: VLLM_NIXL_SIDE_CHANNEL_HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
`;

const GUIDE = {
  'g/ms-kv/values.yaml': modelService,
  'g/ms-kv/values_xpu.yaml': modelService,
  'g/gaie-kv/values.yaml': pickerValues(picker('precise-prefix-cache-scorer')),
  // Another way to run the same guide.
  'g/gaie-kv-remote/values.yaml': pickerValues(picker('precise-prefix-cache-scorer')),
};
const MS = 'g/ms-kv/values.yaml';

const isvc = (name: string): string => `apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: ${name}}
spec:
  template:
    containers:
      - name: main
        command: [vllm, serve, m]
        args: [--block-size, "64", --kv-events-config, '{"enable_kv_cache_events":true,"publisher":"zmq","topic":"kv@pod@m"}']
  router:
    scheduler:
      config:
        inline:
${indented(picker('precise-prefix-cache-producer'), '          ')}`;

/** A pair of TensorRT-LLM servers that one object starts. */
const role = (name: string, tokens: number): string => `    - name: ${name}
      template:
        spec:
          containers:
            - name: main
              command: [sh, -c]
              args:
                - |
                  cat > /tmp/e.yaml <<'EOF'
                  kv_cache_config:
                    tokens_per_block: ${tokens}
                  EOF
                  trtllm-serve m --extra_llm_api_options /tmp/e.yaml
`;
const TRTLLM_PAIR = `apiVersion: orchestration.aibrix.ai/v1alpha1
kind: StormService
metadata: {name: pair}
spec:
  roles:
${role('prefill', 32)}${role('decode', 32)}`;

const OLD_SCRIPT = `python3 -m dynamo.frontend --router-mode kv &
python3 -m dynamo.sglang.worker --model-path m --kv-events-config '{"publisher":"zmq"}' &
python3 -m dynamo.sglang.worker --model-path m --page-size 64 --kv-events-config '{"publisher":"zmq"}'
`;

const LMCACHE = deployment(
  'engine',
  'command: [vllm, serve, m, --kv-offloading-size, "9", --kv-offloading-backend, lmcache]\nenv: [{name: LMCACHE_CHUNK_SIZE, value: "256"}]',
);

const SETS: Readonly<Record<string, readonly [Readonly<Record<string, string>>, readonly Fault[]]>> = {
  'values of two charts in one guide': [
    GUIDE,
    [
      {
        file: MS,
        was: '--block-size=64',
        now: '--block-size=16',
        says: 'block-size-mismatch g/gaie-kv/values.yaml:10 warning',
      },
      {
        file: 'g/gaie-kv/values.yaml',
        was: 'hashSeed: "42"',
        now: 'hashSeed: "7"',
        says: 'hash-seed-differs g/gaie-kv/values.yaml:11 warning',
      },
      { file: MS, was: '"publisher":"zmq"', now: '"publisher":"null"', says: `kv-events-off ${MS}:8 error` },
      {
        file: MS,
        was: '        - --block-size=64\n',
        now: '        - --no-enable-prefix-caching\n',
        says: `prefix-caching-off ${MS}:7 error`,
      },
      {
        file: MS,
        was: '        - --block-size=64\n',
        now: '        - --kv-cache-dtype=fp8\n',
        says: `pair-settings ${MS}:7 warning`,
      },
      {
        file: MS,
        was: 'valueFrom: {fieldRef: {fieldPath: status.podIP}}',
        now: 'value: localhost',
        says: `side-channel-host ${MS}:19 error`,
      },
    ],
  ],
  'a picker of the first releases of llm-d': [
    {
      ...GUIDE,
      'g/gaie-kv/values.yaml': pickerValues(picker('prefix-cache-scorer', '      mode: cache_tracking\n')),
    },
    [
      {
        file: MS,
        was: '--block-size=64',
        now: '--block-size=16',
        says: 'block-size-mismatch g/gaie-kv/values.yaml:11 warning',
      },
    ],
  ],
  'two services of KServe, each with a picker': [
    { 'a.yaml': `${isvc('one')}---\n${isvc('two')}` },
    [
      { file: 'a.yaml', was: '"64"', now: '"16"', says: 'block-size-mismatch a.yaml:20 warning' },
      {
        file: 'a.yaml',
        was: '"publisher":"zmq"',
        now: '"publisher":"null"',
        says: 'kv-events-off a.yaml:9 error',
      },
    ],
  ],
  'a pair of TensorRT-LLM': [
    { 'a.yaml': TRTLLM_PAIR },
    [
      {
        file: 'a.yaml',
        was: 'tokens_per_block: 32',
        now: 'tokens_per_block: 64',
        says: 'pair-settings a.yaml:29 error',
      },
    ],
  ],
  'modules of an old Dynamo': [
    { 'a.sh': OLD_SCRIPT },
    [
      {
        file: 'a.sh',
        was: '"publisher":"zmq"',
        now: '"publisher":"null"',
        says: 'kv-events-off a.sh:2 error',
      },
    ],
  ],
  "chunks of LMCache over blocks of vLLM's choice": [
    { 'a.yaml': LMCACHE },
    [{ file: 'a.yaml', was: '"256"', now: '"100"', says: 'lmcache-chunk-size a.yaml:11 warning' }],
  ],
};

describe.each(Object.entries(SETS))('%s', (_name, [files, faults]) => {
  it('is quiet as it is', () => {
    expect(found(files).filter((one) => !one.startsWith('hash-seed'))).toEqual([]);
  });

  it.each(faults)('$says', ({ file, was, now, says }) => {
    const text = files[file] ?? '';
    expect(text).toContain(was);
    expect(found({ ...files, [file]: text.replace(was, now) })).toContain(says);
  });
});

describe('a guide without a picker beside another one', () => {
  const worker = deployment('engine', 'command: [vllm, serve, m, --block-size, "16"]');
  const kustomization = 'kind: Kustomization\nresources: [worker.yaml]\n';
  it('is compared with nothing, whatever form it has', () => {
    const other = {
      'guides/precise/router/values.yaml': pickerValues(picker('precise-prefix-cache-scorer')),
      'guides/precise/modelserver/kustomization.yaml': kustomization,
      'guides/precise/modelserver/worker.yaml': deployment(
        'engine',
        `command: [vllm, serve, m, --block-size, "64", --kv-events-config, '{"enable_kv_cache_events":true,"publisher":"zmq","topic":"kv@pod@m"}']\nenv: [{name: PYTHONHASHSEED, value: "42"}]`,
      ),
    };
    expect(found({ ...other, 'guides/baseline/worker.yaml': worker })).toEqual([]);
    expect(
      found({
        ...other,
        'guides/baseline/kustomization.yaml': kustomization,
        'guides/baseline/worker.yaml': worker,
      }),
    ).toEqual([]);
  });
});

describe('a kustomization with parts that are not here', () => {
  const worker = deployment('engine', 'command: [vllm, serve, m, --block-size, "16"]');
  const picked = {
    'g/values.yaml': pickerValues(picker('precise-prefix-cache-scorer')),
    'g/o/worker.yaml': worker,
  };
  const seen = (resources: string): readonly string[] => {
    const { findings, notChecked } = inspect({
      ...picked,
      'g/o/kustomization.yaml': `kind: Kustomization\n${resources}`,
    });
    return [
      ...findings.map(({ ruleId }) => ruleId),
      ...notChecked.map(({ program, reason }) => `${program}, ${reason}`),
    ];
  };

  it.each([
    'https://github.com/llm-d/llm-d//guides/x?ref=main',
    'github.com/llm-d/llm-d/guides/x?ref=v0.4',
    'git@github.com:llm-d/llm-d.git//guides/x',
    'ssh://git@example.com/x.git',
  ])('says once that %s is not fetched, and compares its workers with no router elsewhere', (address) => {
    expect(seen(`resources: [worker.yaml, "${address}"]\n`)).toContain(
      'kustomization, its base is at an address, which is not fetched: lint what kubectl kustomize makes of it',
    );
    expect(seen(`resources: [worker.yaml, "${address}"]\n`)).not.toContain('block-size-mismatch');
  });

  const NO_FILE = 'kustomization, a file that it names is not among these files';

  it.each([
    ['a resource', 'resources: [worker.yaml, more.yaml]\n'],
    ['a patch', 'resources: [worker.yaml]\npatches: [{path: more.yaml}]\n'],
    ['a patch of the old kind', 'resources: [worker.yaml]\npatchesStrategicMerge: [more.yaml]\n'],
    [
      'a patch of operations',
      'resources: [worker.yaml]\npatchesJson6902: [{path: more.yaml, target: {kind: X}}]\n',
    ],
  ])('names %s that is not among the files', (_, text) => {
    expect(seen(text)).toContain(NO_FILE);
  });

  it('names a kustomization of which no base is among the files, by its own place', () => {
    const { notChecked } = inspect({
      'llm/o/kustomization.yaml': 'kind: Kustomization\nresources:\n- ../../base\n',
    });
    expect(notChecked).toMatchObject([
      {
        reason: 'its base is not among these files',
        places: [{ file: 'llm/o/kustomization.yaml', line: 3 }],
      },
    ]);
    expect(
      inspect({ 'web/kustomization.yaml': 'kind: Kustomization\nresources: [../base]\n' }).notChecked,
    ).toEqual([]);
  });

  it('names a chart, and a folder that is not among the files', () => {
    expect(
      seen('resources: [worker.yaml]\nhelmCharts: [{name: x, repo: "oci://example.com/x"}]\n'),
    ).toContain(
      'kustomization, it has a chart, which is not rendered here: lint what kubectl kustomize --enable-helm makes of it',
    );
    expect(seen('resources: [worker.yaml, ../../base]\n')).toContain(
      'kustomization, its base is not among these files',
    );
    expect(seen('resources: [worker.yaml, secret.yaml]\n')).toContain('block-size-mismatch');
    expect(seen('resources: [worker.yaml, secret.yaml]\n')).not.toContain(NO_FILE);
  });
});
