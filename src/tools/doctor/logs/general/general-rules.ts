import type { LogFindings } from '../../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';
import { crashText } from '../crash-text.js';
import { hasErrorWord, isWarning } from '../error-level.js';
import { connectionFaultOf } from './connection-faults.js';
import { type Fault, faultOf, plain } from './fault-classes.js';
import { isErrorOfGlog } from './glog.js';
import { shortMemory } from './gpu-memory.js';
import { pairFaultOf } from './pair-differences.js';
import { refusedClass } from './parser-errors.js';
import { REFUSED_SETTING_RULES } from './refused-setting-rules.js';
import { refusalOf } from './refused-settings.js';
import { roomTakenIn } from './room-rules.js';
import { pathFaultValue, readPathFault } from './seen-path-faults.js';
import { demandIn } from './setting-demands.js';
import { CHECK_FILES, lastLineOfCheck } from './sglang-checks.js';
import { CONNECTOR_CALLS, CONNECTOR_FILES } from './source-files.js';
import { assertedSetting } from './tensorrt-assertions.js';
import { UCX_RULES } from './ucx-rules.js';

/** Exceptions of Python, by their names as the last line of a traceback has them. */
const EXCEPTIONS = [
  'ValueError: ',
  'RuntimeError: ',
  'AssertionError: ',
  'NotImplementedError: ',
  'ImportError: ',
  'ModuleNotFoundError: ',
  'AttributeError: ',
  '() got an unexpected keyword',
  'TimeoutError: ',
  'Value error, ',
  'Assertion failed, ',
] as const;

const PORT_IN_USE = 'ddress already in use';

/** Those that name no fault of a connection between engines, but may end one. */
const OTHER_EXCEPTIONS = [
  'OutOfMemoryError: ',
  'AcceleratorError: ',
  'DistBackendError: ',
  'DistNetworkError: ',
  'DistStoreError: ',
  'CalledProcessError: ',
  'FileNotFoundError: ',
  'PermissionError: ',
  'ConnectionError: ',
  'UnboundLocalError: ',
  'IndexError: ',
  '] KeyError: ',
  '] TypeError: ',
  'OSError: [Errno ',
  'error.ZMQError: ',
  'InductorError: ',
  'BackendCompilerFailed: ',
  'ValidationError: ',
  'RepositoryNotFoundError',
  'GatedRepoError: ',
  'HFValidationError: ',
  'LocalEntryNotFoundError',
  'SafetensorError: ',
  'BrokenProcessPool',
  'ActorDiedError',
  'AssertionError',
  'is not a local folder and is not a valid',
  'does not appear to have a file named',
  PORT_IN_USE,
  '() missing 1 required',
  "'NoneType' object is not",
] as const;

/** A method of a connector that is called with other arguments than it has: "NixlConnector.__init__() missing 1 required positional argument". */
const CALLED = /TypeError: \w{1,80}\.\w{1,80}\(\) (?:missing \d|takes )/;

const NO_GPU_MEMORY = ' out of memory. Tried to allocate ';

/** Sentences of a lack of room, which programs also write without the name of an exception. */
const MEMORY_SENTENCES = [
  'No available memory for the cache blocks',
  'can be stored in KV cache',
  'To serve at least one request with the model',
  'Not enough memory. Please try',
  'Not enough host memory',
  'ut of memory. Try to lower',
  'Executor creation failed',
  'CUDA runtime error in ::cudaMalloc',
  'at least 1 sequence to completion',
  'memory occurred when warming up',
  'Capture cuda graph failed',
  'less than desired GPU memory utilization',
  'KV cache pool leak detected',
  ' memory leak detected',
] as const;

/** Programs that keep who is where, or who has what, and cannot be reached. */
const CONTROL_PLANE = [
  ['Check etcd server status', 'etcd'],
  ['Unable to connect to etcd server', 'etcd'],
  ['Unable to reconnect to ETCD cluster', 'etcd'],
  ['Failed to reconnect to ETCD within', 'etcd'],
  ['etcd startup connection timeout', 'etcd'],
  ['Failed to connect to etcd', 'etcd'],
  ['NATS Connect Error', 'NATS'],
  ['nats.js.errors.', 'NATS'],
  ['nats.errors.', 'NATS'],
  ['Failed to connect to NATS', 'NATS'],
  ['JetStream unavailable', 'NATS'],
  ['jetstream not enabled', 'NATS'],
  ['NoServersError', 'NATS'],
] as const;

