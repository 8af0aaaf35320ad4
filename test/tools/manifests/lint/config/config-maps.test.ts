import { describe, expect, it } from 'vitest';
import { lintFiles } from '../../../../../src/tools/manifests/lint/lint-files.js';
import { readSourceFile } from '../../../../../src/tools/manifests/source-file.js';
import { applyEdits } from '../../../../../src/tools/manifests/text-edit.js';

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
