import { describe, expect, it } from 'vitest';
import { remoteStoreFaultOf } from '../../../../../src/tools/doctor/logs/general/remote-store.js';

const IN = 'LMCache WARNING: Remote connection failed in contains: ';

describe("a line about LMCache's remote store", () => {
  it.each([
    [
      "Error while reading from kv.example.com:6379 : (104, 'Connection reset by peer')",
      "LMCache's remote store kv.example.com:6379 ends each connection (TLS on one side alone, as a rule)",
    ],
    [
      '[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)',
      "LMCache's remote store ends each connection (TLS on one side alone, as a rule)",
    ],
    [
      'Error 111 connecting to redis-master:6379. Connection refused.',
      "LMCache's remote store redis-master:6379 is not reached",
    ],
    [
      'Timeout connecting to redis://user:secret@10.0.0.7:6380',
      "LMCache's remote store 10.0.0.7:6380 is not reached",
    ],
    ['invalid username-password pair or user is disabled.', "LMCache's remote store refuses the password"],
    [
      'No adapter found for URL: redsi://10.0.0.7:6379',
      'LMCache has no adapter for the URL of its remote store',
    ],
    ['[Errno 32] Broken pipe', "LMCache's remote store went away while LMCache used it"],
    [
      'No adapter found for URL: lm://10.0.0.7:65432',
      'LMCache could not load its adapter of the remote store',
    ],
    [
      'unsupported format string passed to bytes.__format__',
      'LMCache does not take what its store gives or is given',
    ],
  ])('of %j says: %s', (reason, fault) => {
    expect(remoteStoreFaultOf(`${IN}${reason}`)).toBe(fault);
  });

  it('is of the pool of Ascend where its own file says so', () => {
    const line = 'ERROR 07-08 11:49:03 [pool_worker.py:458] Remote connection failed in contains: closed';
    expect(remoteStoreFaultOf(line)).toBe("Ascend's KV pool is not reached");
    expect(remoteStoreFaultOf(line.replace('pool_worker', 'kv_transfer'))).toBe(
      "Ascend's KV pool is not reached",
    );
  });

  it("knows vLLM's own connector of Mooncake's store by its file", () => {
    const line = 'ERROR 11-20 09:12:42 [worker.py:2170] Remote connection failed in lookup: closed';
    expect(remoteStoreFaultOf(line)).toBe('Mooncake is not reached');
  });
});
