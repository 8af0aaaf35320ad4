import { describe, expect, it } from 'vitest';
import { cleanLine } from '../../../../src/tools/doctor/logs/clean-line.js';
import { ErrorMarks, isError } from '../../../../src/tools/doctor/logs/error-level.js';

function isFoundIn(line: string): boolean {
  const bytes = Buffer.from(line);
  const context = { nowMs: 0, gaps: { hasNoZone: false, hasNoYear: false } };
  return new ErrorMarks(bytes).isIn(0, bytes.length) && isError(cleanLine(line, context));
}

describe('a line at error level', () => {
  it.each([
    'ERROR 07-08 11:49:03 [engine.py:458] something odd',
    '(EngineCore_DP0 pid=12) ERROR 07-08 11:49:03 [core.py:1] something odd',
    '2025-11-08 10:07:09 ERROR sglang_router_rs::response: src/middleware.rs:256: request failed',
    '[05/26/2025-13:21:17] [TRT-LLM] [E] Error in thread: odd',
    '[TensorRT-LLM][ERROR] something odd',
    'E0613 08:28:11.555796 7053 ucx_utils.cpp:512] something odd',
    'E0506 master_service.cpp:512] something odd',
    'E20251222 16:16:55.948599 28147 master.cpp:373] something odd',
    '[2025-05-15 15:48:41.233] [infini] [error] [libinfinistore.cpp:910] something odd',
    'time="2025-01-01T00:00:00Z" level=error msg="something odd"',
    '{"level":"error","ts":1780952593.08,"caller":"a/b.go:1","msg":"something odd"}',
    '{"level":"fatal","ts":1780952593.08,"caller":"a/b.go:1","msg":"something odd"}',
    '[2025-05-15 15:48:41.233] [infini] [critical] [libinfinistore.cpp:910] something odd',
    '{"timestamp":"2025-01-01T00:00:00Z","level":"ERROR","fields":{"message":"something odd"},"target":"a"}',
    'RuntimeError: something odd',
    'torch.cuda.OddError: something odd',
    'Error starting router: something odd',
    '2025-09-29T03:03:50Z    ERROR    setup       something odd',
    '[pod/decode-0/main] ERROR 07-08 11:49:03 [engine.py:458] something odd',
    '{"log":"ERROR 07-08 11:49:03 [engine.py:458] something odd\\n","stream":"stderr","time":"2026-03-03T10:00:00Z"}',
    'CRITICAL 07-08 11:49:03 [engine.py:458] something odd',
  ])('is found: %s', (line) => {
    expect(isFoundIn(line)).toBe(true);
  });

  it.each([
    'INFO 07-08 11:49:03 [engine.py:458] error rate 0, ERROR budget full',
    'INFO:     10.0.0.1:5 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error',
    'WARNING 07-08 11:49:03 [engine.py:458] RuntimeError: passed over',
    'W0613 08:28:11.555796 7053 ucx_utils.cpp:512] error: passed over',
    '{"level":"info","ts":1,"msg":"no error: error=nil"}',
    'Setting the log level to ERROR now',
    'raise ValueError("odd")',
    'errors: 0',
    '127.0.0.1 - - "GET /metrics HTTP/1.1" 200 error-page',
    'ERROR 07-08 11:49:03 [engine.py:458]   File "/a/b.py", line 5, in run',
    'ERROR 07-08 11:49:03 [engine.py:458] Traceback (most recent call last):',
  ])('is not one: %s', (line) => {
    expect(isFoundIn(line)).toBe(false);
  });
});
