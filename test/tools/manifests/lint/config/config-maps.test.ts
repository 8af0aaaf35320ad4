import { describe, expect, it } from 'vitest';
import { lintFiles } from '../../../../../src/tools/manifests/lint/lint-files.js';
import { readSourceFile } from '../../../../../src/tools/manifests/source-file.js';
import { applyEdits } from '../../../../../src/tools/manifests/text-edit.js';
import { deployment, found, inspect, vllm } from '../support.js';

const settings = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: a}
data:
  ROUTER_MODE: kv
  KV_CACHE_BLOCK_SIZE: "16"   # for vLLM
`;

const engine = (path: string): string => `apiVersion: v1
kind: ConfigMap
metadata: {name: engine, namespace: a}
data:
  agg.yaml: "kv_cache_config: {tokens_per_block: 64}"
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: frontend, namespace: a}
spec:
  template:
    spec:
      containers:
        - name: main
          image: i
          command: [python3, -m, dynamo.frontend]
          envFrom:
            - configMapRef: {name: settings}
              prefix: DYN_
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker, namespace: a}
spec:
  template:
    spec:
      volumes:
        - {name: engine, configMap: {name: engine, items: [{key: agg.yaml, path: deep/engine.yaml}]}}
      containers:
        - name: main
          image: i
          command: [python3, -m, dynamo.trtllm, --model-path, m, --publish-kv-events, --kv-block-size, "64"]
          args: [--extra-engine-args, ${path}]
          volumeMounts: [{name: engine, mountPath: /etc/engine/}]
`;

function lint(...texts: readonly string[]): ReturnType<typeof lintFiles> {
  return lintFiles(
    texts.map((text, index) => readSourceFile(`${index}.yaml`, text)),
    [],
  );
}

describe('ConfigMaps', () => {
  it('give variables to containers, and are what is fixed', () => {
    const [finding, ...rest] = lint(settings, engine('/etc/engine/deep/engine.yaml'));
    expect(rest).toEqual([]);
    expect(finding).toMatchObject({ ruleId: 'block-size-mismatch', file: '0.yaml', line: 6, column: 25 });
    expect(finding?.fix?.file).toBe('0.yaml');
    expect(applyEdits(settings, finding?.fix?.edits ?? [])).toBe(settings.replace('"16"', '"64"'));
    expect(finding?.related?.map(({ file, line }) => `${file}:${line}`)).toEqual(['1.yaml:5']);
  });

  it('prove nothing when they are not there', () => {
    expect(lint(engine('/etc/engine/deep/engine.yaml'))).toEqual([]);
  });

  it('are files only where they are mounted', () => {
    const [finding] = lint(settings, engine('/elsewhere/engine.yaml'));
    expect(finding?.message).toContain('--kv-block-size');
  });
});

describe('the file that a container sees at a path', () => {
  const map = (name: string, tokens: number): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {engine.yaml: "kv_cache_config: {tokens_per_block: ${tokens}}"}\n---\n`;
  const worker = (volumes: string, mounts: string): string =>
    deployment(
      'worker',
      `command: [python3, -m, dynamo.trtllm, --model-path, m, --kv-block-size, "64", --extra-engine-args, /etc/engine/engine.yaml, --publish-kv-events]\nvolumeMounts: [${mounts}]`,
      `      volumes: [${volumes}]\n`,
    );
  const maps = map('a', 32) + map('b', 64);
  const volumes = '{name: a, configMap: {name: a}}, {name: b, configMap: {name: b}}';
  const folder = '{name: a, mountPath: /etc/engine}';
  const file = '{name: b, mountPath: /etc/engine/engine.yaml, subPath: engine.yaml}';
  const differs = ['worker-card-differs a.yaml:4 warning'];
  const wrong = (text: string): readonly string[] =>
    found({ 'a.yaml': text }).map((one) => one.replace(/:\d+/, ':4'));

  it('is the one of the deepest mount, in whatever order they stand', () => {
    expect(wrong(maps + worker(volumes, `${folder}, ${file}`))).toEqual([]);
    expect(wrong(maps + worker(volumes, `${file}, ${folder}`))).toEqual([]);
    const other = file.replace('name: b', 'name: a');
    expect(wrong(maps + worker(volumes, `${folder.replace('name: a', 'name: b')}, ${other}`))).toEqual(
      differs,
    );
  });

  it('is not known below a mount of another kind, whatever the tree has', () => {
    const files = { 'x/etc/engine/engine.yaml': 'kv_cache_config: {tokens_per_block: 32}\n' };
    const text = worker('{name: w, emptyDir: {}}', '{name: w, mountPath: /etc/engine}');
    expect(found({ ...files, 'a.yaml': text })).toEqual([]);
    expect(found({ ...files, 'a.yaml': worker('', '') })).toHaveLength(1);
  });

  it('is one of the items, where a volume lists them', () => {
    const items = (path: string): string =>
      `{name: a, projected: {sources: [{configMap: {name: a, items: [{key: engine.yaml, path: ${path}}]}}, {secret: {name: s}}]}}`;
    expect(wrong(maps + worker(items('old.yaml'), folder))).toEqual([]);
    expect(wrong(maps + worker(items('engine.yaml'), folder))).toEqual(differs);
  });
});

