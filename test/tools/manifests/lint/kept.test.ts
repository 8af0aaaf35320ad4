import { describe, expect, it } from 'vitest';
import { isDocument, isNode } from 'yaml';
import { inspectTexts } from '../../../../src/tools/manifests/lint/lint-texts.js';

const GRAPH = `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    Frontend:
      componentType: frontend
      envs: [{name: DYN_ROUTER_MODE, value: kv}]
      extraPodSpec: {mainContainer: {image: i}}
    Worker:
      componentType: worker
      extraPodSpec:
        volumes: [{name: v, configMap: {name: c}}]
        mainContainer:
          image: i
          command: [python3, -m, dynamo.vllm]
          args: [--model, m, --block-size, "64"]
          volumeMounts: [{name: v, mountPath: /etc/x}]
          envFrom: [{configMapRef: {name: c}}]
`;
const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  template:
    spec:
      containers: [{name: vllm, image: vllm/vllm-openai, args: [--block-size, "16"]}]
`;
const KUSTOMIZATION = 'kind: Kustomization\nresources: [d.yaml]\npatches: [{path: p.yaml}]\n';
const PATCH =
  'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: vllm, env: [{name: A, value: b}]}]}}}\n';

/** Everything that can be reached from a value, closures left out. */
function reachable(root: unknown): ReadonlySet<object> {
  const seen = new Set<object>();
  const open: unknown[] = [root];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one !== 'object' || one === null || seen.has(one)) continue;
    seen.add(one);
    if (isNode(one) || isDocument(one)) continue;
    if (one instanceof Map) open.push(...one.keys(), ...one.values());
    else if (one instanceof Set) open.push(...one);
    open.push(...Object.values(one));
  }
  return seen;
}

describe('what is kept of manifests', () => {
  it('is facts and places alone: the YAML of a file is free again before the next one is read', () => {
    const { fleets, findings } = inspectTexts([
      { file: 'graph.yaml', text: GRAPH },
      { file: 'base/d.yaml', text: DEPLOYMENT },
      { file: 'base/p.yaml', text: PATCH },
      { file: 'base/kustomization.yaml', text: KUSTOMIZATION },
    ]);
    const kept = [...reachable({ fleets, findings })];
    expect(fleets.flatMap(({ launches }) => launches).length).toBeGreaterThan(2);
    expect(kept.length).toBeGreaterThan(100);
    expect(kept.filter((one) => isNode(one) || isDocument(one))).toEqual([]);
  });
});
