import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';
import { isHarmlessError } from './harmless-errors.js';

/** Lines of engines, routers and runtimes that say that a process does not start or has ended. */
const ENDS = [
  'EngineCore failed to start',
  'EngineCore encountered a fatal error',
  'ngine core initialization failed',
  'Engine process failed to start',
  'Engine process (pid ',
  'is already dead, terminating server',
  'AsyncLLMEngine has failed, terminating server',
  'ot fatal signal from worker process',
  'EngineDeadError',
  // What an engine answers then, as routers repeat it.
  'EngineCore encountered an issue',
  // Dynamo's monitor of vLLM, of TensorRT-LLM: "vLLM AsyncLLM health check failed: EngineCore encountered an issue. …".
  'AsyncLLM health check failed: ',
  'WorkerProc failed to start',
  'WorkerProc initialization failed',
  ' hit an exception',
  'died unexpectedly',
  'ngine core exited unexpectedly',
  'Received sigquit from a child proces',
  'Executor worker returned error',
  'Exception in worker ',
  'Encountered an error in forward',
  'Fatal Python error: ',
  'terminate called after throwing',
  'Segmentation fault',
  'Segfault encountered',
  'terminated unexpectedly with signal',
  // Ascend: "EZ9999: … there is an exception of aivec error, core id is 9, error code = 0".
  'there is an exception of ai',
  'panic: runtime error',
  ' panicked at ',
  'Background loop has errored',
  'Frontend process failed during engine',
  'scheduler died during initialization',
  'scheduler is dead. Please check',
  'Initialization failed. Please see the error',
  'actor died because of an error raised in its',
  'died or was killed while executing',
  'multiprocessing.errors.ChildFailedError',
  'ProcessExitedException: ',
  'MPI_ABORT was invoked on rank',
  'exited with non-zero status, thus causing',
  'Application startup failed. Exiting',
  ', the replica will be stopped',
  'Server process died',
  'Server process terminated unexpectedly',
  'Failed to initialize executor on rank',
  // Kubernetes, of a container that ended again and again.
  'restarting failed container',
  ' CrashLoopBackOff ',
  // Dynamo up to 0.3: the exception follows in its own form, and the prefill worker exits.
  'prefill queue handler failed: ',
] as const;

/** Lines that say by themselves what went wrong, without the name of an exception of Python. */
const ERRORS = [
  'prefill queue handler failed: ',
  'terminate called after throwing',
  'Fatal Python error: ',
  'Segmentation fault',
  'died unexpectedly',
  'ngine core exited unexpectedly',
  'died or was killed while executing',
  'scheduler died during initialization',
  'was sent SIGKILL! Perhaps out of memory',
  'node running low on memory',
  '[TensorRT-LLM][ERROR]',
  'Exception raised from ',
  'cannot find -l',
  'fatal error: ',
  'ptxas fatal ',
  'Failed: Cuda error',
  'Failed: CUDA error',
  'CUDA error: ',
  'Memory access fault by GPU',
  'collective operation timeout',
  // Gloo: "[/pytorch/third_party/gloo/…/unbound_buffer.cc:133] Timed out waiting 1800000ms for send operation to complete".
  'ms for send operation to complete',
  'ms for recv operation to complete',
  'monitoredBarrier',
  'Out of memory: Killed process',
  'Reason: OOMKilled',
  'Reason:       OOMKilled',
  'OOMKilled   ',
  'reason: OOMKilled',
  'Exit code: -9',
  'on signal 9 (Killed)',
  'exited with code -9',
  'exited with code 137',
  'exit code 137',
  'terminated unexpectedly with signal',
  'Watchdog timeout',
  'cannot open shared object file',
] as const;

/** The allocator of the C library where it finds its lists overwritten. */
const HEAP = [
  'double free or corruption',
  'corrupted size vs. prev_size',
  'free(): invalid ',
  'chunk detected',
  'malloc(): corrupted',
  'malloc(): invalid',
] as const;
const HEAP_SENTENCE =
  /(?:double free or corruption|corrupted size vs\. prev_size|free\(\): invalid (?:pointer|size|next size)|(?:malloc|free)\(\): (?:unaligned|double free|corrupted|invalid|memory corruption)[\w ]{0,40})/;

/** Frames of tracebacks at the start of a program that serves: what comes up to them, nobody has caught. */
const ENTRIES = [
  'vllm/entrypoints/cli/serve.py", line ',
  'bin/vllm", line ',
  'openai/api_server.py", line ',
  'vllm/__init__.py", line ',
  'bin/sglang", line ',
  'sglang/launch_server.py", line ',
  'sglang/__init__.py", line ',
  'sglang_router/launch_router.py", line ',
  'bin/trtllm-serve", line ',
  'bin/lmcache',
  'bin/litellm", line ',
  'vllm_router/app.py", line ',
  'mooncake/mooncake_store_service.py", line ',
  '/__main__.py", line ',
  // A process that another one has started.
  'multiprocessing/process.py", line ',
] as const;
/** Of these the first frame alone, which is that of the whole module. */
const MODULE = /", line \d{1,6}, in <module>/;
/** Modules that are started by their folder. */
const STARTED =
  /\/(?:dynamo|vllm|sglang|tensorrt_llm|lmcache|vllm_router|sglang_router)(?:\/\w+){0,4}\/__main__\.py"/;
