import { describe, expect, it } from 'vitest';
import { ownWords, withOwnChecks } from '../../../../src/tools/doctor/fixes/own-checks.js';
import { logOf, tallyOf } from '../support/evidence.js';

const LINE = 'E0606 09:39:00.285537   382 client.cpp:323] Failed to start put operation: RPC_FAIL';

function checksOf(check: string, text = LINE): readonly string[] {
  const first = { place: 'engine.log:7', text };
  const logs = [logOf([tallyOf('offload_failed', 2, { first })])];
  const fix = { says: '', why: '', disturbs: 'nothing', files: [], commands: [], verify: [check] } as const;
  return withOwnChecks([fix], [first], logs).flatMap(({ verify }) => verify);
}

describe('checks that count lines of a log', () => {
  it('stay as they are where they match a line of the finding', () => {
    const check = 'kubectl logs WORKER --since=10m | grep -ciE "rpc_fail|refused"    # should be 0';
    expect(checksOf(check)).toEqual([check]);
  });

  it('get the words of the line where they match none', () => {
    expect(checksOf('kubectl logs WORKER --since=10m | grep -ciE "rpc error"    # should be 0')).toEqual([
      'kubectl logs WORKER --since=10m | grep -cE "Failed to start put operation: RPC_FAIL"    # should be 0',
    ]);
  });

  it('look in the pod of the line where the frontend would not have it', () => {
    expect(checksOf('kubectl logs FRONTEND --since=1m | grep -c "parent"    # should be 0')).toEqual([
      'kubectl logs POD --since=1m | grep -cE "Failed to start put operation: RPC_FAIL"    # should be 0',
    ]);
  });

  it('stay as they are where they are of another kind', () => {
    const check = 'kubectl logs WORKER | grep -c "initialized successfully"    # 1 for each process';
    expect(checksOf(check)).toEqual([check]);
  });

  it.each([
    [LINE, 'Failed to start put operation: RPC_FAIL'],
    [
      '(Worker pid=12) ERROR 10-07 17:11:06 [v1/nixl_connector.py:820] zmq.error.Again: Resource temporarily unavailable',
      'Resource temporarily unavailable',
    ],
    [
      'LMCache WARNING: Remote connection failed in contains: Error 111 connecting to redis:6379.',
      'Remote connection failed in contains: Error',
    ],
    ['  File "/opt/sglang/srt/mem_cache/swa.py", line 448, in load_back', 'swa.py.*in load_back'],
    ['0x7f (ucs_handle_error+0x2e4) [0x7f]', 'ucs_handle_error'],
    ['12 34', undefined],
  ])('take of %j the words %j', (line, words) => {
    expect(ownWords(line)).toBe(words);
  });
});
