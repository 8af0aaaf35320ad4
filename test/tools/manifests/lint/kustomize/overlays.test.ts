import { describe, expect, it } from 'vitest';
import { deployment, found, inspect, router, vllm } from '../support.js';

const kustomization = (text: string): string =>
  `apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n${text}`;

/** A router and a worker with blocks of 16. */
const BASE = {
  'base/kustomization.yaml': kustomization('resources: [router.yaml, worker.yaml]\n'),
  'base/router.yaml': router(16),
  'base/worker.yaml': deployment(
    'worker',
    'command: [python3, -m, dynamo.vllm]\nargs: [--model, m, --block-size, "16"]',
  ),
};

/** An overlay over the base. */
const overlay = (text: string, more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  ...BASE,
  'o/kustomization.yaml': kustomization(`resources: [../base]\n${text}`),
  ...more,
});

const PATCH = `apiVersion: apps/v1
kind: Deployment
metadata: {name: worker}
spec:
  template:
    spec:
      containers:
        - name: main
          args:
            - --model=m
            - --block-size=64
`;

/** Where the number of the worker stands, of what is found on the router. */
const workersIn = (files: Readonly<Record<string, string>>): readonly string[] =>
  inspect(files).findings.flatMap(({ related = [] }) =>
    related.filter(({ says }) => !/kustomization/.test(says)).map(({ file, line }) => `${file}:${line}`),
  );

describe('a patch of arguments alone', () => {
  it('says what the container of its base gets, with the line of the patch', () => {
    const files = overlay('patches: [{path: patch.yaml}]\n', { 'o/patch.yaml': PATCH });
    expect(found(files)).toEqual(['block-size-mismatch base/router.yaml:10 error']);
    expect(workersIn(files)).toEqual(['o/patch.yaml:11']);
  });

  it('corrects what its base has wrong', () => {
    const files = {
      ...overlay('patches: [{path: patch.yaml}]\n', { 'o/patch.yaml': PATCH }),
      'base/router.yaml': router(64),
    };
    expect(found(files)).toEqual([]);
  });

  it.each([
    ['patchesStrategicMerge', 'patchesStrategicMerge: [patch.yaml]\n'],
    ['a target', 'patches: [{path: patch.yaml, target: {kind: Deployment, name: work.*}}]\n'],
    ['alternatives', 'patches: [{path: patch.yaml, target: {name: ^(other|worker)$}}]\n'],
  ])('is applied by %s', (_name, text) => {
    expect(found(overlay(text, { 'o/patch.yaml': PATCH }))).toEqual([
      'block-size-mismatch base/router.yaml:10 error',
    ]);
  });

  it('is applied by a component', () => {
    const files = overlay('components: [../c]\n', {
      'c/kustomization.yaml':
        'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: patch.yaml}]\n',
      'c/patch.yaml': PATCH,
    });
    expect(found(files)).toEqual(['block-size-mismatch base/router.yaml:10 error']);
    expect(workersIn(files)).toEqual(['c/patch.yaml:11']);
  });

  it('within the kustomization is found there', () => {
    const files = overlay(`patches:
  - target: {kind: Deployment, name: worker}
    patch: |-
      - op: replace
        path: /spec/template/spec/containers/0/args/3
        value: "64"
`);
    expect(workersIn(files)).toEqual(['o/kustomization.yaml:9']);
  });

  it.each(['worker', 'renamed'])('finds an object that was renamed as %s', (name) => {
    const files = overlay(
      `patches:
  - target: {kind: Deployment, name: worker}
    patch: '[{"op": "replace", "path": "/metadata/name", "value": "renamed"}]'
  - target: {kind: Deployment, name: ${name}}
    path: patch.yaml
`,
      { 'o/patch.yaml': PATCH },
    );
    expect(workersIn(files)).toEqual(['o/patch.yaml:11']);
  });

  it('of another name changes nothing, and is named', () => {
    const files = overlay('patches: [{path: patch.yaml}]\n', {
      'o/patch.yaml': PATCH.replace('name: worker', 'name: other'),
    });
    expect(found(files)).toEqual([]);
    expect(inspect(files).notChecked.map(({ program }) => program)).toContain('arguments of an engine');
  });

  it('that is not here makes its target unknown', () => {
    const wrong = { 'base/router.yaml': router(64) };
    const absent = 'patches: [{path: absent.yaml, target: {kind: Deployment, name: worker}}]\n';
    expect(found({ ...overlay(''), ...wrong })).toEqual(['block-size-mismatch base/router.yaml:10 error']);
    expect(found({ ...overlay(absent), ...wrong })).toEqual([]);
  });
});

