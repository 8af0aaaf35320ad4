import { describe, expect, it } from 'vitest';
import { repairFor } from '../../../../src/tools/doctor/fixes/program-errors.js';
import { errorKindOf } from '../../../../src/tools/doctor/logs/general/error-kinds.js';

function cureOf(sentence: string): string {
  return repairFor(errorKindOf(sentence), sentence).says;
}

describe('sizes that a sentence has the numbers of', () => {
  it.each([
    [
      'ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).',
      '--tensor-parallel-size 4',
    ],
    [
      "ValueError: User-specified max_model_len (131072) is greater than the derived max_model_len (max_position_embeddings=32768 or model_max_length=None in model's config.json).",
      '--max-model-len 32768',
    ],
    [
      'ValueError: World size (8) is larger than the number of available GPUs (4) in this node.',
      'nvidia.com/gpu: 8',
    ],
  ])('%j are set to what fits', (sentence, cure) => {
    expect(cureOf(sentence)).toContain(cure);
  });

  it('are named in general where it has none', () => {
    expect(cureOf('ValueError: heads must be divisible by tensor parallel size')).toContain(
      'divides the attention heads',
    );
  });
});
