import { inspectTexts } from '../../../../src/tools/manifests/lint/lint-texts.js';

/** What is found in files, by their names: `block-size-mismatch a.yaml:3 error`. */
export function found(files: Readonly<Record<string, string>>): readonly string[] {
  return inspect(files).findings.map(
    ({ ruleId, file, line, severity }) => `${ruleId} ${file}:${line} ${severity}`,
  );
}

/** Everything that an inspection of files gives. */
export function inspect(files: Readonly<Record<string, string>>): ReturnType<typeof inspectTexts> {
  return inspectTexts(Object.entries(files).map(([file, text]) => ({ file, text })));
}

/** A Deployment with one container. */
export function deployment(name: string, container: string, pod = ''): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  template:
    spec:
${pod}      containers:
        - name: main
          image: registry.example.com/image:tag
${container.replace(/^/gm, '          ')}
---
`;
}

/** A router with a size of its own. */
export function router(tokens: number | string, more = ''): string {
  return deployment(
    'router',
    `command: [python3, -m, dynamo.router, --router-block-size, "${tokens}"${more}]`,
  );
}

/** A worker of vLLM behind Dynamo. */
export function vllm(tokens: number | string, name = 'worker'): string {
  return deployment(name, `command: [python3, -m, dynamo.vllm, --model, m, --block-size, "${tokens}"]`);
}
