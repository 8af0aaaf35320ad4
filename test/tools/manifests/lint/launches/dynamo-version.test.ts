import { describe, expect, it } from 'vitest';
import {
  decidingNumber,
  dynamoVersionOf,
} from '../../../../../src/tools/manifests/lint/launches/dynamo-version.js';

describe("Dynamo's version", () => {
  it.each([
    ['nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:1.6.1', '1.6'],
    ['nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.0-deepseek-dev.1', '1.6'],
    ['registry:5000/sglang-runtime:v0.9.0', '0.9'],
    ['nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.3.1', '1.3'],
    ['nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.0.post1', '0.7'],
    ['nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.6.1.post1-amd64', '0.6'],
    ['r/vllm-runtime:1.2.0.dev20260401', '1.2'],
    ['r/vllm-runtime:1.2.0.7', undefined],
    ['my-registry/tensorrtllm-runtime:my-tag', undefined],
    ['tensorrtllm-runtime', undefined],
    ['vllm/vllm-openai:v0.20.0', undefined],
    ['nginx:1.29', undefined],
    [undefined, undefined],
  ])('is read from %s', (image, expected) => {
    const version = dynamoVersionOf(image);
    expect(version && `${version.major}.${version.minor}`).toBe(expected);
  });

  it.each([
    ['0.3.2', undefined, 'unknown'],
    ['0.4.1', undefined, 'card'],
    ['0.6.1', undefined, 'card'],
    ['0.7.0', undefined, 'card'],
    ['0.8.1', undefined, 'card'],
    ['0.9.0', undefined, 'card'],
    ['1.0.0', undefined, 'card'],
    ['1.0.0', 'vllm', 'variable'],
    ['1.0.0', 'sglang', 'card'],
    ['1.1.1', 'sglang', 'variable'],
    ['1.2.1', 'vllm', 'variable'],
    ['1.3.1', 'vllm', 'card'],
    ['1.6.1', 'dynamo', 'card'],
  ])('says which number decides in %s with the chat processor %s', (tag, processor, expected) => {
    expect(decidingNumber(dynamoVersionOf(`r/vllm-runtime:${tag}`), processor)).toBe(expected);
  });

  it('is unknown without a tag that says it', () => {
    expect(decidingNumber(undefined, 'vllm')).toBe('unknown');
  });
});
