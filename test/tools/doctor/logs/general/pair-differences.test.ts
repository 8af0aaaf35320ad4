import { describe, expect, it } from 'vitest';
import { pairFaultOf } from '../../../../../src/tools/doctor/logs/general/pair-differences.js';

describe('an error about two engines of a pair', () => {
  it.each([
    ['Decode TP cannot be smaller than prefill TP, got 1 and 2', 'tensor parallel size'],
    [
      'local tp_size 3 must be a multiple of remote tp_size 2 for heterogeneous-TP P/D',
      'tensor parallel size',
    ],
    ['Number of KV layers must match between prefill and decode', 'KV cache layout'],
    ['remote block_size 64 does not match local block_size 16', 'block size'],
  ])('%j names the %s', (sentence, value) => {
    expect(pairFaultOf(sentence)).toEqual({ signal: 'transfer_refused', value });
  });

  it.each([
    'block_size must be a multiple of 16',
    'Could not load the local model: remote files differ',
    'Page size mismatch: prefill server has page_size=16, but decode server has page_size=32.',
  ])('is none of its own: %s', (sentence) => {
    expect(pairFaultOf(sentence)).toBeUndefined();
  });
});
