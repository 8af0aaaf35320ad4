import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFeatures } from '../../../src/engines/vllm/render-features.js';

const place = (offset: number, length: number): object => ({ offset, length });

describe('the media of a rendered request', () => {
  it('come in the order of the prompt, whatever they are', () => {
    const features = {
      mm_hashes: { image: ['a', 'b'], audio: ['c'] },
      mm_placeholders: { image: [place(4, 2), place(20, 2)], audio: [place(9, 3)] },
      kwargs_data: null,
    };
    const items = [
      { identifier: 'a', offset: 4, length: 2 },
      { identifier: 'c', offset: 9, length: 3 },
      { identifier: 'b', offset: 20, length: 2 },
    ];
    expect(readFeatures({ token_ids: [1], features })).toEqual(items);
    expect(readFeatures([{ token_ids: [1], features }])).toEqual(items);
  });

  it.each([
    ['no features', {}],
    ['null', { features: null }],
    ['hashes alone', { features: { mm_hashes: { image: ['a'] } } }],
    ['a place too few', { features: { mm_hashes: { image: ['a'] }, mm_placeholders: { image: [] } } }],
    [
      'another modality',
      { features: { mm_hashes: { image: ['a'] }, mm_placeholders: { audio: [place(1, 1)] } } },
    ],
    [
      'a hash that is no text',
      { features: { mm_hashes: { image: [7] }, mm_placeholders: { image: [place(1, 1)] } } },
    ],
    [
      'a place without length',
      { features: { mm_hashes: { image: ['a'] }, mm_placeholders: { image: [{ offset: 1 }] } } },
    ],
  ])('are not known from %s', (_, answer) => {
    expect(readFeatures(answer)).toBeUndefined();
  });

  it('are read of any answer without an error', () => {
    fc.assert(fc.property(fc.anything(), (features) => void readFeatures({ features })));
  });
});
