import { describe, expect, it } from 'vitest';
import { inspectTexts } from '../../../../../src/tools/manifests/lint/lint-texts.js';
import { found, inspect } from '../support.js';

describe('YAML that cannot be read', () => {
  const BROKEN = 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n   labels: {}\n';

  it('is an error where it is a workload and its file names an engine', () => {
    expect(found({ 'a.yaml': `${BROKEN}spec: {image: vllm/vllm-openai}\n` })).toEqual([
      'unreadable a.yaml:4 error',
    ]);
    expect(found({ 'a.yaml': `${BROKEN}---\nkind: Pod\nspec: {image: lmsysorg/sglang}\n` })).toEqual([
      'unreadable a.yaml:4 error',
    ]);
    expect(found({ 'a.yaml': 'apiVersion: v1\n    kind: Pod\n# x\nname: vllm\n' })).toEqual([
      'unreadable a.yaml:1 error',
    ]);
    expect(found({ 'a.yaml': 'kind: InferenceService\nmetadata:\n  name: a\n   labels: {}\n' })).toEqual([
      'unreadable a.yaml:3 error',
    ]);
  });

  it.each(['RayClusterFleet', 'RayClusterReplicaSet', 'RoleSet', 'PodCliqueSet', 'CloneSet', 'Rollout'])(
    'is an error in a %s, too',
    (kind) => {
      const text = `${BROKEN.replace('Deployment', kind)}spec: {image: vllm/vllm-openai}\n`;
      expect(found({ 'a.yaml': text })).toEqual(['unreadable a.yaml:4 error']);
      // What its name begins with makes no workload of another kind.
      expect(found({ 'a.yaml': text.replace(kind, `${kind}Policy`) })).toEqual(['unreadable a.yaml:4 note']);
    },
  );

  it('is an error where commands stand above a workload, which kubectl never reaches', () => {
    const curl = `curl http://10.0.0.1/v1/completions -d '{\n  "model": "m",\n  "stream": false\n}'\n`;
    const pod = `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: vllm/vllm-openai}]}\n`;
    expect(inspect({ 'a.yaml': `${curl}# notes\n---\n${pod}` }).findings).toMatchObject([
      { ruleId: 'unreadable', severity: 'error', consequence: expect.stringContaining('ends at it') },
    ]);
    // What stands in front of it is applied.
    expect(found({ 'a.yaml': `${pod}---\n${curl}` })).toEqual([]);
    expect(found({ 'a.yaml': `# ${curl.replace(/\n/g, '\n# ')}\n---\n${pod}` })).toEqual([]);
    expect(found({ 'a.yaml': `${curl}---\n${pod.replace('vllm/vllm-openai', 'nginx')}` })).toEqual([]);
  });

  it('is left out where nothing in the file is of an engine, but not where the file was named', () => {
    const graphs = `${BROKEN}spec: {image: graphviz}\n# beside vllm\n`;
    expect(found({ 'a.yaml': graphs })).toEqual([]);
    expect(inspect({ 'a.yaml': graphs }).leftOut).toHaveLength(1);
    const { findings } = inspectTexts([{ file: 'a.yaml', text: graphs }], { named: new Set(['a.yaml']) });
    expect(findings.map(({ severity }) => severity)).toEqual(['error']);
  });

  it('is left out in a file of JSON that holds none', () => {
    const output = '=== Metrics ===\n{\n  "vllm_cost": 1\n';
    expect(found({ 'a.json': output })).toEqual([]);
    expect(found({ 'a.json': '{"run": "vllm serve", "a": [}' })).toEqual(['unreadable a.json:1 note']);
    // Editors read comments, and results have one text a line.
    expect(found({ 'devcontainer.json': '{\n  // with vllm\n  "image": "dynamo"\n}\n' })).toEqual([]);
    expect(found({ 'a.json': '{\n  "a": ["dynamo"  // beside it\n  ],\n  "b": "vllm"\n}\n' })).toEqual([]);
    expect(found({ 'a.json': '{"backend": "vllm"}\n{"backend": "vllm"}\n' })).toEqual([]);
  });

  it('speaks of kubectl only where the document is an object', () => {
    const saidOf = (text: string): string =>
      inspect({ 'a.yaml': text })
        .findings.map(({ consequence, advice }) => `${consequence} ${advice}`)
        .join();
    expect(saidOf(`${BROKEN}spec: {image: vllm/vllm-openai}\n`)).toContain('kubectl');
    expect(saidOf('apiVersion: v1\nkind: Pod\nkind: Pod\nspec: {image: vllm/vllm-openai}\n')).toContain(
      'kubectl',
    );
    expect(saidOf('backend: vllm\na: 1\na: 2\n')).toMatch(/^Most programs take the last/);
    const values = 'router:\n  flags: {v: 4}\n  flags: {v: 5}\n  config: |\n    kind: EndpointPickerConfig\n';
    expect(saidOf(values)).toMatch(/^Most programs take the last/);
    expect(saidOf('{\n  "kind": "Pod",\n  "spec": {"image": "vllm"},\n  "spec": {}\n}\n')).toContain(
      'kubectl',
    );
    expect(saidOf('backend: vllm\na: [\n')).not.toContain('kubectl');
  });

  it.each([
    [
      'Helm',
      'kind: Deployment\nmetadata: {name: a}\nspec:\n  {{- if .Values.on }}\n  replicas: 1\n  {{- end }}\n',
    ],
    ['Go', 'kind: RayJob\nmetadata:\n  name: {{.Name}}\n'],
    ['Jinja', 'kind: Job\nmetadata: {name: a}\n{% if on %}\nspec: {}\n{% endif %}\n'],
    ['a script', 'kind: Pod\nmetadata: {name: a}\nspec: {{POD_SPEC}}\n'],
  ])('is a note where it is a template of %s that names an engine', (_name, text) => {
    expect(found({ 'a.yaml': `${text}# vllm serve\n` })).toEqual([
      expect.stringMatching(/^unreadable a\.yaml:\d note$/),
    ]);
    expect(found({ 'a.yaml': text })).toEqual([]);
  });

  it('says what the parser says where YAML reads all marks of a template', () => {
    const tasks = (more: string): string =>
      `- name: start\n  shell: |\n    helm install {{ chart }}/vllm\n    {% if x %}--wait{% endif %}\n  ignore_errors: yes\n  k8s:\n    kind: Deployment\n${more}`;
    expect(inspect({ 'play.yml': tasks('  ignore_errors: yes\n') }).findings).toMatchObject([
      {
        line: 8,
        severity: 'note',
        message: 'The key "ignore_errors" is there twice',
        consequence: expect.stringMatching(/^Most programs take the last/),
      },
    ]);
    expect(inspect({ 'play.yml': tasks('   when: x\n') }).findings).toMatchObject([
      { line: 8, severity: 'note', message: expect.not.stringContaining('template') },
    ]);
    expect(inspect({ 'play.yml': tasks('  when: {{ x }}\n') }).findings).toMatchObject([
      { line: 8, message: 'this is a template of Jinja, not YAML' },
    ]);
    expect(found({ 'play.yml': tasks('') })).toEqual([]);
  });

  it('is an error of its own where names to be filled in stand elsewhere', () => {
    const broken = '  name: a\n   labels: {}\n';
    expect(
      found({
        'a.yaml': `kind: Pod\nmetadata:\n${broken}spec:\n  image: <YOUR_IMAGE>/vllm\n  x: "{{ .x }}"\n`,
      }),
    ).toEqual(['unreadable a.yaml:3 error']);
  });

  it('is left out where it is no workload, and said to be', () => {
    const files = {
      'values.yaml': 'a: {{ .Values.a }}\nkind: Service\n',
      'secret.yaml': 'kind: Secret\nstringData:\n  token: {{TOKEN}}\n',
      'dashboard.json': '{"kind": "dashboard", "a": [}',
    };
    const { findings, leftOut } = inspect(files);
    expect(findings).toEqual([]);
    expect(leftOut.map(({ file, why }) => [file, why === 'a template'])).toEqual([
      ['values.yaml', true],
      ['secret.yaml', true],
      ['dashboard.json', false],
    ]);
  });

  it('says of a key that a patch has twice what Kustomize makes of it', () => {
    const patch = 'kind: Deployment\nmetadata: {name: vllm}\nspec: {a: 1}\nspec: {b: 2}\n';
    const of = (kustomization: string): string | undefined =>
      inspect({
        'p.yaml': patch,
        'kustomization.yaml': `kind: Kustomization\n${kustomization}\n`,
      }).findings.find(({ file }) => file === 'p.yaml')?.consequence;
    expect(of('patches: [{path: p.yaml}]')).toContain('takes the first of them');
    expect(of('resources: [p.yaml]')).toContain('Kustomize refuses the file');
  });

  it('is left out where it is no workload and speaks of an engine in a comment alone', () => {
    const twice = (more: string): string => `place: a\nplace: b${more}\n`;
    expect(found({ 'a.yaml': twice(' # for vllm serve') })).toEqual([]);
    expect(found({ 'a.yaml': twice('\nrun: vllm serve m') })).toEqual(['unreadable a.yaml:2 note']);
  });

  it.each([
    'TBD # Remove this line to enable the template',
    'REMOVE THIS LINE before you use it',
    '<edit me> delete this line',
  ])('is left out where a line says that it has to go first: %s', (line) => {
    const text = (first: string): string => `${first}\nengine:\n  command: vllm serve m\n`;
    expect(found({ 'guide.yaml': text(line) })).toEqual([]);
    expect(inspect({ 'guide.yaml': text(line) }).leftOut).toHaveLength(1);
    expect(found({ 'guide.yaml': text('TBD') })).toHaveLength(1);
    // Such a word behind an item or in a comment leaves a broken file broken.
    expect(
      found({ 'guide.yaml': `${text('TBD')}# remove this line\nargs:\n- a # remove this line\n` }),
    ).toHaveLength(1);
  });

  it('says nothing of the other documents of its file', () => {
    const text =
      'kind: Deployment\nmetadata: {name: a}\n---\nkind: Secret\nstringData:\n  token: {{TOKEN}}\n';
    expect(found({ 'a.yaml': text })).toEqual([]);
  });

  it('is not looked at where nothing of it could matter', () => {
    const { findings, leftOut } = inspect({ 'package.json': '{"name": [', 'notes.yaml': 'a: [\n' });
    expect([...findings, ...leftOut]).toEqual([]);
  });
});
