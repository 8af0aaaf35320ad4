import { describe, expect, it } from 'vitest';
import { inspectTexts } from '../../../../../src/tools/manifests/lint/lint-texts.js';
import { found, inspect, router } from '../support.js';

const front = 'python3 -m dynamo.router --router-block-size 32 &\n';
const trtllm = (path: string): string =>
  `python3 -m dynamo.trtllm --model-path m --kv-block-size 64 --extra-engine-args ${path} --publish-kv-events\n`;
const engine = 'kv_cache_config:\n  tokens_per_block: 64\n';

/** The places that the first finding names beside its own. */
function sizes(files: Readonly<Record<string, string>>): readonly string[] {
  const [finding] = inspect(files).findings;
  return (finding?.related ?? []).map(({ file, line, says }) => `${file}:${line} ${says}`);
}

describe("an engine's file beside a script", () => {
  it.each([
    ['by its name', 'run/engine.yaml', 'engine.yaml'],
    ['by a path from the script', 'engines/agg.yaml', '../engines/agg.yaml'],
    ['by the folder of the script', 'run/engine.yaml', '"$(dirname "$0")/engine.yaml"'],
    [
      'by a folder above',
      'engines/agg.yaml',
      `"$(cd "$(dirname "\${BASH_SOURCE[0]}")/.." && pwd)/engines/agg.yaml"`,
    ],
    ['by the end of a path', 'engines/x/agg.yaml', '/workspace/engines/x/agg.yaml'],
    ['by its name alone in a home folder', 'run/agg.yaml', '/home/me/clone/agg.yaml'],
    ['by the end of a path that is not known as a whole', 'engines/x/agg.yaml', '"$ROOT/engines/x/agg.yaml"'],
  ])('is found %s', (_how, file, path) => {
    expect(sizes({ 'run/a.sh': front + trtllm(path), [file]: engine })).toEqual([
      `${file}:2 dynamo.trtllm: tokens_per_block is 64`,
    ]);
  });

  it.each([
    ['in another folder', { 'engines/agg.yaml': engine }, '/home/me/clone/agg.yaml'],
    ['where two have its name', { 'run/agg.yaml': engine, 'b/agg.yaml': engine }, '/home/me/clone/agg.yaml'],
    ['in a folder of an image', { 'run/agg.yaml': engine }, '/opt/agg.yaml'],
  ])('is not found by its name alone %s', (_, files, path) => {
    expect(sizes({ 'run/a.sh': front + trtllm(path), ...files }).join()).not.toContain('agg.yaml');
  });

  it('is found from the folder in which a container runs', () => {
    const graph = (folder: string): string => `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    Router: {extraPodSpec: {mainContainer: {image: r/dynamo:1.2.1, command: [python3, -m, dynamo.router, --router-block-size, "32"]}}}
    Worker:
      extraPodSpec:
        mainContainer:
          image: r/trtllm-runtime:1.2.1
          workingDir: ${folder}
          command: [python3, -m, dynamo.trtllm, --model-path, m, --kv-block-size, "64", --extra-engine-args, engine_configs/agg.yaml, --publish-events-and-metrics]
`;
    const files = {
      'components/trtllm/engine_configs/agg.yaml': engine,
      'engines/agg.yaml': 'kv_cache_config: {}\n',
    };
    const sizesIn = (folder: string) => sizes({ 'components/trtllm/deploy/a.yaml': graph(folder), ...files });
    expect(sizesIn('/workspace/components/trtllm')).toContain(
      'components/trtllm/engine_configs/agg.yaml:2 dynamo.trtllm of g/Worker: tokens_per_block is 64',
    );
    expect(sizesIn('/elsewhere').join()).not.toContain('agg.yaml');
  });

  it('is found in a variable with a default', () => {
    const script = `ENGINE_ARGS=\${ENGINE_ARGS:-"$ROOT/engines/x/agg.yaml"}\n${front}${trtllm('"$ENGINE_ARGS"')}`;
    expect(sizes({ 'run/a.sh': script, 'engines/x/agg.yaml': engine })).toEqual([
      'engines/x/agg.yaml:2 dynamo.trtllm: tokens_per_block is 64',
    ]);
  });

  it('is unseen where two fit alike, and where only the name fits', () => {
    const script = (path: string): string =>
      `${front}python3 -m dynamo.trtllm --model-path m --extra-engine-args ${path} --publish-kv-events\n`;
    const two = { 'a/x/agg.yaml': engine, 'b/x/agg.yaml': engine };
    expect(found({ 'run/a.sh': script('"$ROOT/x/agg.yaml"'), ...two })).toEqual([]);
    expect(found({ 'run/a.sh': script('"$ROOT/agg.yaml"'), 'z/agg.yaml': engine })).toEqual([]);
  });
});

