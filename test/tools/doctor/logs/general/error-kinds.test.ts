import { describe, expect, it } from 'vitest';
import {
  type ErrorKind,
  errorKindOf,
  isConsequence,
} from '../../../../../src/tools/doctor/logs/general/error-kinds.js';

/** Sentences of engines, PyTorch, NCCL, the hub of Hugging Face and the kernel. */
const SENTENCES: readonly (readonly [ErrorKind, string])[] = [
  ['gpu_memory', 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has …'],
  ['gpu_memory', 'RuntimeError: CUDA error: out of memory'],
  ['host_memory', 'Out of memory: Killed process 4242 (python3) total-vm:9kB'],
  ['host_memory', 'RuntimeError: DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.'],
  ['shared_memory', 'RuntimeError: unable to open shared memory object </torch_1> in read-write mode'],
  ['disk_full', "OSError: [Errno 28] No space left on device: '/root/.cache/vllm'"],
  ['gpu_fault', 'torch.AcceleratorError: CUDA error: an illegal memory access was encountered'],
  ['gpu_fault', 'RuntimeError: CUDA error: device-side assert triggered'],
  ['gpu_driver', 'RuntimeError: CUDA error: no kernel image is available for execution on the device'],
  ['gpu_driver', 'RuntimeError: Failed to infer device type, please set the environment variable'],
  ['kernel_build', 'RuntimeError: Could not find nvcc and default cuda_home does not exist'],
  ['kernel_build', 'RuntimeError: Ninja build failed. Ninja output: …'],
  ['old_python', "TypeError: type 'array.array' is not subscriptable"],
  ['old_python', "TypeError: unsupported operand type(s) for |: 'type' and 'NoneType'"],
  ['old_python', "ImportError: cannot import name 'override' from 'typing' (/usr/lib/python3.11/typing.py)"],
  [
    'gpu_fault',
    'RuntimeError: cutlass_gemm_caller, /workspace/csrc/c3x/cutlass_gemm_caller.cuh:62, Error Internal',
  ],
  [
    'model_unsupported',
    'ValueError: Failed to find a kernel that can implement the ScaledMM linear layer. Reasons:',
  ],
  [
    'model_unsupported',
    '[TensorRT-LLM][ERROR] Assertion failed: MOE GEMM1 Config is not set (/builds/moe_gemm/moe_kernels.cu:2684)',
  ],
  [
    'versions',
    "panicked at worker.rs: Failed to import python 'vllm' module. Are we running in the correct venv? AttributeError: a",
  ],
  ['other_rank', 'mpirun noticed that process rank 3 with PID 7 on node a exited on signal 6 (Aborted).'],
  ['collective', 'torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:268'],
  [
    'collective',
    'RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer',
  ],
  ['port_in_use', "zmq.error.ZMQError: Address already in use (addr='tcp://*:5557')"],
  ['port_in_use', 'OSError: [Errno 98] error while attempting to bind on address: address already in use'],
  ['model_files', 'OSError: /models/a does not appear to have a file named config.json.'],
  ['model_files', 'huggingface_hub.errors.GatedRepoError: 401 Client Error.'],
  ['model_unsupported', "ValueError: Model architectures ['A'] are not supported for now."],
  ['parallel_sizes', 'ValueError: Total number of attention heads (14) must be divisible by tensor parallel'],
  ['versions', "ImportError: cannot import name 'a' from 'transformers'"],
  ['stalled', 'RuntimeError: Watchdog timeout (self.watchdog_last_forward_ct=9)'],
  ['worker_lost', 'Worker proc VllmWorker-3 died unexpectedly, shutting down executor.'],
  [
    'host_memory',
    'Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL)',
  ],
  ['host_memory', '[ERROR] Worker (pid:9) was sent SIGKILL! Perhaps out of memory?'],
  ['internal', 'AssertionError: Committed KV cache already freed'],
];

describe('kinds of errors', () => {
  it.each(SENTENCES)('calls it %s: %s', (kind, sentence) => {
    expect(errorKindOf(sentence)).toBe(kind);
    expect(isConsequence(sentence)).toBe(false);
  });

  it.each([
    'ValueError: please provide at least one prompt',
    'RuntimeError: Engine core initialization failed. See root cause above.',
    'Address already in use',
    'ConnectionError: the client has gone',
  ])('has none for %s', (sentence) => {
    expect(errorKindOf(sentence)).toBeUndefined();
  });

  it.each([
    'vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.',
    'Exception: WorkerProc initialization failed due to an exception in a background process.',
    "AttributeError: 'MultiprocExecutor' object has no attribute 'workers'",
    'RuntimeError: Executor worker returned error',
  ])('knows that something else failed before %s', (sentence) => {
    expect(isConsequence(sentence)).toBe(true);
  });
});
