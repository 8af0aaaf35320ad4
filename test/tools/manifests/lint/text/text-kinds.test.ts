import { describe, expect, it } from 'vitest';
import { isWorthReading } from '../../../../../src/tools/manifests/lint/text/text-kinds.js';

/** JSON of some size, as lists of packages and tokenizers are. */
function large(more: string): string {
  return `{"packages": [${'"vllm", '.repeat(10_000)}""], "vocab": {"kind": 4455}${more}}`;
}

describe('a large text of JSON', () => {
  it('is not parsed where it only names a program', () => {
    expect(isWorthReading('sbom.json', large(''))).toBe(false);
    // A small one costs nothing.
    expect(isWorthReading('a.json', '{"a": "vllm"}')).toBe(true);
    expect(isWorthReading('a.yaml', large(''))).toBe(true);
  });

  it.each([
    ', "kind": "Deployment"',
    ', "args": ["--block-size", "64"]',
    ', "command": ["vllm", "serve", "m"]',
    ', "command": ["python3", "-m", "dynamo.vllm"]',
    ', "run": "python3 -m sglang.launch_server"',
    ', "image": "vllm/vllm-openai:v1"',
  ])('is parsed where it has %s', (more) => {
    expect(isWorthReading('a.json', large(more))).toBe(true);
  });
});