describe('an engine whose file is unseen', () => {
  const unseen =
    'python3 -m dynamo.trtllm --model-path m --extra-engine-args /x/agg.yaml --publish-kv-events\n';

  it('has no size, and nobody is to take its default', () => {
    expect(found({ 'a.sh': `python3 -m dynamo.router --router-block-size 64 &\n${unseen}` })).toEqual([]);
    expect(
      found({ 'a.sh': `python3 -m dynamo.frontend --router-mode kv --kv-cache-block-size 64 &\n${unseen}` }),
    ).toEqual([]);
  });

  it('has the default again when no file is named', () => {
    const plain = unseen.replace('--extra-engine-args /x/agg.yaml', '');
    expect(found({ 'a.sh': `python3 -m dynamo.router --router-block-size 64 &\n${plain}` })).toEqual([
      'block-size-mismatch a.sh:1 error',
    ]);
  });
});

describe('a worker whose size is in a place that is not seen', () => {
  const python = 'DYN_CHAT_PROCESSOR=vllm python3 -m dynamo.frontend --router-mode kv &\n';
  const notes = (script: string): readonly string[] =>
    inspect({ 'a.sh': script })
      .findings.filter(({ ruleId }) => !['kv-events-off', 'events-ignored'].includes(ruleId))
      .map(({ ruleId, severity, message, fix }) => {
        expect(fix).toBeUndefined();
        return `${ruleId} ${severity}: ${message.replace(/^.*; /, '')}`;
      });

  it('is named with its own file beside others', () => {
    const worker = (phase: string): string =>
      `python3 -m dynamo.trtllm --model-path m --disaggregation-mode ${phase} --extra-engine-args /x/${phase}.yaml &\n`;
    const { findings } = inspect({ 'a.sh': python + worker('prefill') + worker('decode') });
    const [one] = findings.filter(({ ruleId }) => ruleId === 'block-size-unset');
    expect(one?.message).toMatch(
      /takes its block size from \/x\/prefill.yaml .*; .* takes its block size from \/x\/decode.yaml /,
    );
  });

  it.each([
    [
      "TensorRT-LLM's file",
      'dynamo.trtllm --extra-engine-args /x/agg.yaml',
      'block-size-unset warning: dynamo.trtllm takes its block size from /x/agg.yaml (--extra-engine-args), which is not among these files',
    ],
    [
      'a file whose folder is not known',
      'dynamo.trtllm --extra-engine-args $DIR/agg.yaml',
      'block-size-unset warning: dynamo.trtllm takes its block size from …/agg.yaml (--extra-engine-args), which is not among these files',
    ],
    [
      'overrides in a variable',
      'dynamo.trtllm --override-engine-args "$MORE"',
      'block-size-unset warning: dynamo.trtllm takes its block size from the value of --override-engine-args, which is not in these files',
    ],
    [
      "vLLM's file",
      'dynamo.vllm --model m --config /x/v.yaml',
      'block-size-unset note: dynamo.vllm takes its block size from /x/v.yaml (--config), which is not among these files',
    ],
    [
      'the value of a flag',
      'dynamo.sglang --model-path m --page-size $PAGE',
      'block-size-unset note: dynamo.sglang takes its block size from the value of --page-size, which is not in these files',
    ],
    [
      'arguments',
      'dynamo.vllm --model m "$@"',
      'block-size-unset note: dynamo.vllm may take its block size from arguments that are not in these files',
    ],
  ])('is named: %s', (_what, worker, expected) => {
    expect(notes(`${python}python3 -m ${worker}\n`)).toEqual([expected]);
  });

  it('gives no router and no indexer the number of its neighbours', () => {
    const workers =
      'python3 -m dynamo.vllm --model m --block-size 64 &\npython3 -m dynamo.vllm --model m --block-size $SIZE\n';
    expect(notes(`python3 -m dynamo.router &\n${workers}`)).toHaveLength(1);
    expect(notes(`python3 -m dynamo.indexer --workers 1=a:1 &\n${workers}`)).toHaveLength(1);
    expect(notes(`python3 -m dynamo.router &\n${workers.split('&\n')[1]}`)[0]).toContain(
      'takes its block size from the value of --block-size',
    );
  });
});

