import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sketchOf } from '../../../../src/frontend/picker/wire/body-sketch.js';

describe('the sketch of a body', () => {
  it('is the same for the same bytes, and 32 bits', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4_000 }), (bytes) => {
        const sketch = sketchOf(Buffer.from(bytes));
        expect(sketchOf(Buffer.from(bytes))).toBe(sketch);
        expect(sketch).toBe(sketch >>> 0);
      }),
    );
  });

  it('differs for conversations of different lengths, and for prompts of one length', () => {
    const body = (prompt: string): Buffer => Buffer.from(JSON.stringify({ model: 'tiny', prompt }));
    const sketches = Array.from({ length: 1_000 }, (_, at) => sketchOf(body('word '.repeat(at))));
    expect(new Set(sketches).size).toBe(1_000);
    expect(sketchOf(body('a'.repeat(500)))).not.toBe(sketchOf(body('b'.repeat(500))));
    expect(sketchOf(Buffer.alloc(0))).not.toBe(sketchOf(Buffer.from('a')));
  });
});
