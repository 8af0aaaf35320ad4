import { describe, expect, it } from 'vitest';
import { readPodSites } from '../../../src/tools/manifests/read-pod-sites.js';
import { readSourceFile } from '../../../src/tools/manifests/source-file.js';

function sites(text: string): ReturnType<typeof readPodSites> {
  return readPodSites(readSourceFile('x.yaml', text));
}

describe('reading pod templates', () => {
  it.each(['Deployment', 'StatefulSet', 'DaemonSet', 'Job'])('reads a %s', (kind) => {
    const [site] = sites(`apiVersion: apps/v1
kind: ${kind}
metadata: {name: engine, namespace: serving}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: engine}}
    spec:
      initContainers: [{name: one}]
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.20.0
          command: [vllm, serve]
          args: [m, --block-size, 32]
          env:
            - {name: A, value: "1"}
            - {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}
`);
    expect(site).toMatchObject({ kind, name: 'engine', namespace: 'serving', part: undefined });
    expect(site?.labels.get('app')).toBe('engine');
    expect(site?.initContainers.map(({ name }) => name)).toEqual(['one']);
    const [container] = site?.containers ?? [];
    expect(container?.args.map(({ value }) => value)).toEqual(['m', '--block-size', '32']);
    expect(container?.env.map(({ name, value }) => [name, value?.value])).toEqual([
      ['A', '1'],
      ['B', undefined],
    ]);
  });

  it('reads a Pod', () => {
    const [site] = sites('kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n');
    expect(site).toMatchObject({ kind: 'Pod', name: 'p' });
    expect(site?.containers[0]?.name).toBe('c');
  });

  it('reads the leader and the workers of a LeaderWorkerSet', () => {
    const read = sites(`kind: LeaderWorkerSet
metadata: {name: l}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 4
    leaderTemplate: {spec: {containers: [{name: a}]}}
    workerTemplate: {spec: {containers: [{name: b}]}}
`);
    expect(read.map(({ part, replicas }) => [part, replicas])).toEqual([
      ['leader', 2],
      ['worker', 6],
    ]);
  });

  it('reads the components of a v1alpha1 graph, with what the graph gives to their main containers', () => {
    const text = `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  envs: [{name: ALL, value: a}]
  services:
    Frontend:
      componentType: frontend
      dynamoNamespace: ns
      envs: [{name: ONE, value: b}]
      extraPodSpec:
        mainContainer:
          image: i
          env: [{name: OWN, value: c}]
        containers: [{name: other}]
`;
    const [site] = sites(text);
    expect(site).toMatchObject({ part: 'Frontend', dynamoNamespace: 'ns' });
    expect(site?.componentType?.value).toBe('frontend');
    expect(site?.containers.map(({ name, list, env }) => [name, list, env.map((e) => e.name)])).toEqual([
      ['main', 'mainContainer', ['ALL', 'ONE', 'OWN']],
      ['other', 'containers', []],
    ]);
    expect(text.slice(site?.at.start, site?.at.end)).toBe('Frontend');
  });

  it('reads the components of a v1beta1 graph', () => {
    const [site] = sites(`apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  components:
  - name: worker
    type: decode
    replicas: 2
    podTemplate:
      metadata: {labels: {a: b}}
      spec: {containers: [{name: main, image: i}]}
`);
    expect(site).toMatchObject({ part: 'worker', replicas: 2 });
    expect(site?.componentType?.value).toBe('decode');
    expect(site?.containers[0]?.image?.value).toBe('i');
  });

  it('reads lists, several documents, anchors and merge keys', () => {
    const read = sites(`kind: List
items:
  - kind: Pod
    metadata: {name: a}
    spec: &spec {containers: [&c {name: c, image: i}]}
  - kind: Pod
    metadata: {name: b}
    spec: *spec
  - kind: Pod
    metadata: {name: d}
    spec: {containers: [{<<: *c, name: e}]}
---
kind: Pod
metadata: {name: f}
`);
    expect(
      read.map(({ name, containers }) => [name, ...containers.map((c) => `${c.name}:${c.image?.value}`)]),
    ).toEqual([['a', 'c:i'], ['b', 'c:i'], ['d', 'e:i'], ['f']]);
  });

  it('reads nothing in objects that have no pods', () => {
    expect(sites('kind: Service\nspec: {template: {spec: {}}}\n---\n- a\n---\nkind: 3\n')).toEqual([]);
  });

  it('follows an anchor that holds itself no further than it has to', () => {
    expect(sites('kind: Pod\nspec: &a {<<: *a, containers: [*a]}\n')).toHaveLength(1);
  });
});
