import { DISK_FULL } from './disk-full.js';
import { ENVIRONMENT_KINDS, type EnvironmentKind } from './environment-kinds.js';

/** What ends a program, by the sentence of its first error. */
export type ErrorKind =
  | 'gpu_memory'
  | 'host_memory'
  | 'shared_memory'
  | 'disk_full'
  | 'gpu_fault'
  | 'gpu_driver'
  | 'kernel_build'
  | 'other_rank'
  | 'collective'
  | 'port_in_use'
  | 'model_files'
  | 'model_unsupported'
  | 'parallel_sizes'
  | 'old_python'
  | 'versions'
  | 'stalled'
  | 'worker_lost'
  | 'internal'
  | EnvironmentKind;

/** The first that fits counts: causes before what follows of them. */
const KINDS: readonly (readonly [ErrorKind, RegExp])[] = [
  [
    'gpu_memory',
    /(?:CUDA|HIP|NPU|XPU|GPU|cuda runtime error).{0,40}out of memory|(?<!ray\.exceptions\.)OutOfMemoryError|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED|cuMem(?:Create|Alloc)\w*.{0,60}(?:fail|out of memory)|out of (?:device|GPU) memory/i,
  ],
  [
    'host_memory',
    /OOMKilled|node running low on memory|Out of memory: Killed process|\bMemoryError\b|DefaultCPUAllocator: (?:can'?t|not enough)|exit(?:ed)?[ _]?(?:with )?code:? (?:-9|137)\b|on signal 9\b|signal: 9\b|signal 9 \(|SIGKILL|(?:\[Errno 12\]|std::bad_alloc|Cannot allocate memory)/i,
  ],
  [
    'shared_memory',
    /\/dev\/shm|shared memory object|insufficient shared memory|Bus error|shm_open|shm(?:_broadcast)?.{0,40}No space left/i,
  ],
  ['disk_full', DISK_FULL],
  [
    'gpu_driver',
    /no kernel image is available|driver version is insufficient|forward compatibility was attempted|No CUDA GPUs are available|Found no NVIDIA driver|Failed to infer device type|Device string must not be empty|NVIDIA driver on your system is too old|CUDA_ERROR_NO_DEVICE|cudaErrorNoDevice|no CUDA-capable device|cudaErrorInsufficientDriver|libcuda\.so[.\d]*: cannot open|NVML.{0,30}(?:not found|mismatch)|driver\/library version mismatch|Torch not compiled with CUDA/i,
  ],
  [
    'gpu_fault',
    /illegal memory access|illegal instruction was encountered|device-side assert|unspecified launch failure|misaligned address|cudaError(?:IllegalAddress|LaunchFailure|Assert)|uncorrectable (?:ECC|NVLink)|CUDA_ERROR_ILLEGAL|Memory access fault by GPU|hipErrorIllegal|an invalid device ordinal|aclnn\w* failed|exception of ai\w{1,10} error|(?:vector|ai) core exception|aicore exception|MPU address access is invalid|\bXid\b|CUDA error: (?!out of memory)|CUBLAS_STATUS_\w+|CUDNN_STATUS_\w+|Triton Error \[CUDA\]|cutlass_gemm_caller\b/i,
  ],
  [
    'kernel_build',
    /CalledProcessError: Command '\[?'?\S{0,80}\b(?:ninja|nvcc|gcc|g\+\+|cc|cmake)\b|cannot find -l\w+|collect2: error|ld returned 1|\bninja\b.{0,120}(?:fail|error|non-zero|not found|required)|Ninja (?:build failed|is required)|Could not find nvcc|\bnvcc\b.{0,60}(?:not found|fail|No such)|Failed to find C compiler|(?:gcc|g\+\+|cc1plus?|clang)\S*'?.{0,120}(?:non-zero|not found|No such file)|fatal error: \S+\.(?:h|hpp|cuh): No such|InductorError|BackendCompilerFailed|CppCompileError|CUDA_HOME (?:environment variable )?is not set|Error (?:building|compiling) (?:extension|objects)|ptxas (?:fatal|error)|PTX .{0,60}unsupported toolchain/i,
  ],
  [
    'other_rank',
    /other ranks that didn'?t finish|check rank \d+ logs? for faulty rank|remote rank .{0,40}(?:exited|died)|peer .{0,30}(?:process )?(?:exited|died)|A remote process exited|mpirun noticed that process|Primary job\s+terminated/i,
  ],
  [
    'port_in_use',
    /(?:Errno 98\].{0,80}|\w+Error: |bind.{0,80})address already in use|server socket has failed to (?:listen|bind).{0,160}(?:EADDRINUSE|code: -98)|address already in use \((?:addr=|os error)|EADDRINUSE|Port \d{2,5} is (?:already )?(?:in use|occupied)/i,
  ],
  [
    'collective',
    /\bnccl\w*(?: WARN)?\b.{0,60}(?:error|fail|timed? ?out|abort)|NCCL error|\brccl\b|HCCL.{0,40}(?:error|fail|timeout)|Dist(?:Backend|Network|Store)Error|connectFullMesh|monitoredBarrier|ProcessGroup(?:NCCL|Gloo)|collective operation timeout|TCPStore|client socket has timed out|Timed out waiting \d+ms for (?:send|recv) operation|Gloo .{0,60}(?:fail|error)|(?<!attribute ')init_process_group|makeDeviceForHostname|Connection closed by peer/i,
  ],
  [
    'model_files',
    /does not appear to have a file named|is not a local folder and is not a valid model|Repo(?:sitory)?NotFoundError|Repository Not Found|GatedRepo|access to it is restricted|gated repo|401 Client Error|403 Client Error|LocalEntryNotFound|HFValidationError|Repo id must|Can'?t load (?:the configuration|tokenizer)|SafetensorError|safetensors.{0,60}(?:corrupt|incomplete|invalid|Error)|Cannot find any model weights|No (?:\.safetensors|model weights|safetensors) .{0,30}found|We couldn'?t connect to '?https:\/\/huggingface|Couldn'?t instantiate the backend tokenizer|Invalid repository ID|No such file or directory: '[^']*(?:config\.json|tokenizer|\.safetensors|\.gguf|models?\/)/i,
  ],
  [
    'model_unsupported',
    /Model architectures? .{0,120}(?:not supported|failed to be inspected)|does not recognize this architecture|are not supported for now|(?:quantization|quant)\b.{0,80}(?:not (?:currently )?supported|unsupported|unknown|does not match)|(?:Unsupported|Unknown|Unrecognized) (?:quantization|model|architecture|configuration class)|fp8e\w+ (?:data ?type )?(?:is )?not supported|not supported (?:on|by) (?:this |your |the current )?(?:GPU|device|platform|compute)|Bfloat16 is only supported on GPUs|compute capability.{0,60}(?:required|not|at least|minimum)|no module or parameter named|size mismatch for |KeyError: '(?:model|layers|language_model|lm_head|visual)\.|Following weights were not initialized|sm_?\d+\w? is not (?:supported|compatible)|Failed to find a kernel that can implement|GEMM\d? config is not set|FMHA can(?:not| only) be enabled|Failed to (?:initialize|run) cutlass|pre[- ]SM ?\d+ GPUs do not support|(?:un|not )supported (?:on |for )?SM ?\d{2,3}\b/i,
  ],
  [
    'parallel_sizes',
    /(?:must be|is not|not) (?:evenly )?divisible by (?:the )?(?:tensor|tp|pipeline|pp|expert|ep|world|attn|number of)|World size .{0,60}(?:larger|greater) than|larger than the number of available GPUs|more GPUs? than .{0,30}available|(?:tp|tensor[_ -]parallel)[_ -]?size.{0,80}(?:must|cannot|should|greater|larger|exceeds?|divis)|Total number of attention heads|current node has no GPU available|placement group .{0,60}(?:cannot|not|fail)|(?:max_model_len|context_length).{0,80}(?:greater|larger) than the derived/i,
  ],
  [
    'old_python',
    /\btype '[\w.]{1,60}' is not subscriptable|TypeError: '(?:type|ABCMeta)' object is not subscriptable|unsupported operand type\(s\) for \|: '(?:type|NoneType|ABCMeta|_\w+)'|cannot import name '\w{1,40}' from '(?:typing|enum|datetime|itertools|functools|asyncio|contextlib|collections\.abc|dataclasses|types)'|No module named 'tomllib'|dataclass\(\) got an unexpected keyword argument '(?:slots|kw_only)'/,
  ],
  [
    'versions',
    /No module named|Failed to import python '|cannot import name|DLL load failed|undefined symbol|cannot open shared object file|GLIBC(?:XX)?_[\d.]+|got an unexpected keyword argument|module '[\w.]+' has no attribute|partially initialized module|is required but not installed|requires? \w[\w.-]* ?(?:[<>=!~]=|[<>] ?\d+\.\d|version)|version (?:mismatch|conflict)|takes \d+ positional arguments?|missing \d+ required positional/i,
  ],
  [
    'stalled',
    /[Ww]atchdog (?:timeout|caught)|(?:execute_model|sample_tokens|RPC call to \w+|collective_rpc).{0,40}timed out|Hang detected|did not (?:respond|become ready|receive).{0,60}(?:timeout|seconds|within)|Engine (?:iteration )?timed out|Timed out waiting for engine/i,
  ],
  [
    'worker_lost',
    /died unexpectedly|ngine core exited unexpectedly|died or was killed|Actor(?:Died|Unavailable)Error|exit(?:ed)? code:? -\d|BrokenProcessPool/,
  ],
  ...ENVIRONMENT_KINDS,
  [
    'internal',
    /Assertion(?:Error| failed)|\b(?:Index|Key|Attribute|Type|ZeroDivision|UnboundLocal|Name)Error\b|index .{0,30}out of (?:range|bounds)|panicked at|panic: |nil pointer|Segmentation fault|Segfault|Fatal Python error|core dumped|leak detected|INTERNAL ASSERT|The size of tensor a|shape .{0,60}(?:invalid|mismatch)|must match the size|SIGSEGV|SIGABRT|double free or corruption|corrupted size vs|free\(\): |malloc\(\): /,
  ],
];

/** What a sentence lists as possible, whatever happened. */
const GUESSES = /If exit code is\b.*|There are some potential root causes.*/;

/** The kind of an error; undefined for a sentence that is of none. */
export function errorKindOf(sentence: string): ErrorKind | undefined {
  const said = sentence.replace(GUESSES, '');
  return KINDS.find(([, pattern]) => pattern.test(said))?.[0];
}

/** Sentences that only pass on that something else failed, or that come while a program ends. */
const CONSEQUENCE =
  /Engine ?core initialization failed|WorkerProc initialization failed|Engine process (?:failed to start|\(pid)|EngineCore encountered an issue|EngineDeadError|Executor worker returned error|Failed core proc|Background loop (?:is stopped|has errored)|See (?:the )?(?:stack trace|root cause|error)|check the stack trace|has no attribute '(?:_?\w*shutdown|workers|engine|llm_engine|closed|_executor|model_executor|finalize\w*|rpc_broadcast_mq)'|Check server logs|child (?:process )?failed|leaked \w+ objects|SystemExit|CancelledError|cannot schedule new|Event loop is closed|already dead|exited with code 1\b|process exited|Ray is not initialized|terminat(?:ed|ing) server|died\b.{0,40}terminating|Frontend process failed during|died unexpectedly \(exit code: [1-9]|died during initialization \(exit code: (?:[1-9]|None)|scheduler is dead|ChildFailedError|ProcessExitedException|\(exitcode: [1-9]|error messages above|replica will be stopped|deployment failed to start \d{1,4} times in a row|actor died because of an error raised|Application startup failed|MPI_ABORT was invoked|non-zero (?:exit code|status)|restarting failed container|CrashLoopBackOff|Server process (?:died|terminated)|Failed to initialize executor/i;

/** Whether a sentence only says that something else failed. */
export function isConsequence(sentence: string): boolean {
  return CONSEQUENCE.test(sentence);
}