/** Commands of such a program that only ask one that serves. */
const CLIENTS = ['entrypoints/cli/benchmark', 'vllm/benchmarks/', 'entrypoints/cli/openai.py'] as const;

const SAYS_END: ReadonlySet<string> = new Set(ENDS);

/** Lines of a program that somebody stops. */
const STOPS = [
  'Shutting down',
  'SIGTERM received',
  'eceived SIGTERM',
  'eceived signal 15',
  'eceived SIGINT',
  'eceived shutdown signal',
  'KeyboardInterrupt',
  '[shutdown] API server: shutdown triggered',
] as const;

/** Which lines say that a program ended, and which errors may have done it. */
export const PROGRAM_END_RULES: readonly LogRule[] = [
  ...ENTRIES.map((needle) =>
    rule(needle, (line, found) => {
      if (isEntry(line.text)) found.addEntry(line);
    }),
  ),
  ...CLIENTS.map((needle) => rule(needle, (line, found) => found.addEntry(line, false))),
  ...STOPS.map((needle) => rule(needle, (line, found) => found.addStop(line))),
  rule(' panicked at ', (line, found) => found.addPanic(line)),
  rule('panic: runtime error', (line, found) => found.addPanic(line)),
  ...ERRORS.map((needle) =>
    rule(needle, (line, found) => {
      if (isHarmlessError(line.text)) return;
      const sentence = sentenceAround(line.text, needle);
      found.addError(line, { sentence, about: needle, isEnd: SAYS_END.has(needle) });
    }),
  ),
  ...ENDS.map((needle) =>
    rule(needle, (line, found) => {
      if (!isHarmlessError(line.text)) found.addEnd(line, needle);
    }),
  ),
  rule('there is an exception of ai', (line, found) => {
    const sentence = /there is an exception of ai\w{1,10} error, core id is \d{1,4}/.exec(line.text)?.[0];
    if (sentence !== undefined) found.addError(line, { sentence, about: 'exception of ai' });
  }),
  // The allocator of the C library, which ends the process with it.
  ...HEAP.map((needle) =>
    rule(needle, (line, found) => {
      const sentence = HEAP_SENTENCE.exec(line.text)?.[0];
      if (sentence === undefined) return;
      found.addError(line, { sentence, about: needle });
      found.addEnd(line, needle);
    }),
  ),
  // The executor of TensorRT-LLM: "[TRT-LLM] [E] Error in event loop: History length cannot exceed capacity", then its traceback.
  rule('] Error in event loop: ', (line, found) => {
    const sentence = /\[TRT-LLM\].{0,40}\[E\].{0,40} Error in event loop: (.{3,600})/s.exec(line.text)?.[1];
    if (sentence === undefined) return;
    found.addError(line, { sentence, about: 'Error in event loop', isEnd: true });
    found.addEnd(line, 'Error in event loop');
  }),
  // Python itself: "/opt/dynamo/venv/bin/python3: No module named dynamo.vllm".
  rule(': No module named ', (line, found) => {
    const module = /(?:^|[\s/])python[\d.]{0,6}: No module named ([\w.]{2,120})\s*$/.exec(line.text)?.[1];
    if (module === undefined) return;
    const about = 'No module named';
    found.addError(line, {
      sentence: `ModuleNotFoundError: No module named '${module}'`,
      about,
      isEnd: true,
    });
    found.addEnd(line, about);
  }),
  // Triton: "failed to load 'tensorrt_llm' version 1: Internal: unexpected error when creating modelInstanceState: …".
  rule("failed to load '", (line, found) => {
    const sentence = /failed to load '[\w.-]{1,80}' version \d{1,20}: ([A-Z][\w ]{2,30}: .{5,600})/s.exec(
      line.text,
    )?.[1];
    if (sentence === undefined) return;
    found.addError(line, { sentence, about: "failed to load '", isEnd: true });
    found.addEnd(line, "failed to load '");
  }),
  // `docker compose up`: "vllm-1 exited with code 1".
  rule(' exited with code ', (line, found) => {
    if (/^[\w.-]{1,120} exited with code (?!0\b|143\b)\d/.test(line.text))
      found.addEnd(line, 'exited with code');
  }),
];

/** Whether a frame is at the start of a program that serves. */
function isEntry(text: string): boolean {
  if (text.includes('cli/serve.py"')) return text.includes(', in cmd');
  if (text.includes('multiprocessing/process.py"')) return text.includes(', in _bootstrap');
  return MODULE.test(text) && (!text.includes('__main__.py') || STARTED.test(text));
}

/** With the words before it, up to a bracket or a colon: "Worker proc VllmWorker-3 died unexpectedly, …". */
function sentenceAround(text: string, needle: string): string {
  const at = text.indexOf(needle);
  const before = /[^\]:>|]*$/.exec(text.slice(Math.max(0, at - 60), at))?.[0] ?? '';
  return text.slice(at - before.length).trimStart();
}