describe('variables of a Secret', () => {
  const front = (secret: string): string =>
    deployment(
      'frontend',
      `command: [python3, -m, dynamo.frontend, --router-mode, kv, --dyn-chat-processor, vllm]\nenvFrom: [{secretRef: {name: ${secret}}}]`,
    ).replace('image:tag', 'vllm-runtime:1.1.1');

  it('may be any, so that no number is missing', () => {
    expect(found({ 'a.yaml': front('dynamo-settings') + vllm(64) })).toEqual([]);
  });

  it.each(['hf-token-secret', 'hf-secret', 'ngc-api-key', 'aws-credentials'])(
    'are no settings in %s',
    (name) => {
      expect(found({ 'a.yaml': front(name) + vllm(64) })).toContainEqual(
        expect.stringMatching(/^block-size-unset .* error$/),
      );
    },
  );
});

describe('a variable that a container has twice', () => {
  const front = (...values: readonly number[]): string =>
    deployment(
      'router',
      `command: [python3, -m, dynamo.router]\nenv: [${values.map((value) => `{name: DYN_ROUTER_BLOCK_SIZE, value: "${value}"}`).join(', ')}]`,
    );

  it('has the value of the last', () => {
    expect(found({ 'a.yaml': front(16, 64) + vllm(64) })).toEqual([]);
    expect(found({ 'a.yaml': front(64, 16) + vllm(64) })).toHaveLength(1);
  });

  it('may name one in front of it, and none behind it', () => {
    const env = (list: string): string =>
      deployment('router', `command: [python3, -m, dynamo.router]\nenv: [${list}]`);
    const size = '{name: SIZE, value: "16"}';
    const all = '{name: DYN_ROUTER_BLOCK_SIZE, value: $(SIZE)}';
    expect(found({ 'a.yaml': env(`${size}, ${all}`) + vllm(64) })).toHaveLength(1);
    expect(found({ 'a.yaml': env(`${all}, ${size}`) + vllm(64) })).toEqual([]);
  });
});

describe('a variable in a script of an argument', () => {
  it('is put in before a shell sees it', () => {
    const front = (tokens: number): string =>
      deployment(
        'router',
        `command: [sh, -c, "exec python3 -m dynamo.router --router-block-size $(BS)"]\nenv: [{name: BS, value: "${tokens}"}]`,
      );
    expect(found({ 'a.yaml': front(16) + vllm(64) })).toHaveLength(1);
    expect(found({ 'a.yaml': front(64) + vllm(64) })).toEqual([]);
  });
});

describe('what Flux or Argo CD changes', () => {
  const router = deployment('router', 'command: [python3, -m, dynamo.router, --router-block-size, "16"]');
  const files = {
    'apps/dyn/all.yaml': router + vllm(64),
    'apps/dyn/kustomization.yaml': 'resources: [all.yaml]\n',
  };
  const flux = (more: string): string =>
    `apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: dyn}\nspec:\n  path: ./apps/dyn\n${more}`;
  const argo = (more: string): string =>
    `apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: dyn}\nspec:\n  source: {path: apps/dyn${more}}\n`;
  const wrong = ['block-size-mismatch apps/dyn/all.yaml:10 error'];

  it('is not known, with a kustomization and without one', () => {
    const patches = '  patches: [{patch: x}]\n';
    expect(found({ ...files, 'clusters/a.yaml': flux(patches) })).toEqual([]);
    expect(
      found({ 'apps/dyn/all.yaml': files['apps/dyn/all.yaml'], 'clusters/a.yaml': flux(patches) }),
    ).toEqual([]);
    expect(found({ ...files, 'clusters/a.yaml': argo(', kustomize: {images: [a=b]}') })).toEqual([]);
  });

  it('is what stands there, where nothing is changed', () => {
    expect(found({ ...files, 'clusters/a.yaml': flux('  prune: true\n') })).toEqual(wrong);
    expect(found({ ...files, 'clusters/a.yaml': argo('') })).toEqual(wrong);
    expect(
      found({ ...files, 'clusters/a.yaml': flux('  patches: []\n').replace('apps/dyn', 'apps/other') }),
    ).toEqual(wrong);
  });
});

