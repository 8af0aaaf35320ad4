import { describe, expect, it } from 'vitest';
import { findUnreadable } from '../../../../src/tools/manifests/lint/rules/unreadable.js';
import { readSourceFile } from '../../../../src/tools/manifests/source-file.js';

function severities(text: string): readonly string[] {
  return findUnreadable(readSourceFile('x.yaml', text)).findings.map(({ severity }) => severity);
}

describe('what cannot be read', () => {
  it('is an error in a workload, also inside of an object of another kind', () => {
    const deployment = 'kind: Deployment\nmetadata: {name: vllm}\nmetadata: {name: b}\n';
    const wrapped = `kind: Serving\nspec:\n  template:\n    kind: Pod\n    spec:\n      containers: [{image: sglang}]\n    spec: {}\n`;
    expect(severities(deployment)).toEqual(['error']);
    expect(severities(wrapped)).toEqual(['error']);
  });

  it('is no error where an object only names a workload or patches one', () => {
    const autoscaler = 'kind: HorizontalPodAutoscaler\nspec:\n  target:\n    kind: Deployment\nspec: {}\n';
    const kustomization = `kind: Kustomization
patches:
  - patch: |-
      kind: Deployment
      spec:
        containers:
          - command: [vllm, serve]
    target:
      kind: Deployment
resources: [
`;
    expect(severities(autoscaler)).toEqual([]);
    expect(severities(kustomization)).toEqual(['note']);
  });
});
