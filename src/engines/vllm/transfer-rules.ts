import { digitsBehind, numberOf } from '../diagnosis/log-fields.js';
import type { LogRule } from '../diagnosis/log-rule.js';
import { rule, signal, signalWithRest } from '../diagnosis/log-rule.js';
import { SIGN_VALUES } from '../diagnosis/sign-values.js';

/** Where two engines refuse each other, by what only such a line has, and the field that it speaks of. */
const REFUSALS: readonly (readonly [needle: string, field: string])[] = [
  // "NIXL compatibility hash mismatch. Local: 5931…, Remote: c80b…. Prefill and decode instances have incompatible configurations."
  ['NIXL compatibility hash mismatch', 'compatibility hash'],
  ['Failed to decode NixlHandshakePayload', 'connector version'],
  ['Failed to decode NixlAgentMetadata', 'connector version'],
  ['Heterogeneous TP expects same kv_cache_layout', 'KV cache layout'],
  ['Heterogeneous TP head-dimension splitting requires', 'KV cache layout'],
  ['heterogeneous attn post process is not supported', 'block size or layout of a hybrid model'],
  ['Prefix caching with heterogeneous physical_blocks', 'block size'],
  ['transfers require matching physical block sizes', 'block size'],
  ['pulls require matching logical and physical block', 'block size'],
  ['push requires identical P/D block sizes', 'block size'],
  ['NIXL transfers require matching DCP sizes', 'decode context parallel size'],
  ['does not support decode TP greater than', 'tensor parallel size'],
  // Mooncake: "req cmpl-1: KV group count mismatch: local=2, remote=1".
  ['KV group count mismatch: local=', 'KV cache groups'],
  ['is not divisible by remote tensor parallel', 'tensor parallel size'],
  ['is not divisible by local tensor parallel', 'tensor parallel size'],
  ['is not divisible by remote block size', 'block size'],
  ['KV-head re-sharding is not supported', 'tensor parallel size'],
  ['block-contiguous kv_cache_layout', 'KV cache layout'],
  ['Packed KV block rows differ between P and D', 'KV cache layout'],
  ['use the same KV cache layout on P and D', 'KV cache layout'],
  // MoRIIO: "peer 10.0.0.7 registered 2 region(s) for layer …, this engine has 1; the two sides must run the same model and KV cache layout".
  ['the two sides must run the same model and KV', 'model or KV cache layout'],
  ['KV cache block size mismatch for layer', 'block size'],
  ['heterogeneous-TP mamba/KDA transfer is not', 'tensor parallel size'],
  // Tiers between engines: "block_len mismatch from …: remote=…, local=…".
  ['block_len mismatch from ', 'block length'],
  ['config fingerprint mismatch from ', 'configuration'],
  ['hash seed mismatch from ', 'hash seed (PYTHONHASHSEED)'],
];

/** The place of a line of the NIXL connector: a name, and a shortened path at the debug level, "[distributed/.../v1/nixl_connector.py:820]". */
const OF_CONNECTOR =
  /\[(?:[\w.-]{1,60}\/){0,8}(?:nixl_connector|base_worker|pull_worker|push_worker|worker)\.py:\d{1,6}\]/;

