import type { Rule } from './finding.js';

/** What is looked for in documentation alone. */
export const DOCS_RULE: Rule = {
  id: 'docs-block-size-note',
  severity: 'warning',
  summary: 'An example sets a block size and does not say that it must match the backend.',
  explanation:
    'Anyone who copies the example for a backend with another default (TensorRT-LLM uses a block size of 32, vLLM 16) gets a router that finds no cached block. Requests still complete, and nothing reports it.',
};
