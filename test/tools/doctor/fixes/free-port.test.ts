import { describe, expect, it } from 'vitest';
import { freePort } from '../../../../src/tools/doctor/fixes/free-port.js';

describe('a port that another process has', () => {
  it.each([
    [
      "zmq.error.ZMQError: Address already in use (addr='tcp://localhost:5557')",
      'VLLM_NIXL_SIDE_CHANNEL_PORT',
    ],
    ['bind port 50051 failed: Address already in use', '--rpc_port of mooncake_master'],
    [
      "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8998): address already in use",
      '--disaggregation-bootstrap-port',
    ],
    ["zmq.error.ZMQError: Address already in use (addr='tcp://10.0.75.118:40009')", 'has this number'],
  ])('%s: %s', (sentence, says) => {
    expect(freePort(sentence)?.says).toContain(says);
  });
});
