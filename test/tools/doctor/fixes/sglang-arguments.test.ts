import { describe, expect, it } from 'vitest';
import { correctedArguments } from '../../../../src/tools/doctor/fixes/sglang-arguments.js';

describe('arguments that SGLang refuses', () => {
  it.each([
    [
      'Overlap speculative decoding is not supported unless dp attention is enabled',
      'Start the engine without --speculative-algorithm, or with --enable-dp-attention (kubectl edit)',
    ],
    [
      'Speculative decoding is not compatible with dp attention',
      'Start the engine without --speculative-algorithm, or without --enable-dp-attention (kubectl edit)',
    ],
  ])('are left out where they are refused, and set where a sentence asks for them: %s', (sentence, says) => {
    expect(correctedArguments(sentence)?.[0]).toBe(says);
  });
});
