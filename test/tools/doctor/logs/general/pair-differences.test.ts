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
    ['Layer model.layers.0.attn holds 528 tokens per block here and 800 on the peer', 'block size'],
    ['Layer model.layers.0.attn holds 4 KV heads per rank here and 8 on the peer', 'KV cache layout'],
    [
      'MoRIIO head slicing needs the same block size, head size and K/V planes on both sides, got local (16, 128) and remote (32, 128)',
      'block size',
    ],
    [
      'MoRIIO WRITE needs one TP size to be a multiple of the other, got producer tp_size=2, consumer tp_size=3',
      'tensor parallel size',
    ],
    [
      'NIXL head-sharded draft KV under an MLA target requires local TP >= remote TP and no DCP: local TP=2, remote TP=4, local DCP=1, remote DCP=1',
      'tensor parallel size',
    ],
    [
      "Heterogeneous-TP WRITE of mamba layer a needs the peer's state layout; the peer runs an older vLLM",
      'version',
    ],
    ['local and remote conv states have different sub-projections: 3 vs 2', 'KV cache layout'],
    ['PLE pages require identical P/D geometry: local=2, remote=4.', 'KV cache layout'],
    ['Different NIXL cache-group layouts are only supported for pure MLA models', 'KV cache layout'],
    [
      'NixlPushConnector does not support different producer and consumer cache-group layouts',
      'KV cache layout',
    ],
    ['MembPull main KV layout mismatch for model.layers.3.attn: P=(8, 2), D=(8, 1)', 'KV cache layout'],
    ['MembPull indexer presence mismatch for model.layers.3.attn: P=1, D=0', 'KV cache layout'],
    ['P/D LIC8 config mismatch.', 'KV cache layout'],
  ])('%j names the %s', (sentence, value) => {
    expect(pairFaultOf(sentence)).toEqual({ signal: 'transfer_refused', value });
  });

  it.each([
    'block_size must be a multiple of 16',
    'Could not load the local model: remote files differ',
    '--use-replayssm is incompatible with KV connectors (P/D disaggregation, KV cache offload)',
    'Prefill and decode use different streams',
    'Page size mismatch: prefill server has page_size=16, but decode server has page_size=32.',
  ])('is none of its own: %s', (sentence) => {
    expect(pairFaultOf(sentence)).toBeUndefined();
  });
});
