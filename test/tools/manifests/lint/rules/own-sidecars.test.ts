import { describe, expect, it } from 'vitest';
import { found, inspect, router, vllm } from '../support.js';

/** A Deployment with a container of an engine, and with kv-accord's `command` beside it where one is named. */
function engine(name: string, tokens: number, command?: string): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  template:
    spec:
      containers:
        - {name: engine, image: "vllm/vllm-openai:v0.11.0", args: [--model, m, --block-size, "${tokens}"]}
${command === undefined ? '' : `        - {name: own, image: "kv-accord:0.1.0", args: [${command}]}\n`}---
`;
}

const SIDECAR = 'sidecar, --kv-event-sources, off';

describe('a sidecar of kv-accord beside an engine', () => {
  it.each([
    ['one of two workers', engine('a', 16, SIDECAR) + engine('b', 32)],
    ['each of two workers', engine('a', 16, SIDECAR) + engine('b', 32, SIDECAR)],
  ])('is no router of the others, where it is in %s', (_where, text) => {
    const { findings, notChecked } = inspect({ 'a.yaml': text });
    expect(findings).toEqual([]);
    expect(notChecked).toMatchObject([{ reason: 'no router is beside it in these files', count: 2 }]);
  });

  it.each(['status', 'top'])('is compared by no command that a person calls: %s', (command) => {
    expect(found({ 'a.yaml': engine('a', 16, command) + engine('b', 32) })).toEqual([]);
  });

  it.each(['aggregator', 'wait', 'epp', 'frontend'])('is compared by kv-accord %s', (command) => {
    const gate = engine('a', 16, `${command}, --workers, "h:1"`);
    expect(found({ 'a.yaml': gate + engine('b', 32, SIDECAR) })).toEqual([
      'block-size-mismatch a.yaml:18 error',
    ]);
  });

  it('leaves its worker with the router that stands in another file', () => {
    const worker = (own: string): string =>
      vllm(64).replace('---\n', `        - {name: own, image: "kv-accord:0.1.0", args: [${own}]}\n---\n`);
    for (const text of [vllm(64), worker(SIDECAR)])
      expect(found({ 'x/router.yaml': router(16), 'x/worker.yaml': text })).toEqual([
        'block-size-mismatch x/router.yaml:10 error',
      ]);
  });
});
