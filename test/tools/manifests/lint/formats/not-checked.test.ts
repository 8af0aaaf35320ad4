import { describe, expect, it } from 'vitest';
import type { NotChecked } from '../../../../../src/tools/manifests/lint/facts/not-checked.js';
import { formatGithub } from '../../../../../src/tools/manifests/lint/formats/github.js';
import { formatJson } from '../../../../../src/tools/manifests/lint/formats/json.js';
import { formatSarif } from '../../../../../src/tools/manifests/lint/formats/sarif.js';
import { formatText } from '../../../../../src/tools/manifests/lint/formats/text.js';
import { inspectTexts } from '../../../../../src/tools/manifests/lint/lint-texts.js';

const PLACES = [12, 20, 31, 40].map((line) => ({ file: 'a.yaml', line, column: 3 }));
const SEEN: readonly NotChecked[] = [
  { program: 'Ollama', reason: 'no rule knows it', count: 4, places: PLACES },
  { program: 'vllm', reason: 'no router is beside it', count: 1, places: PLACES.slice(0, 1) },
];
const LINE =
  'seen and not checked: 4 × Ollama, no rule knows it (a.yaml:12, a.yaml:20, a.yaml:31, …), 1 × vllm, no router is beside it (a.yaml:12)';

describe('programs that were seen and not checked', () => {
  it('follow the last line of the text', () => {
    const text = formatText([], { texts: new Map(), isColoured: false, fileCount: 2, notChecked: SEEN });
    expect(text).toBe(`No findings in 2 files.\n${LINE}\n`);
  });

  it('are a list of their own in JSON', () => {
    expect(JSON.parse(formatJson([], SEEN))).toEqual({ findings: [], not_checked: SEEN });
  });

  it('are notifications of the run in SARIF, and no results', () => {
    const log = JSON.parse(
      formatSarif([], { rules: [], version: '1.0.0', placeOf: () => undefined, notChecked: SEEN }),
    );
    expect(log.runs[0].results).toEqual([]);
    expect(log.runs[0].invocations).toMatchObject([
      {
        executionSuccessful: true,
        toolExecutionNotifications: [
          { level: 'note', message: { text: 'seen and not checked: 4 × Ollama, no rule knows it' } },
          { level: 'note' },
        ],
      },
    ]);
    expect(log.runs[0].invocations[0].toolExecutionNotifications[0].locations).toHaveLength(4);
  });

  it('are one notice of GitHub Actions', () => {
    expect(formatGithub([], SEEN)).toBe(`::notice title=kv-accord not checked::${LINE}\n`);
  });
});

function seen(...texts: readonly { readonly file: string; readonly text: string }[]): readonly string[] {
  return inspectTexts(texts).notChecked.map(
    ({ program, reason, count }) => `${count} × ${program}, ${reason}`,
  );
}

function pod(kind: string, container: string): { readonly file: string; readonly text: string } {
  return {
    file: 'x.yaml',
    text: `kind: ${kind}\nmetadata: {name: x}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: c, ${container}}\n`,
  };
}