/** What an exception of C++ says, without its name. */
const WHAT = '  what():  ';

/** Lines that name a class of fault in whatever words: exceptions, errors of transfer libraries, connections that are refused. */
export const GENERAL_RULES: readonly LogRule[] = [
  ...EXCEPTIONS.map((needle) => rule(needle, (line, found) => readException(line, found, needle))),
  ...OTHER_EXCEPTIONS.map((needle) =>
    rule(needle, (line, found) => {
      if (isPassedOver(line.text)) return;
      const sentence = needle === PORT_IN_USE ? boundAddress(line.text) : sentenceFrom(line.text, needle);
      const fault =
        needle === 'OutOfMemoryError: '
          ? roomTakenIn(sentence, found.takenFor(line))
          : CALLED.test(line.text)
            ? faultOf(line.text.slice(line.text.search(CALLED)))
            : undefined;
      add(line, found, fault, needle);
      found.addError(line, { sentence: shortMemory(sentence), about: needle, isNamed: fault !== undefined });
    }),
  ),
  // Without the name of the exception, at error level: "[TRT-LLM] [E] Error in event loop: CUDA out of memory. Tried …", and C++ of PyTorch: "[rank3]:[E716 19:47:26.3 shim_common.cpp:523] Exception in aoti_torch: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has …".
  rule(NO_GPU_MEMORY, (line, found) => {
    const { text } = line;
    if (hasException(text) || text.includes('OutOfMemoryError')) return;
    if (!isErrorOfGlog(text) && !hasErrorWord(text)) return;
    const sentence = /\b[A-Z]{2,4} out of memory\..*/s.exec(text)?.[0] ?? text;
    const room = roomTakenIn(sentence, found.takenFor(line));
    add(line, found, room, NO_GPU_MEMORY);
    found.addError(line, {
      sentence: shortMemory(sentence),
      about: NO_GPU_MEMORY,
      isNamed: room !== undefined,
    });
  }),
  // A wrapper that passes an exception on without its name: "batch_get_buffer failed: 'mooncake.store.…' object has no attribute …".
  rule("' object has no attribute '", (line, found) => {
    if (hasException(line.text)) return;
    const from = line.text.search(/'[\w.]{1,120}' object has no attribute/);
    // In its own form the exception ends with a quote: `AttributeError("'A' object has no attribute 'b'")`.
    const sentence = line.text.slice(from).replace(/["')\]}]{2,}$/, "'");
    if (from !== -1) add(line, found, faultOf(sentence), 'object has no attribute');
  }),
  // A socket of ZMQ below a folder with a long name: "ipc path "/tmp/…" is longer than 107 characters".
  rule('is longer than 107 characters', (line, found) => {
    const path = /ipc path "?(\S{1,200}?)"? is longer/.exec(line.text)?.[1] ?? '';
    const value = `the path of a socket is longer than 107 characters: ${path}`.slice(0, 180);
    found.addSignal('settings_refused', line, { value, about: 'is longer than 107 characters' });
  }),
  // The C++ of TensorRT-LLM: "Assertion failed: Couldn't find the requested block in the reuse tree (/src/…/kvCacheUtils.h:84)".
  rule('Assertion failed: ', (line, found) => {
    const asserted = assertedSetting(line.text);
    if (asserted !== undefined) {
      add(line, found, asserted, 'Assertion failed');
      return;
    }
    const [, sentence = '', file] =
      /(Assertion failed: .{0,400}?) \(\S{0,300}?batch_manager\/((?:kvCache|cacheTrans|cacheFormatter|dataTransceiver|mlaCache|evictionPolicy|blockManager)\w*\.(?:cpp|h)):\d/.exec(
        line.text,
      ) ?? [];
    if (file === undefined) return;
    const path = `tensorrt_llm/batch_manager/${file}`;
    const value = crashText({ path, place: '', sentence });
    found.addSignal('connector_crashed', line, { value, about: 'Assertion failed' });
  }),
  ...UCX_RULES,
  // A traceback through the client of Redis.
  rule('/redis/connection.py"', (line, found) =>
    found.addSignal('offload_failed', line, { value: 'Redis is not reached', about: 'redis/connection.py' }),
  ),
  // The plain exception into which Dynamo's Rust puts its errors for Python: "Exception: --replica-sync-peers requires --replica-sync-port".
  rule('Exception: ', (line, found) => {
    const sentence = /(?:^|[\s\])])Exception: (.{5,600})$/s.exec(line.text)?.[1];
    if (sentence === undefined || isPassedOver(line.text) || hasException(line.text)) return;
    // What is only warned of is tried in another way.
    if (isWarning(line.text)) return;
    const [fault, about] = [refusalOf(sentence), sentence.slice(0, 60).trim()];
    add(line, found, fault, about);
    found.addError(line, {
      sentence: sentenceFrom(line.text, 'Exception: ').replace(/ Stack trace:.*/s, ''),
      about,
      isNamed: fault !== undefined,
    });
  }),
  // C++, in the line below "terminate called after throwing an instance of 'std::runtime_error'".
  rule(WHAT, (line, found) => readException(line, found, WHAT)),
  rule('Traceback (most recent call last)', (_line, found) => found.addTraceback()),
  ...CONNECTOR_FILES.map((needle) =>
    rule(needle, (line, found) => {
      // Without a comma it is where one of many threads stood as another one ended the process.
      if (/\.py", line \d{1,7}, in \w/.test(line.text)) found.addFrame(line);
    }),
  ),
  // Dynamo's workers, which call the engine beside them, and the checks of SGLang's arguments.
  ...['/dynamo/vllm/', '/dynamo/sglang/', '/dynamo/trtllm/', ...CHECK_FILES].map((needle) =>
    rule(needle, (line, found) => {
      if (/\.py", line \d{1,7}, in \w/.test(line.text)) found.addFrame(line, false);
    }),
  ),
  // vLLM's scheduler as a connector reports a transfer as finished: `KeyError: 'cmpl-1'`, later `assert req_id in self.requests`.
  rule(', in _update_from_kv_xfer_finish', (line, found) => {
    if (line.text.includes('.py", line ')) found.addFrame(line);
  }),
  // What vLLM calls of a connector, which may be of somebody else, in a file of any name.
  ...CONNECTOR_CALLS.map((name) =>
    rule(`, in ${name}`, (line, found) => {
      if (line.text.includes('.py", line ')) found.addFrame(line);
    }),
  ),
  // SGLang's scheduler as it plans where states of Mamba layers are kept in the radix tree.
  rule(', in _mamba_radix_cache_v2', (line, found) => {
    if (line.text.includes('.py", line ')) found.addFrame(line);
  }),
  // vLLM Ascend: "Failed to transfer KV cache for request cmpl-1: operands could not be broadcast together with shape(32,) (0,)", and its traceback.
  rule('Failed to transfer KV cache for request ', (line, found) => {
    const sentence = /for request \S{1,200}: (.{1,240})/.exec(line.text)?.[1];
    found.addSignal('transfer_failed', line, { value: sentence, about: 'Failed to transfer KV cache' });
    if (sentence !== undefined) found.addReason(line, sentence);
  }),
  // What the loader of libraries says: "…/libplugin_UCX_MO.so: undefined symbol: _ZN12nixl…".
  rule(': undefined symbol: ', (line, found) => {
    if (!hasException(line.text)) add(line, found, faultOf(line.text), 'undefined symbol');
  }),
  // The text of an exception alone, as a whole message: "ERROR 07-08 11:49:03 [engine.py:458] No module named 'lmcache.experimental'".
  rule("] No module named '", (line, found) => {
    if (!/\b(?:ERROR|CRITICAL|FATAL)\b.{0,120}\] No module named '[\w.]{1,120}'\s*$/.test(line.text)) return;
    const sentence = line.text.slice(line.text.lastIndexOf("No module named '"));
    const fault = faultOf(sentence);
    add(line, found, fault, 'No module named');
    found.addError(line, { sentence, about: 'No module named', isNamed: fault !== undefined });
  }),
  // A factory of connectors that passes the exception on: "Failed to create connector MooncakeTransferEngineConnector: Mooncake not available".
  rule('Failed to create connector ', (line, found) => {
    const sentence = /Failed to create connector [\w.'"]{1,120}: (.{1,400})/.exec(line.text)?.[1];
    if (sentence === undefined || hasException(line.text)) return;
    const fault = faultOf(sentence) ?? refusalOf(sentence);
    add(line, found, fault, 'Failed to create connector');
    found.addError(line, { sentence, about: 'Failed to create connector', isNamed: fault !== undefined });
  }),
  ...MEMORY_SENTENCES.map((needle) =>
    rule(needle, (line, found) => {
      if (hasException(line.text)) return;
      add(line, found, faultOf(line.text), needle);
    }),
  ),
  ...['onnection refused', 'Connect call failed', 'onnection timed out'].map((needle) =>
    rule(needle, (line, found) => add(line, found, connectionFaultOf(line.text), needle)),
  ),
  ...CONTROL_PLANE.map(([needle, value]) =>
    rule(needle, (line, found) =>
      found.addSignal('control_plane_unreachable', line, { value, about: needle }),
    ),
  ),
  ...REFUSED_SETTING_RULES,
];

function readException(line: LogLine, found: LogFindings, needle: string): void {
  const { text } = line;
  if (isPassedOver(text)) return;
  // What an argument is unknown to stands before it.
  const from = needle.startsWith('()') ? 0 : text.lastIndexOf(needle) + needle.length;
  const sentence = withoutInput(text.slice(from));
  const about = sentence.slice(0, 60).trim() || needle;
  const fault =
    faultOf(sentence) ??
    memoryTaken(sentence, line, found) ??
    pairFaultOf(sentence) ??
    // An assertion of TensorRT-LLM has a rule of its own.
    (sentence.includes('Assertion failed: ')
      ? undefined
      : (refusalOf(sentence) ?? lastLineOfCheck(sentence))) ??
    refusalOfClass(text) ??
    demandOf(text, sentence);
  add(line, found, fault, about);
  found.addError(line, {
    sentence: shortMemory(sentenceFrom(text, needle)),
    about,
    isNamed: fault !== undefined,
  });
}

/** What an exception demands of settings that it names. What is only warned of is tried in another way. */
function demandOf(text: string, sentence: string): Fault | undefined {
  const value = isWarning(text) ? undefined : demandIn(sentence);
  return value === undefined ? undefined : { signal: 'settings_refused', value };
}

/** What a check of a whole class of settings says. */
function refusalOfClass(text: string): Fault | undefined {
  const sentence = refusedClass(text);
  return sentence === undefined ? undefined : { signal: 'settings_refused', value: plain(sentence) };
}

/** "NPU out of memory. Tried to allocate 1.95 GiB (NPU 2; 60.96 GiB total capacity; …", which is no exception of its own there. */
function memoryTaken(sentence: string, line: LogLine, found: LogFindings): Fault | undefined {
  return /^[A-Z]{2,4} out of memory\. Tried to allocate/.test(sentence)
    ? roomTakenIn(sentence, found.takenFor(line))
    : undefined;
}

/** Optional parts that are not installed: "Ignore import error when loading …", and NCCL's port for questions, which one process of a host has. */
function isPassedOver(text: string): boolean {
  return /\b(?:Ignor\w+|optional|falling back|fallback|Skipping|ras\/client_support)\b/i.test(text);
}

/** With what was to be bound, which stands before it: "Socket Bind failed while setting up listener for MD: Address already in use [98]". */
function boundAddress(text: string): string {
  return /(?:[^\]]{0,120})ddress already in use.{0,200}/.exec(text)?.[0].trim() ?? text;
}

/** From the name of the exception on: "torch.OutOfMemoryError: CUDA out of memory. …". */
function sentenceFrom(text: string, needle: string): string {
  const at = text.lastIndexOf(needle);
  // The bracket in front of it closes the place of the line.
  if (needle.startsWith('] ')) return text.slice(at + 2);
  if (needle === WHAT) return text.slice(at + needle.length);
  const name = /[\w.]*$/.exec(text.slice(Math.max(0, at - 60), at))?.[0] ?? '';
  return withoutInput(text.slice(at - name.length));
}

/** Pydantic writes what it was given behind the sentence: " [type=value_error, input_value=ArgsKwargs((), {'model_co..."; it has words of its own. */
function withoutInput(sentence: string): string {
  return sentence.replace(/ \[type=\w{1,40}, input_value=.*/s, '');
}

function hasException(text: string): boolean {
  return EXCEPTIONS.some((name) => text.includes(name));
}

function add(line: LogLine, found: LogFindings, fault: Fault | undefined, about: string): void {
  if (fault === undefined) return;
  const isOfPath = fault.signal === 'transfer_path_broken';
  const value = isOfPath ? pathFaultValue(readPathFault(fault.value).id, line.text) : fault.value;
  found.addSignal(fault.signal, line, { value, about });
}
