import { describe, expect, it } from 'vitest';
import { matchesSelector } from '../../../../../src/tools/manifests/lint/facts/label-selector.js';

const labels = new Map([
  ['app', 'vllm'],
  ['nvidia.com/dynamo-component-type', 'decode'],
]);

describe('label selectors', () => {
  it.each([
    ['app=vllm', true],
    ['app==vllm', true],
    ['app!=vllm', false],
    ['app!=x', true],
    ['other!=x', true],
    ['app=x', false],
    ['app', true],
    ['!app', false],
    ['!other', true],
    ['app in (sglang, vllm)', true],
    ['app notin (vllm)', false],
    ['app=vllm,nvidia.com/dynamo-component-type in (worker,prefill,decode)', true],
    ['app=vllm,other', false],
    ['app=(', undefined],
    ['', undefined],
  ])('reads %j', (selector, expected) => {
    expect(matchesSelector(selector, labels)).toBe(expected);
  });
});