/** Lines about KV blocks that come from another vLLM: NIXL, Mooncake and UCX below both, 0.10 to 0.32. */
export const VLLM_TRANSFER_RULES: readonly LogRule[] = [
  ...REFUSALS.map(([needle, field]) =>
    rule(needle, (line, found) =>
      found.addSignal('transfer_refused', line, { value: withNumbers(field, line.text), about: needle }),
    ),
  ),
  // "… [base_worker.py:1318] zmq.error.Again: Resource temporarily unavailable", of the connector's own files alone.
  rule('zmq.error.Again', (line, found) => {
    if (!OF_CONNECTOR.test(line.text)) return;
    found.addSignal('transfer_unreachable', line, { value: 'no answer', about: 'zmq.error.Again' });
  }),
  // "Remote NIXL agent engine ID mismatch. Expected …_dp0,received …": the address leads to another engine.
  rule('Remote NIXL agent engine ID mismatch', (line, found) =>
    found.addSignal('transfer_unreachable', line, {
      value: SIGN_VALUES.anotherEngineAnswers,
      about: 'engine ID mismatch',
    }),
  ),
  ...['Failed to connect to bootstrap server', 'with the Mooncake bootstrap server at'].map((needle) =>
    rule(needle, (line, found) =>
      found.addSignal('transfer_unreachable', line, { value: 'no answer', about: 'bootstrap server' }),
    ),
  ),
  // The last line of the listener that a traceback shows: a message of another form ends its thread for good.
  rule('target_tp_rank = msgspec.msgpack.decode(', (line, found) =>
    found.addSignal('transfer_listener_ended', line, {
      value: 'a message that it cannot read',
      about: 'msgspec.msgpack.decode(',
    }),
  ),
  rule('with zmq_ctx(zmq.ROUTER', (line, found) =>
    found.addSignal('transfer_listener_ended', line, {
      value: 'its port is in use',
      about: 'zmq_ctx(zmq.ROUTER',
    }),
  ),
  // What Python says of a thread that an exception ended, by the thread's name.
  rule('Exception in thread nixl_handshake_listener', (line, found) =>
    found.addSignal('transfer_listener_ended', line, {
      value: 'an exception',
      about: 'nixl_handshake_listener',
    }),
  ),
  // "NIXL transfer failure: handshake_failed | Context: {…, 'remote_host': 'localhost', …}".
  rule('NIXL transfer failure: ', (line, found) => {
    const what = /NIXL transfer failure: (\w{1,40})/.exec(line.text)?.[1];
    const host = /'remote_host': '([\w.:-]{1,120})'/.exec(line.text)?.[1];
    const value = what === undefined || host === undefined ? what : `${what} at ${host}`;
    found.addSignal('transfer_failed', line, { value, about: 'NIXL transfer failure: ' });
  }),
  // 0.11: "Handshake failed for request cmpl-1, marking blocks as invalid".
  rule('Handshake failed for request ', (line, found) =>
    found.addSignal('transfer_failed', line, { value: 'handshake_failed', about: 'Handshake failed' }),
  ),
  // "Failing 1 request(s) due to KV load failure (failure_policy=fail, 500 tokens affected)."
  rule(' due to KV load failure', (line, found) => {
    const count = numberOf(digitsBehind(line.text, 'Failing ')) ?? 1;
    found.addSignal('transfer_failed', line, { value: 'KV load failure', count, about: 'KV load failure' });
  }),
  // "RDMA read TIMED OUT for req … after 60.0s (kv_connector_extra_config.recv_abort_timeout=60)".
  signal('RDMA read TIMED OUT for req', 'transfer_failed'),
  signal('RDMA transfer failed for request', 'transfer_failed'),
  signal('pulling kv_caches for ', 'transfer_failed'),
  signal('Mooncake transfer failed for request', 'transfer_failed'),
  signal('Failed to transfer KV cache for request', 'transfer_failed'),
  signalWithRest('Error processing Mooncake xfer request', 'transfer_failed'),
  // "Recovered from KV load failure: 1 request(s) rescheduled (500 tokens affected)."
  rule('Recovered from KV load failure', (line, found) => {
    const count = numberOf(digitsBehind(line.text, 'KV load failure: ')) ?? 1;
    found.addSignal('transfer_recomputed', line, {
      value: 'after a failed transfer',
      count,
      about: 'Recovered',
    });
  }),
  // "Got invalid KVTransferParams: {…}. This request will not utilize KVTransfer".
  rule('request will not utilize KVTransfer', (line, found) =>
    found.addSignal('transfer_recomputed', line, {
      value: 'parameters of the transfer that are not complete',
      about: 'will not utilize KVTransfer',
    }),
  ),
  // Before the engine V1: "[rank0]: Failed to receive all KVs and hidden states, redo model forwarding."
  rule('Failed to receive all KVs and hidden states', (line, found) =>
    found.addSignal('transfer_recomputed', line, {
      value: 'after a failed transfer',
      about: 'Failed to receive all KVs',
    }),
  ),
  // "Got kv_transfer_params, but no KVConnector found. Disabling KVTransfer for this request."
  rule('but no KVConnector found', (line, found) =>
    found.addSignal('transfer_recomputed', line, {
      value: SIGN_VALUES.noConnector,
      about: 'no KVConnector found',
    }),
  ),
  // "… which were retrieved by 0 decode worker(s) within 480 seconds.", since 0.20 "… by 0 remote worker(s) before lease expired."
  rule('Releasing expired KV blocks', (line, found) => {
    const fetched = numberOf(digitsBehind(line.text, 'retrieved by ')) ?? 0;
    const value = fetched === 0 ? 'fetched by nobody' : 'not fetched by all';
    found.addSignal('transfer_expired', line, { value, about: 'Releasing expired KV blocks' });
  }),
  rule('Potentially invalid KV blocks for', (line, found) =>
    found.addSignal('transfer_expired', line, { value: 'fetched too late', about: 'Potentially invalid' }),
  ),
  rule('Declining expired remote read', (line, found) =>
    found.addSignal('transfer_expired', line, { value: 'asked for too late', about: 'Declining expired' }),
  ),
  // Mooncake: "Request cmpl-1 timed out after 480 seconds without being sent. Freeing its blocks on the producer side."
  rule('without being sent. Freeing its blocks', (line, found) =>
    found.addSignal('transfer_expired', line, { value: 'fetched by nobody', about: 'without being sent' }),
  ),
  rule('expired before sending on P side', (line, found) =>
    found.addSignal('transfer_expired', line, {
      value: 'asked for too late',
      about: 'expired before sending',
    }),
  ),
  // "KV Transfer metrics: Num successful transfers=6, Avg xfer time (ms)=52.496, …, Throughput (MB/s)=2139.6, …".
  rule('KV Transfer metrics: ', (line, found) => {
    const count = numberOf(digitsBehind(line.text, 'Num successful transfers=')) ?? 0;
    if (count > 0) found.addSignal('transfer_done', line, { count, about: 'Num successful transfers' });
  }),
  // UCX_LOG_LEVEL=info: "ucp_context_0 intra-node cfg#2 rma_am(tcp/eth1)  amo_am(tcp/eth1)  am(tcp/eth1 cuda_ipc/cuda)  ka(tcp/eth1)".
  rule('intra-node cfg#', (line, found) => {
    const lane = /\brma(?:_am)?\(([^)]{1,200})\)/.exec(line.text)?.[1];
    if (lane === undefined || !lane.startsWith('tcp/') || !line.text.includes('cuda')) return;
    found.addSignal('transfer_over_tcp', line, { value: lane, about: 'intra-node cfg#' });
  }),
  // UCX at its debug level, where cards have no NVLink between them that it sees.
  signal('cuda-ipc get zcopy disabled', 'transfer_over_tcp'),
];

/** "Local block size 16 is not divisible by remote block size 32", "local=2, remote=1", "remote=32768, local=16384". */
const LOCAL = /\blocal(?:[ _](?!rank)[a-z]+){0,4}[=: ]{1,3}(\d{1,9})\b/i;
const REMOTE = /\bremote(?:[ _](?!rank)[a-z]+){0,4}[=: ]{1,3}(\d{1,9})\b/i;

/** A field with the numbers of both engines; the one that writes is the one that reads blocks. */
function withNumbers(field: string, text: string): string {
  const local = LOCAL.exec(text)?.[1];
  const remote = REMOTE.exec(text)?.[1];
  return local === undefined || remote === undefined ? field : `${field}: ${local} here, ${remote} there`;
}
