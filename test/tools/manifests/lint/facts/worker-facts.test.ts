import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

const mocker = (more = '', image = 'r/dynamo-frontend:1.6.1'): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: mocker}
spec:
  template:
    spec:
      containers:
        - name: main
          image: ${image}
          command: [python3, -m, dynamo.mocker, --model-path, m${more}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: router}
spec:
  template:
    spec:
      containers:
        - name: main
          image: ${image}
          command: [python3, -m, dynamo.router, --endpoint, ns.mocker.generate, --router-block-size, "16"]
`;

describe('the block size of a simulated engine of Dynamo', () => {
  it.each([
    ['', 64],
    [', --engine-type, vllm', 64],
    [', --engine-type, sglang', 1],
    [', --engine-type, trtllm', 32],
  ])('is that of the engine that it simulates: "%s" is %d', (more, tokens) => {
    const { findings } = inspect({ 'a.yaml': mocker(more) });
    expect(findings.map(({ ruleId, message }) => [ruleId, message])).toEqual([
      ['block-size-mismatch', expect.stringContaining(`${tokens} by default`)],
    ]);
  });

  it('is the one of its flag', () => {
    expect(found({ 'a.yaml': mocker(', --block-size, "16"') })).toEqual([]);
    expect(found({ 'a.yaml': mocker(', --block-size, "32"') })).toEqual([
      expect.stringMatching(/^block-size-mismatch/),
    ]);
  });

  it.each([
    [', --extra-engine-args, engine.json', 'r/dynamo-frontend:1.6.1'],
    [', --engine-type, sglang', 'r/dynamo-frontend:1.2.1'],
    [', --engine-type, sglang', 'r/mine:latest'],
    [', --engine-type, another', 'r/dynamo-frontend:1.6.1'],
    [', --block-size, $SIZE', 'r/dynamo-frontend:1.6.1'],
  ])('is not known where a file, a variable or the release decides: "%s" in %s', (more, image) => {
    expect(found({ 'a.yaml': mocker(more, image) })).toEqual([]);
  });
});