describe('a file that the operator names', () => {
  const script =
    'python3 -m dynamo.router --router-block-size 32 &\npython3 -m dynamo.trtllm --kv-block-size 64 --extra-engine-args /x/agg.yaml --publish-kv-events\n';
  const texts = [
    { file: 'a.sh', text: script.replace('--kv-block-size 64 ', '') },
    { file: 'mine/agg.yaml', text: engine },
    { file: 'other.yaml', text: engine },
  ];
  const rules = (given: Readonly<Record<string, readonly string[]>>): readonly string[] =>
    inspectTexts(texts, { given: new Map(Object.entries(given)) }).findings.map(
      ({ ruleId, file }) => `${ruleId} ${file}`,
    );
  const found64 = ['block-size-mismatch a.sh', 'worker-card-differs mine/agg.yaml'];

  it('stands for every path that ends in its name', () => {
    expect(rules({ 'mine/agg.yaml': [] })).toEqual(found64);
    expect(rules({ 'other.yaml': [] })).toEqual([]);
  });

  it('stands for the paths that it is given for', () => {
    expect(rules({ 'mine/agg.yaml': ['/y/b.yaml', '/x/agg.yaml'] })).toEqual(found64);
    expect(rules({ 'mine/agg.yaml': ['agg.yaml'] })).toEqual(found64);
    expect(rules({ 'mine/agg.yaml': ['/x/b.yaml'] })).toEqual([]);
    expect(rules({ 'mine/agg.yaml': ['g.yaml'] })).toEqual([]);
  });
});

describe('a file that a script writes itself', () => {
  const run = `${front}${trtllm('/tmp/e.yaml')}`;
  it.each([
    ['a here-document', `cat > /tmp/e.yaml <<'EOF'\n${engine}EOF\n`],
    ['a here-document with variables', `N=64\ncat <<EOF > /tmp/e.yaml\n${engine.replace('64', '$N')}EOF\n`],
    [
      'a here-document without its tabs',
      `cat > /tmp/e.yaml <<-EOF\n\tkv_cache_config: {tokens_per_block: 64}\n\tEOF\n`,
    ],
    ['tee', `tee /tmp/e.yaml <<EOF\n${engine}EOF\n`],
    ['a pipe to tee', `cat <<EOF | tee /tmp/e.yaml >/dev/null\n${engine}EOF\n`],
    ['echo', `echo 'kv_cache_config: {tokens_per_block: 64}' > /tmp/e.yaml\n`],
  ])('is read from %s', (_how, write) => {
    expect(sizes({ 'a.sh': write + run })[0]).toMatch(/^a\.sh:\d+ dynamo\.trtllm: tokens_per_block is 64$/);
  });

  it('is located in the script, and can be changed there', () => {
    const text = `cat > /tmp/e.yaml <<'EOF'\n${engine}EOF\n${run}`;
    expect(inspect({ 'a.sh': text }).findings[0]?.related?.[0]).toMatchObject({ file: 'a.sh', line: 3 });
  });

  it.each([
    ['only under a condition', `if x; then cat > /tmp/e.yaml <<EOF\n${engine}EOF\nfi\n`],
    ['and is changed again', `cat > /tmp/e.yaml <<EOF\n${engine}EOF\nsed -i s/64/32/ /tmp/e.yaml\n`],
    ['and is continued', `cat > /tmp/e.yaml <<EOF\n${engine}EOF\ncat more >> /tmp/e.yaml\n`],
    ['with lines that are not known', `cat > /tmp/e.yaml <<EOF\n$MORE\nEOF\n`],
    ['by another program', 'make-config > /tmp/e.yaml\n'],
  ])('is unseen when it is written %s', (_how, write) => {
    const plain = run.replace('--kv-block-size 64 ', '');
    expect(found({ 'a.sh': write + plain })).toEqual([]);
  });

  it('is read in the commands of a container', () => {
    const pod = `kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    command: [bash, -c]
    args:
    - |
      cat > /tmp/e.yaml <<EOF
      kv_cache_config: {tokens_per_block: 64}
      EOF
      python3 -m dynamo.trtllm --model-path m --kv-block-size 64 --extra-engine-args /tmp/e.yaml --publish-kv-events
---
`;
    expect(found({ 'a.yaml': router(32) + pod })).toEqual(['block-size-mismatch a.yaml:10 error']);
  });
});

describe('a configuration file of vLLM or SGLang', () => {
  const script = (more: string): string =>
    `${front}python3 -m dynamo.vllm --model m --config conf/v.yaml ${more}\n`;

  it('says what flags say', () => {
    expect(sizes({ 'a.sh': script(''), 'conf/v.yaml': 'model: m\nblock-size: 64\n' })).toEqual([
      'conf/v.yaml:2 dynamo.vllm: --block-size is 64',
    ]);
    expect(
      sizes({
        'a.sh': `${front}python3 -m dynamo.sglang --model-path m --config s.yaml\n`,
        's.yaml': 'page_size: 64\nkv-events-config: {publisher: zmq}\n',
      }),
    ).toEqual(['s.yaml:1 dynamo.sglang: --page-size is 64']);
  });

  it('gives way to the command line', () => {
    const files = { 'conf/v.yaml': 'block-size: 64\n' };
    expect(found({ ...files, 'a.sh': script('--block-size 32') })).not.toContain(
      'block-size-mismatch a.sh:1 error',
    );
  });

  it('proves nothing while it is unseen', () => {
    expect(found({ 'a.sh': script('') })).toEqual([]);
  });
});
