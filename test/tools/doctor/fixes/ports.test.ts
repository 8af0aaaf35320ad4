import { describe, expect, it } from 'vitest';
import { portRepair } from '../../../../src/tools/doctor/fixes/ports.js';

describe('a port that another process has', () => {
  it.each([
    [
      "zmq.error.ZMQError: Address already in use (addr='tcp://localhost:5557')",
      'VLLM_NIXL_SIDE_CHANNEL_PORT',
    ],
    ['bind port 50051 failed: Address already in use', 'mooncake_master (--rpc_port)'],
    [
      "OSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', 8998): address already in use",
      '--disaggregation-bootstrap-port',
    ],
    [
      "zmq.error.ZMQError: Address already in use (addr='tcp://10.0.75.118:40009')",
      'another port than 40009',
    ],
  ])('%s: %s', (sentence, says) => {
    expect(portRepair(sentence)?.says).toContain(says);
  });

  it('says nothing without a number', () => {
    expect(portRepair('OSError: [Errno 98] Address already in use')).toBeUndefined();
  });
});
