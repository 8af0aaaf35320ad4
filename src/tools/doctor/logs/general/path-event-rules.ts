import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';

/**
 * Events of the ports of network cards, in the words of libibverbs. NCCL: "NET/IB : mlx5_32:1 Got async error event: port
 * error", later "Got non-fatal async event: port error(10)"; UCX: "IB Async event on mlx5_0: port error on port 1";
 * Mooncake: "Worker: Received context async event port error for context mlx5_10". A port that is up again is active, or
 * its clients register again. Changes of LIDs and GIDs and flushed queue pairs have the same form, and harm nothing.
 */
const EVENT =
  /(?:NET\/IB : ([\w.-]{1,40}:\d{1,2}) .{0,40}event: |IB Async event on ([\w.-]{1,40}): |context async event )(?:(port error|local catastrophic error)|port active|client reregistration)\b(?:.{0,12} on port (\d{1,2})| for context ([\w.-]{1,40}))?/;
const EVENTS = [
  ' async event: ',
  'async error event: ',
  'async fatal event: ',
  'IB Async event on ',
] as const;

/** Events and sentences that mean something only together with others. */
export const PATH_EVENT_RULES: readonly LogRule[] = [
  ...[...EVENTS, 'context async event '].map((needle) =>
    rule(needle, (line, found) => {
      const event = EVENT.exec(line.text);
      if (event === null) return;
      const [, ofNccl, ofUcx, down, port, ofMooncake] = event;
      const card = ofNccl ?? (port === undefined ? ofUcx : `${ofUcx}:${port}`) ?? ofMooncake;
      found.addSignal(down === undefined ? 'port_up' : 'port_down', line, {
        value: card,
        about: needle.trim(),
      });
    }),
  ),
  // Frames of a traceback, of Dynamo's first vLLM and of NIXL's own interface: "self.engine.add_remote_nixl_metadata(nixl_metadata)", "line 881, in add_remote_agent".
  ...['.add_remote_nixl_metadata(', '.add_remote_agent(', ', in add_remote_agent', '.loadRemoteMD('].map(
    (needle) => rule(needle, (line, found) => found.addSignal('peer_agent_added', line, { about: needle })),
  ),
  // In C++ "Timed out waiting for context KV cache transfer after 1000 milliseconds.", in Python "Request 7 timed out waiting for context KV cache transfer after …".
  rule('waiting for context KV cache transfer', (line, found) => {
    if (/imed out waiting/.test(line.text))
      found.addSignal('context_transfer_waits', line, { about: 'waiting for context KV cache transfer' });
  }),
  // "has 2048 active_requests, scheduled 0 context requests and 0 generation requests".
  rule('scheduled 0 context requests', (line, found) => {
    if (/\bhas [1-9]\d* active_requests?, scheduled 0 context requests(?! and [1-9])/.test(line.text))
      found.addSignal('nothing_scheduled', line, { about: 'scheduled 0 context requests' });
  }),
  rule('@head_or_tp_rank', (line, found) => {
    found.addSignal('ascend_store_keys', line, { about: '@head_or_tp_rank' });
  }),
];