describe('overlays of one base', () => {
  it('are variants: each has its own finding, and they share one of the base', () => {
    const files = {
      ...overlay('patches: [{path: patch.yaml}]\n', { 'o/patch.yaml': PATCH }),
      'p/kustomization.yaml': kustomization('resources: [../base]\npatches: [{path: patch.yaml}]\n'),
      'p/patch.yaml': PATCH.replace('64', '32'),
    };
    const { findings } = inspect(files);
    expect(findings.map(({ message }) => /\b(?:32|64)\b/.exec(message)?.[0])).toEqual(['64', '32']);
    const builders = findings.flatMap(({ related = [] }) =>
      related.filter(({ says }) => /kustomization/.test(says)).map(({ file }) => file),
    );
    expect(builders).toEqual(['o/kustomization.yaml', 'p/kustomization.yaml']);
  });

  it('get no fix in a file that they share', () => {
    const unset = {
      'base/kustomization.yaml': kustomization('resources: [all.yaml]\n'),
      'base/all.yaml': deployment('front', 'command: [python3, -m, dynamo.router]') + vllm(64),
      'o/kustomization.yaml': kustomization('resources: [../base]\nnamespace: a\n'),
    };
    const fixes = (files: Readonly<Record<string, string>>): number =>
      inspect(files).findings.filter(({ fix }) => fix !== undefined).length;
    expect(fixes(unset)).toBe(1);
    expect(
      fixes({ ...unset, 'p/kustomization.yaml': kustomization('resources: [../base]\nnamespace: b\n') }),
    ).toBe(0);
  });
});

describe('workers of an overlay without a router', () => {
  const files = {
    'g/router/values.yaml': router(16),
    'g/modelserver/gpu/base/kustomization.yaml': kustomization('resources: [worker.yaml]\n'),
    'g/modelserver/gpu/base/worker.yaml': vllm(64),
  };

  it('are compared with the one router of the nearest folder', () => {
    expect(found(files)).toEqual(['block-size-mismatch g/router/values.yaml:10 error']);
  });

  it('are compared with none where there are several', () => {
    expect(found({ ...files, 'g/other/values.yaml': router(64) })).toEqual([]);
  });

  it('are compared with none further away, where the nearest one has blocks of its own', () => {
    const guessing = 'kind: EndpointPickerConfig\nplugins: [{type: prefix-cache-scorer}]\n';
    const { 'g/router/values.yaml': own, ...workers } = files;
    expect(found({ ...workers, 'g/router/picker.yaml': guessing, 'h/router/all.yaml': own })).toEqual([]);
  });

  it('are compared with none of another deployment', () => {
    const { 'g/router/values.yaml': own, ...workers } = files;
    expect(found({ ...workers, 'h/deep/router/all.yaml': own })).toEqual([]);
  });
});

describe('a fix of what an overlay builds', () => {
  it('changes the file where the value stands', () => {
    const files = {
      ...overlay('patches: [{path: patch.yaml}]\n', { 'o/patch.yaml': PATCH }),
    };
    const [fix] = inspect(files).findings.flatMap((one) => one.fix ?? []);
    expect(fix?.file).toBe('base/router.yaml');
    const [edit] = fix?.edits ?? [];
    expect(files['base/router.yaml']?.slice(edit?.start, edit?.end)).toBe('16');
    expect(edit?.text).toBe('64');
  });
});

describe('values that come of other objects', () => {
  const worker = deployment(
    'worker',
    `command: [python3, -m, dynamo.vllm, --model, m, "--block-size=$(SIZE)"]
envFrom: [{configMapRef: {name: sizes}}]`,
  );

  it('of a generated ConfigMap count, which an overlay merges', () => {
    const files = {
      ...BASE,
      'base/worker.yaml': worker,
      'base/kustomization.yaml': kustomization(
        'resources: [router.yaml, worker.yaml]\nconfigMapGenerator:\n  - name: sizes\n    literals: [SIZE=16]\n',
      ),
      'o/kustomization.yaml': kustomization(
        'resources: [../base]\nconfigMapGenerator:\n  - name: sizes\n    behavior: merge\n    literals:\n      - SIZE=64\n',
      ),
    };
    expect(found(files)).toEqual(['block-size-mismatch base/router.yaml:10 error']);
    expect(workersIn(files)).toEqual(['base/worker.yaml:10']);
  });

  it('by replacements stand where they come from', () => {
    const files = overlay(
      `configMapGenerator:
  - name: sizes
    literals:
      - SIZE=64
replacements:
  - source: {kind: ConfigMap, name: sizes, fieldPath: data.SIZE}
    targets:
      - select: {kind: Deployment, name: worker}
        fieldPaths: ["spec.template.spec.containers.[name=main].args.3"]
`,
    );
    expect(found(files)).toEqual(['block-size-mismatch base/router.yaml:10 error']);
    expect(workersIn(files)).toEqual(['o/kustomization.yaml:7']);
  });

  it('of an object that is not here are unknown', () => {
    const files = {
      ...overlay(
        `replacements:
  - source: {kind: ConfigMap, name: absent, fieldPath: data.SIZE}
    targets:
      - select: {kind: Deployment, name: worker}
        fieldPaths: ["spec.template.spec.containers.[name=main].args.3"]
`,
      ),
      'base/router.yaml': router(64),
    };
    expect(found(files)).toEqual([]);
  });
});