describe('what counts as seen', () => {
  it.each([
    [
      'image: "ghcr.io/huggingface/text-generation-inference:3.0"',
      '1 × text-generation-inference, no rule knows it',
    ],
    ['image: "x", command: [ollama, serve]', '1 × Ollama, no rule knows it'],
    [
      'image: "r/dynamo-vllm-sidecar:1.3.0", command: [dynamo-vllm-sidecar], args: [--vllm-endpoint, "127.0.0.1:50051"]',
      '1 × dynamo-vllm-sidecar, no rule knows it',
    ],
    ['image: "x", command: [vllm-rs, serve, m]', '1 × vllm-rs, no rule knows it'],
    [
      'image: "vllm/vllm-openai:v0.19.0", command: [/start.sh]',
      '1 × vLLM image, its command is not in these files',
    ],
    [
      'image: "vllm/vllm-openai:v0.19.0", args: [--model, m]',
      '1 × vllm, no router is beside it in these files',
    ],
    ['image: "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8"', '1 × NIM, no rule knows it'],
  ])('%s', (container, expected) => {
    expect(seen(pod('Deployment', container))).toEqual([expected]);
    expect(seen(pod('StormService', container))).toEqual([expected]);
  });

  it.each(['image: "nginx"', 'image: "vllm/vllm-openai:v0.19.0", command: [sleep, infinity]'])(
    'nothing in %s',
    (container) => {
      expect(seen(pod('Deployment', container))).toEqual([]);
    },
  );

  it('a model of KServe, whose runtime is chosen in the cluster', () => {
    const text =
      'kind: InferenceService\nmetadata: {name: x}\nspec: {predictor: {model: {modelFormat: {name: huggingface}}}}\n';
    expect(seen({ file: 'x.yaml', text })).toEqual([
      '1 × KServe runtime, its runtime is chosen in the cluster',
    ]);
  });

  it('a picker that needs workers, and a command beside it that no rule reads', () => {
    const picker = `kind: EndpointPickerConfig
plugins:
  - type: precise-prefix-cache-producer
    parameters: {tokenProcessorConfig: {blockSize: 64}}
schedulingProfiles: [{name: default, plugins: [{pluginRef: precise-prefix-cache-producer}]}]
`;
    const command = 'custom: |\n  vllm serve m --block-size 64\n';
    expect(seen({ file: 'x.yaml', text: `${picker}---\n${command}` })).toEqual([
      '1 × vllm, it stands in a file of a kind that no rule reads',
      '1 × llm-d endpoint picker, no worker is beside it in these files',
    ]);
  });

  it.each([
    ['{}', 'the configuration of its picker is not in these files'],
    ['{template: {containers: []}}', 'the configuration of its picker is not in these files'],
  ])('a service of KServe with a picker of the cluster: %s', (scheduler, reason) => {
    const text = `kind: LLMInferenceService
metadata: {name: x}
spec:
  router: {scheduler: ${scheduler}}
  template: {containers: [{name: main, image: "vllm/vllm-openai:v0.19.0", args: [--block-size, "16"]}]}
`;
    expect(seen({ file: 'x.yaml', text })).toEqual([`1 × vllm, ${reason}`]);
    expect(seen({ file: 'x.yaml', text: text.replace(/ {2}router.*\n/, '') })).toEqual([
      '1 × vllm, no router is beside it in these files',
    ]);
  });

  it.each([
    ['{routingLogic: session}', 'session'],
    ['{enableRouter: true}', 'roundrobin by default'],
  ])('models of a production stack whose router goes by load: %s', (router, logic) => {
    const text = `servingEngineSpec: {modelSpec: [{name: a, repository: vllm/vllm-openai, modelURL: m}]}
routerSpec: ${router}
`;
    expect(seen({ file: 'values.yaml', text })).toEqual([
      `1 × production-stack router, its routing logic (${logic}) looks at no blocks`,
      '1 × vllm, the router beside it asks nothing of it: it guesses, or goes by load',
    ]);
    expect(seen({ file: 'values.yaml', text: text.replace(router, '{enableRouter: false}') })).toEqual([
      '1 × vllm, no router is beside it in these files',
    ]);
  });

  it('a worker whose size is not written, beside a router that needs one', () => {
    const text = 'python3 -m dynamo.vllm --model m &\npython3 -m dynamo.frontend --router-mode kv\n';
    expect(seen({ file: 'x.sh', text })).toEqual([
      '1 × dynamo.vllm, its block size is not written in these files',
    ]);
  });

  it.each(['sglang.srt.disaggregation.mini_lb', 'sglang.srt.disaggregation.launch_lb'])(
    'count %s as the router of the workers beside it, and take no other one',
    (module) => {
      const pair = ['prefill', 'decode'].map(
        (mode) => `python3 -m sglang.launch_server --model-path m --disaggregation-mode ${mode} &\n`,
      );
      const text = `#!/bin/bash\n${pair.join('')}python3 -m ${module} --prefill http://a --decode http://b\n`;
      const reasons = seen({ file: 'x.sh', text });
      expect(reasons).toContain('1 × SGLang mini_lb, it looks at no blocks');
      expect(reasons).toContain(
        '2 × sglang, the router beside it asks nothing of it: it guesses, or goes by load',
      );
    },
  );
});

describe('a frontend whose router mode is known only at run time', () => {
  it.each([
    ['source lib.sh\npython3 -m dynamo.frontend --router-mode $ROUTER_MODE &\n'],
    ['python3 -m dynamo.frontend --router-mode $1 &\npython3 -m dynamo.sglang --model m\n'],
  ])('is named: %s', (text) => {
    expect(seen({ file: 'x.sh', text })).toContain(
      '1 × dynamo.frontend, its router mode is known only at run time',
    );
  });

  it('is another one than a frontend without a mode', () => {
    expect(seen({ file: 'x.sh', text: 'python3 -m dynamo.frontend &\n' })).toEqual([]);
  });
});
