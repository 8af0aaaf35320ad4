import type { KnownFault } from '../known-fault.js';

/** Encoders of images apart from prefill engines: `srt/disaggregation/encode_*.py`, later `encoder/`, of SGLang 0.5.7 to 0.5.23. */
export const SGLANG_ENCODERS: readonly KnownFault[] = [
  {
    id: 'sglang_embedding_to_nowhere',
    cause: 'transfers_fail',
    needles: ["endpoint = 'tcp://0.0.0.0:", "endpoint = 'tcp://127.0.0.1:"],
    pattern: /encode\w{0,30}\.py.{0,40}endpoint = 'tcp:\/\/((?:0\.0\.0\.0|127\.0\.0\.1)):/,
    says: 'an encoder is to send its embeddings to $1, where no prefill engine of another pod listens',
    why: 'With --encoder-transfer-backend zmq_to_tokenizer a prefill engine hands out its --host as its own address (0.5.8 and before), and waits in vain.',
    cure: 'Start the prefill engines with --host POD_IP in place of $1 (status.podIP by the downward API), or with --encoder-transfer-backend zmq_to_scheduler, or run a later SGLang',
  },
  {
    id: 'sglang_embedding_late',
    cause: 'transfers_fail',
    needles: [
      'Embedding recv timeout ',
      'Timed out waiting for image embeddings for request',
      '/scheduler_receive_meta_data timed out',
    ],
    says: 'embeddings of images do not arrive from the encoder in time, and the request fails',
    why: 'The encoder opens a connection of its own to a port of the prefill engine. That port is not reached (NetworkPolicy, an address of another network), or more images wait at the encoder than it works off before the limit: it serves one batch at a time.',
    cure: 'Let the encoder reach all ports of the prefill pods, which are others for each request, and start those with --host POD_IP; where it works only under load, start more encoders (--encoder-urls) and raise SGLANG_ENCODER_REQ_TIMEOUT and SGLANG_ENCODER_RECV_TIMEOUT (180) on both sides',
    commands: [
      'kubectl logs ENCODER --since=10m | grep -iE "endpoint =|error|timed out"    # where it sends to, and what failed there',
    ],
  },
  {
    id: 'sglang_no_encoders',
    cause: 'role_missing',
    needles: [
      'No encoder URLs available for request',
      'requires at least one encoder urls to be set via --encoder-urls',
    ],
    says: 'an engine that was started with --language-only knows no encoder',
    why: 'It has no weights for images itself. No --encoder-urls are given, none has registered at its bootstrap server, or all were dropped by its health check.',
    cure: 'Start engines with --encoder-only, and give this one their addresses: --encoder-urls http://ENCODER:PORT, one for each; a model of texts alone is started without --language-only',
    commands: ['kubectl exec POD -- curl -s -m 3 http://ENCODER:PORT/health'],
  },
  {
    id: 'sglang_encoder_dropped',
    cause: 'role_missing',
    needles: ['Health check permanently dropped '],
    pattern: /permanently dropped (\d{1,5}) encoder\(s\) after (\d{1,6})(?:\.\d)?s unhealthy: (.{1,120})/,
    says: '$1 encoders did not answer for $2 s and are used no more: $3',
    why: 'The health check of the engine takes an encoder out after some failures, and forgets it after SGLANG_ENCODER_BOOTSTRAP_EVICTED_TTL.',
    cure: 'Restart the encoders that are named, which then register again, and see why they stopped (kubectl logs ENCODER --previous); raise SGLANG_ENCODER_BOOTSTRAP_EVICTED_TTL where they come back later than that',
  },
  {
    id: 'sglang_encoder_not_registered',
    cause: 'role_missing',
    needles: ['Encoder discovery via this bootstrap will be incomplete'],
    pattern: /Giving up on bootstrap (\S{1,160}) after (\d{1,5}) attempts/,
    says: 'an encoder has given up registering at $1: that engine sends it no images',
    why: 'It tried $2 times. The engine there did not start in time, or another address or port was given.',
    cure: 'See that the engine at $1 runs and has --language-only, then restart the encoder (kubectl delete pod), which registers at its start alone',
    commands: ['kubectl exec ENCODER -- curl -sS -m 3 $1/health'],
  },
  {
    id: 'sglang_embedding_pool_small',
    cause: 'transfers_fail',
    needles: ['EmbeddingPool: requested ', 'EmbeddingPool alloc timed out after '],
    pattern: /EmbeddingPool(?:: requested| alloc timed out after [\d.]{1,12}s waiting for) (\d{1,9})MB/,
    says: 'the pool for embeddings of images has no room for $1 MB, and the request fails',
    why: 'Embeddings are received into pinned memory of SGLANG_EMBEDDING_POOL_SIZE_MB (4096) before the prefill takes them.',
    cure: 'Raise SGLANG_EMBEDDING_POOL_SIZE_MB on the prefill engines (the pod needs as much memory more), or limit images for each request (--limit-mm-data-per-request)',
  },
  {
    id: 'sglang_encoder_roles',
    cause: 'settings_refused',
    needles: [
      'Cannot set --encoder-only and --language-only together',
      'Cannot set --encoder-only and --disaggregation-mode prefill/decode together',
      '--enable-prefix-mm-cache requires --encoder-only',
    ],
    says: '--encoder-only does not go with the other arguments of the engine',
    why: 'An engine is either an encoder of images, or has the language model, with a role of a pair or without.',
    cure: 'Start the encoder with --encoder-only alone, and the other engines with --language-only --encoder-urls and their --disaggregation-mode; --enable-prefix-mm-cache belongs to the encoder',
  },
];
