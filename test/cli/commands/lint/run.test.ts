import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliProcess } from '../../../support/cli-process.js';

/** The router example for TensorRT-LLM that names no block size. */
const FAULTY = `kind: DynamoGraphDeployment # a graph
apiVersion: nvidia.com/v1alpha1
metadata: {name: graph}
spec:
  services:
    Frontend:
      componentType: frontend
      envs:
        - name: DYN_ROUTER_MODE
          value: kv
      extraPodSpec: {mainContainer: {image: my-registry/tensorrtllm-runtime:my-tag}}
    Worker:
      componentType: worker
      extraPodSpec: {mainContainer: {image: a/b:c, command: [python3, -m, dynamo.trtllm, --publish-events-and-metrics]}}
`;

const CORRECT =
  'kind: Pod\napiVersion: v1\nmetadata: {name: web}\nspec: {containers: [{name: web, image: nginx}]}\n';

describe('kv-accord lint', () => {
  let folder: string;
  let faulty: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lint-'));
    faulty = join(folder, 'graph.yaml');
    writeFileSync(faulty, FAULTY);
    writeFileSync(join(folder, 'pod.yaml'), CORRECT);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function lint(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const run = new CliProcess(['lint', ...argv]);
    const code = await run.ended;
    return { code, stdout: run.stdout.text, stderr: run.stderr.text };
  }

  it('names templates that start an engine, by the names that they have', async () => {
    const names = ['a.yaml.template', 'b.yaml.j2', 'c.yml.jinja2', 'd.tftpl', 'e.yaml.tera', 'f.tmpl'];
    for (const name of names) writeFileSync(join(folder, name), 'args:\n- vllm serve {{ model }}\n');
    writeFileSync(join(folder, 'g.yaml.template'), 'command: [nginx]\n');
    const { stderr } = await lint(folder);
    expect(stderr).toContain('left out: 6 files of a kind that is not read and that names an engine');
    expect(stderr).not.toContain('g.yaml.template');
  });

  it('leaves signals to the process, as nothing else has a turn while it works', async () => {
    const run = new CliProcess(['lint', folder]);
    await run.ended;
    expect(run.hasTakenSignals).toBe(true);
  });

  it('reads what is installed beside a script and above it, and shows nothing of it', async () => {
    const fleet =
      '#!/bin/bash\npython3 -m dynamo.frontend --router-mode kv &\npython3 -m dynamo.sglang --model m\n';
    mkdirSync(join(folder, 'scripts'));
    writeFileSync(join(folder, 'scripts', 'run.sh'), fleet);
    const severities = async (): Promise<readonly string[]> => {
      const { stdout } = await lint('--json', folder);
      const { findings } = JSON.parse(stdout) as { findings: { rule_id: string; severity: string }[] };
      return findings.filter(({ rule_id: id }) => id === 'kv-events-off').map(({ severity }) => severity);
    };
    expect(await severities()).toEqual(['error']);
    // From 1.4 on leaving events out is documented.
    writeFileSync(join(folder, 'requirements.txt'), 'ai-dynamo[sglang]==1.5.0\n');
    expect(await severities()).toEqual(['warning']);
  });

  it('warns of a file that was named and is no YAML, and not of one that its folder has', async () => {
    const broken = join(folder, 'broken.yaml');
    writeFileSync(broken, 'a: [b\n');
    const named = await lint(broken);
    expect(named.stdout).toContain(`${broken}:2:1: warning: `);
    expect(named.stdout).toContain('[unreadable]');
    expect((await lint(folder)).stdout).not.toContain('[unreadable]');
  });

  it('ends with 0 where nothing is found, and says so', async () => {
    const engine = join(folder, 'engine.sh');
    writeFileSync(engine, 'vllm serve m\n');
    const stdout = `No findings in 1 file.\nseen and not checked: 1 × vllm, no router is beside it in these files (${engine}:1)\n`;
    expect(await lint(engine)).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('takes scripts without an ending from a folder, by their first line', async () => {
    writeFileSync(join(folder, 'start'), '#!/usr/bin/env bash\nvllm serve m\n');
    writeFileSync(join(folder, 'serve'), '#!/usr/bin/env python3\nimport vllm\n');
    writeFileSync(join(folder, 'LICENSE'), 'vllm serve m\n');
    const { stdout } = await lint(folder);
    expect(stdout).toContain(`(${join(folder, 'start')}:2)`);
    expect(stdout).toContain(' in 3 files.');
  });

  it('says where it recognised nothing that could have a fault', async () => {
    const { code, stdout, stderr } = await lint(join(folder, 'pod.yaml'));
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'No findings in 1 file.\n' });
    expect(stderr).toContain('no engine, router or frontend was recognised here');
  });

  it('says where what it saw stands in a kind that no rule reads', async () => {
    const runtime = join(folder, 'runtime.yaml');
    writeFileSync(
      runtime,
      'apiVersion: ome.io/v1beta1\nkind: ClusterServingRuntime\nmetadata: { name: r }\nspec:\n  engineConfig:\n    runner:\n      command: [python3, -m, sglang.launch_server, --page-size, "64"]\n',
    );
    const { code, stdout, stderr } = await lint(runtime);
    expect(code).toBe(0);
    expect(stdout).toContain(
      'seen and not checked: 1 × sglang, it stands in a file of a kind that no rule reads',
    );
    expect(stderr).toContain('listed as not checked');
    expect(stderr).not.toContain('no engine, router or frontend was recognised');
  });

  it('ends with 1 where something is found, and shows place, cure and patch', async () => {
    const { code, stdout } = await lint(folder);
    expect(code).toBe(1);
    expect(stdout).toContain(`${faulty}:10:18: warning: `);
    expect(stdout).toContain('+        - name: DYN_KV_CACHE_BLOCK_SIZE');
    expect(stdout).toMatch(/1 warning in 2 files\.\n$/);
    expect(readFileSync(faulty, 'utf8')).toBe(FAULTY);
  });

  it('ends with 0 where what is found is less than --fail-on', async () => {
    expect((await lint('--fail-on', 'error', faulty)).code).toBe(0);
  });

  it('writes the change with --fix, and then finds nothing', async () => {
    const { code, stdout, stderr } = await lint('--fix', folder);
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: 'No findings in 2 files.\n',
      stderr: 'Wrote 1 change.\n',
    });
    const text = readFileSync(faulty, 'utf8');
    expect(text).toContain('- name: DYN_KV_CACHE_BLOCK_SIZE');
    const added = text.split('\n').filter((line) => !FAULTY.split('\n').includes(line));
    expect(added).toHaveLength(2);
    expect((await lint(folder)).code).toBe(0);
  });

  it('prints what programs read', async () => {
    const json = await lint('--json', faulty);
    expect(JSON.parse(json.stdout).findings[0]).toMatchObject({ rule_id: 'block-size-unset', line: 10 });
    const sarif = await lint('--format', 'sarif', faulty);
    expect(JSON.parse(sarif.stdout).runs[0].results[0].ruleId).toBe('block-size-unset');
    const github = await lint('--format', 'github', faulty);
    expect(github.stdout).toMatch(/^::warning file=.*line=10,col=18/);
  });

  it('reads with --with what an engine reads in its image, and changes it nowhere', async () => {
    const engine = join(folder, 'engine.yml');
    writeFileSync(engine, 'kv_cache_config: {tokens_per_block: 64}\n');
    const text = FAULTY.replace(
      'dynamo.trtllm,',
      'dynamo.trtllm, --extra-engine-args, /etc/trtllm/engine.yml,',
    );
    writeFileSync(faulty, text);
    const unseen = await lint(faulty);
    expect(unseen.code).toBe(0);
    expect(unseen.stdout).toContain('takes its block size from /etc/trtllm/engine.yml (--extra-engine-args)');
    const seen = await lint('--with', engine, '--fix', faulty);
    expect({ ...seen, stdout: '' }).toEqual({ code: 0, stdout: '', stderr: 'Wrote 1 change.\n' });
    expect(readFileSync(faulty, 'utf8')).toContain('"--kv-block-size", "64"');
    for (const [given, words] of [
      [folder, 'must be FILE or PATH=FILE'],
      ['/etc/trtllm/engine.yml=', 'must be FILE or PATH=FILE'],
      [join(folder, 'none.yml'), 'it does not exist'],
    ] as const) {
      const wrong = await lint('--with', given, faulty);
      expect(wrong.code).toBe(2);
      expect(wrong.stderr).toMatch(/^kv-accord lint: --with ".*" \(on the command line\): must be /);
      expect(wrong.stderr).toContain(words);
    }
  });

  it('looks at documentation with --docs alone', async () => {
    const page = join(folder, 'page.md');
    writeFileSync(page, '```sh\nexport DYN_KV_CACHE_BLOCK_SIZE=16\n```\n');
    expect((await lint(page)).code).toBe(0);
    const { code, stdout } = await lint('--docs', page);
    expect(code).toBe(1);
    expect(stdout).toContain(`${page}:2:8: warning: DYN_KV_CACHE_BLOCK_SIZE is shown as 16`);
  });

  it.each([
    [[], 'a file, a folder or - must be given, or --cluster'],
    [
      ['/nothing/there.yaml'],
      '"/nothing/there.yaml" (on the command line): must be a file or a folder, and it does not exist',
    ],
    [['--cluster', 'x.yaml'], '"x.yaml" (on the command line): must be left out with --cluster'],
    [['https://example.com/a.yaml'], 'must be a file, a folder or -, as no address is fetched'],
    [
      ['--json', '--format', 'sarif', 'x.yaml'],
      '--format "sarif" (on the command line): must be json, or left out',
    ],
    [['--cluster', '--fix'], '--fix'],
    [['--namespace', 'a', 'x.yaml'], '--namespace'],
    [['--cluster', '--namespace', 'a/b'], '--namespace "a/b" (on the command line): must be a name of'],
    [['--format', 'xml', 'x.yaml'], 'one of text, json, sarif, github'],
  ])('ends with 2 for %j', async (argv, words) => {
    const { code, stderr } = await lint(...argv);
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });

  it('ends with 5 where there is no cluster to look at', async () => {
    const { code, stderr } = await lint('--cluster');
    expect(code).toBe(5);
    expect(stderr).toContain('no Kubernetes API server is known');
  });
});
