import { describe, expect, it } from 'vitest';
import { JsonScan } from '../../../src/edge/platform/data/json-scan.js';
import { rewriteModel } from '../../../src/frontend/picker/model-rewrite.js';

const REWRITES = new Map([['chat', 'llama "70b"']]);

function rewritten(text: string): string | undefined {
  const bytes = Buffer.from(text);
  const scan = new JsonScan();
  scan.add(bytes);
  return rewriteModel({ bytes, scan }, REWRITES)?.toString();
}

describe('the name of a model', () => {
  it.each([
    ['{"model":"chat","n":1.0}', '{"model":"llama \\"70b\\"","n":1.0}'],
    ['{"a":{"model":"chat"},"model" : "chat" }', '{"a":{"model":"chat"},"model" :"llama \\"70b\\""}'],
    ['{"model":"x","model":"chat"}', '{"model":"x","model":"llama \\"70b\\""}'],
    ['{"\\u006dodel":"chat"}', '{"\\u006dodel":"llama \\"70b\\""}'],
  ])('in %s becomes %s', (text, becomes) => {
    expect(rewritten(text)).toBe(becomes);
  });

  it.each(['{"model":"other"}', '{"model":7}', '{"a":{"model":"chat"}}', '["chat"]', '{"model":', ''])(
    'stays in %s',
    (text) => {
      expect(rewritten(text)).toBeUndefined();
    },
  );
});
