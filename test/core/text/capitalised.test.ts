import { expect, it } from 'vitest';
import { capitalised, uncapitalised } from '../../../src/core/text/capitalised.js';

it.each([
  ['the cache is full', 'The cache is full'],
  ["vLLM's connector ends", "vLLM's connector ends"],
  ['llm-d has no picker', 'llm-d has no picker'],
  ['trtllm-serve refuses it', 'trtllm-serve refuses it'],
  ['dynamo.vllm ends', 'dynamo.vllm ends'],
  ['', ''],
])('begins a sentence of %j', (text, expected) => {
  expect(capitalised(text)).toBe(expected);
});

it.each([
  ['Start the engine', 'start the engine'],
  ['', ''],
])('goes on in a sentence with %j', (text, expected) => {
  expect(uncapitalised(text)).toBe(expected);
});