describe('one name for several ConfigMaps', () => {
  const map = (tokens: number): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sizes}\ndata: {DYN_ROUTER_BLOCK_SIZE: "${tokens}"}\n---\n`;
  const front = deployment(
    'router',
    'command: [python3, -m, dynamo.router]\nenvFrom: [{configMapRef: {name: sizes}}]',
  );
  const kustomization = (text: string): string => `kind: Kustomization\n${text}`;

  it('means the one in the same file', () => {
    expect(found({ 'x/a.yaml': map(16) + front + vllm(16), 'x/b.yaml': map(64) + front + vllm(64) })).toEqual(
      [],
    );
    expect(found({ 'x/a.yaml': map(16) + front + vllm(64), 'x/b.yaml': map(64) + front + vllm(16) })).toEqual(
      ['block-size-mismatch x/a.yaml:4 error', 'block-size-mismatch x/b.yaml:4 error'],
    );
  });

  it('means the one of the same kustomization, before one beside it', () => {
    const files = {
      'x/kustomization.yaml': kustomization('resources: [a.yaml, maps/of/own.yaml]\n'),
      'x/a.yaml': front + vllm(64),
      'x/other.yaml': map(64),
    };
    expect(found({ ...files, 'x/maps/of/own.yaml': map(16) })).toEqual([
      'block-size-mismatch x/maps/of/own.yaml:4 error',
    ]);
    expect(found({ ...files, 'x/maps/of/own.yaml': map(64) })).toEqual([]);
  });

  it('is not known where two are meant alike', () => {
    expect(found({ 'x/a.yaml': front + vllm(64), 'x/b.yaml': map(16), 'x/c.yaml': map(64) })).toEqual([]);
    expect(found({ 'x/a.yaml': map(16) + map(16) + front + vllm(64) })).toEqual([]);
  });

  it('is not looked for in another part of a repository', () => {
    expect(found({ 'x/y/a.yaml': front + vllm(64), 'z/v/w/b.yaml': map(16) })).toEqual([]);
  });

  it('means what a generator makes, of literals and of files', () => {
    const worker = deployment(
      'worker',
      'command: [python3, -m, dynamo.trtllm, --model-path, m, --kv-block-size, "64", --extra-engine-args, /etc/engine/agg.yaml, --publish-kv-events]\nvolumeMounts: [{name: e, mountPath: /etc/engine}]',
      '      volumes: [{name: e, configMap: {name: engine}}]\n',
    );
    const files = {
      'x/kustomization.yaml': kustomization(
        'resources: [a.yaml]\nconfigMapGenerator:\n- {name: sizes, literals: [DYN_ROUTER_BLOCK_SIZE=16]}\n- {name: engine, files: [agg.yaml=engine/own.yaml]}\n',
      ),
      'x/a.yaml': front + worker,
      'x/engine/own.yaml': 'kv_cache_config: {tokens_per_block: 64}\n',
    };
    expect(found(files)).toEqual(['block-size-mismatch x/kustomization.yaml:4 error']);
    expect(inspect(files).findings[0]?.related?.map(({ file }) => file)).toEqual(['x/engine/own.yaml']);
  });

  it('that is not here means the file beside it which is called as its key', () => {
    const worker = (items = ''): string =>
      deployment(
        'worker',
        'command: [python3, -m, dynamo.trtllm, --model-path, m, --kv-block-size, "32", --extra-engine-args, /etc/engine/agg.yaml, --publish-kv-events]\nvolumeMounts: [{name: e, mountPath: /etc/engine}]',
        `      volumes: [{name: e, configMap: {name: engine${items}}}]\n`,
      );
    const router = deployment('router', 'command: [python3, -m, dynamo.router, --router-block-size, "32"]');
    const engine = 'kv_cache_config: {tokens_per_block: 64}\n';
    const card = ['worker-card-differs x/a.yaml'];
    const of = (files: Readonly<Record<string, string>>): readonly string[] =>
      found(files)
        .filter((one) => one.startsWith('worker-card-differs'))
        .map((one) => one.replace(/:.*/, ''));
    expect(of({ 'x/a.yaml': router + worker(), 'x/agg.yaml': engine })).toEqual(card);
    const renamed = ', items: [{key: own.yaml, path: agg.yaml}]';
    expect(of({ 'x/a.yaml': router + worker(renamed), 'x/own.yaml': engine })).toEqual(card);
    expect(of({ 'x/a.yaml': router + worker(), 'y/agg.yaml': engine })).toEqual([]);
    // One that is here and has no such key has none.
    const map = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: engine}\ndata: {a: b}\n';
    expect(of({ 'x/a.yaml': `${router}${worker()}${map}`, 'x/agg.yaml': engine })).toEqual([]);
  });

  it('gives single variables as well', () => {
    const one = deployment(
      'router',
      'command: [python3, -m, dynamo.router]\nenv: [{name: DYN_ROUTER_BLOCK_SIZE, valueFrom: {configMapKeyRef: {name: sizes, key: DYN_ROUTER_BLOCK_SIZE}}}]',
    );
    expect(found({ 'a.yaml': map(16) + one + vllm(64) })).toEqual(['block-size-mismatch a.yaml:4 error']);
  });
});
