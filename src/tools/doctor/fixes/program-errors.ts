import { engineOfWord } from '../../../engines/catalogue/engines.js';
import type { EnginePart } from '../../../engines/diagnosis/log-findings.js';
import type { ProposedFix } from '../diagnosis.js';
import { type EnvironmentKind, isOfEnvironment } from '../logs/general/environment-kinds.js';
import type { ErrorKind } from '../logs/general/error-kinds.js';
import { lastReasonOf } from '../logs/last-words.js';
import { ownAdviceIn } from '../logs/own-advice.js';
import { withoutPart } from './engine-parts.js';
import { repairEnvironment } from './environment-repairs.js';
import { freePort } from './free-port.js';
import { gpuMemoryRepair } from './gpu-memory-repair.js';
import { listedValue } from './listed-value.js';
import { repairNamed } from './named-settings.js';
import { repairPackages } from './packages.js';
import { panicRepair } from './panics.js';
import { fittingSizes } from './parallel-sizes.js';
import { buildForTorch } from './programs.js';
import { repairRefusedWords } from './refused-words.js';
import type { Repair } from './repair.js';
import { knownValues } from './setting-words.js';
import { correctedArguments, demandsOfSglang } from './sglang-arguments.js';

/** Of the project's own documentation, or of the sentence itself. */
const REPAIRS: Readonly<Record<Exclude<ErrorKind, 'gpu_memory' | EnvironmentKind>, Repair>> = {
  host_memory: {
    says: 'Give the pod more memory (kubectl describe pod: OOMKilled, exit code 137), or the engine a smaller CPU cache (offloading, LMCache, hicache) and fewer processes that load weights at a time',
    why: 'The kernel ends a process with signal 9 where memory is short; the program itself cannot write why. Weights pass through memory of the host, and pinned caches stay there.',
    commands: [
      'kubectl describe pod POD | grep -A4 "Last State"    # OOMKilled, exit code 137',
      'dmesg -T | grep -i "killed process"',
    ],
  },
  shared_memory: {
    says: 'Give the pod a larger /dev/shm: an emptyDir with medium: Memory mounted there; with Docker --shm-size 16g or --ipc=host',
    why: 'Ranks of one engine exchange tensors and messages over /dev/shm, which has 64 MiB in a container by default.',
    commands: ['kubectl exec POD -- df -h /dev/shm'],
  },
  disk_full: {
    says: 'Give caches and weights a volume of their own that has room: HF_HOME=DIR, --download-dir',
    why: 'Weights, compiled kernels and offloaded blocks are written there.',
    commands: ['kubectl exec POD -- df -h'],
  },
  gpu_fault: {
    says: 'Run another version of the engine on this GPU; until then leave out what brings the kernel in, one after the other: CUDA graphs, custom all-reduce, speculative decoding (CUDA_LAUNCH_BLOCKING=1, on an NPU ASCEND_LAUNCH_BLOCKING=1, names the kernel)',
    why: 'Kernels run behind the program: the line of the traceback is often another one than the one that failed. CUDA_LAUNCH_BLOCKING=1 names it. The same error on one host only is a faulty GPU.',
    commands: [
      'CUDA_LAUNCH_BLOCKING=1    # on the engine, for one trial',
      'dmesg -T | grep -i xid    # a faulty GPU or link',
    ],
  },
  gpu_driver: {
    says: 'Run an image whose CUDA the driver of the node supports and whose kernels are built for this GPU, and give the container its GPUs (nvidia.com/gpu: 1; with Docker --gpus all)',
    why: 'nvidia-smi shows the newest CUDA that the driver takes. An engine from a package index has kernels for a few generations of GPUs.',
    commands: [
      'nvidia-smi',
      'kubectl exec POD -- python3 -c "import torch; print(torch.version.cuda, torch.cuda.get_device_capability())"',
    ],
  },
  kernel_build: {
    says: "Give the image what kernels are compiled with (the CUDA toolkit of torch's version with nvcc, ninja, gcc, and libcuda on the path of the linker: LIBRARY_PATH=/usr/local/cuda/lib64/stubs), or run the image of the project, and remove what was half built (~/.cache/flashinfer, ~/.triton)",
    why: 'Engines compile kernels for the model and the GPU as they start. The first error of the compiler, above the traceback, has what is missing.',
    commands: ['kubectl exec POD -- sh -c "nvcc --version; which ninja gcc; ldconfig -p | grep libcuda"'],
  },
  other_rank: {
    says: 'Compare the logs of all ranks from their start (kubectl logs POD --previous): the first of them that ended has the reason; out of memory and a slow disk are the usual ones',
    why: 'Ranks wait for each other. Those that are left say no more than that one is missing.',
    commands: ['kubectl get pods -o wide    # restarts'],
  },
  collective: {
    says: 'Start all ranks once with NCCL_DEBUG=INFO and see the first WARN of each; set NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME to the interface over which the hosts reach each other, open their ports, and give containers a large /dev/shm',
    why: 'An unhandled system error is a call that the system refused: no interface, no shared memory, no InfiniBand device in the container. A connection that closes is a rank that ended: its own log has the reason.',
    commands: ['kubectl exec POD -- sh -c "ip -br addr; df -h /dev/shm; ulimit -l"'],
  },
  port_in_use: {
    says: 'Give each process a port of its own (--port, and those of events, side channel and ranks), or end what holds it: ss -ltnp shows it',
    why: 'A process of an earlier start may still run. Data-parallel ranks and engines on one host count up from a base port: leave room between them.',
    commands: ['ss -ltnp    # who has which port'],
  },
  model_files: {
    says: 'Give the process a model that it can read: a path that exists in the container, a volume with all its files, HF_TOKEN=TOKEN for gated models',
    why: 'A path that does not exist in the container is taken for a name on the hub.',
    commands: ['kubectl exec POD -- ls -l MODEL_PATH'],
  },
  model_unsupported: {
    says: 'Run a version of the engine, and of transformers, that has this model and quantization on this GPU (kubectl exec POD -- pip list), or take other weights: bf16 instead of fp8 or fp4 on older GPUs',
    why: 'The list of supported models of a release names architectures and formats; the GPU decides which number formats have kernels.',
    commands: ['kubectl exec POD -- pip list | grep -iE "vllm|sglang|tensorrt|transformers"'],
  },
  parallel_sizes: {
    says: 'Set the sizes as the sentence asks (kubectl edit): a tensor-parallel size that divides the attention heads and is no more than the GPUs of the worker, a longest sequence that the model has',
    why: 'Heads, experts and vocabulary are divided over the GPUs of a worker without a rest.',
    commands: [],
  },
  old_python: {
    says: 'Run the engine with a later Python: an environment of its own with 3.12 (uv venv --python 3.12), or the image of the project; until then an older release of the package that the traceback ends in',
    why: 'The package uses what the standard library has from a later version of Python on. A package index gives it to older ones too where its metadata allows them.',
    commands: [
      'kubectl exec POD -- sh -c "python3 --version; pip list | grep -iE \'vllm|sglang|flashinfer|lmcache\'"',
    ],
  },
  versions: {
    says: 'Run packages that belong together (kubectl exec POD -- pip check): those of the image of the project, or as the release notes of the engine name them, in an environment of their own',
    why: 'A name or argument that is missing is in another version of that package. Mixed wheels, a build for another CUDA and a package that was upgraded by another are the usual ways there.',
    commands: ['kubectl exec POD -- pip check'],
  },
  stalled: {
    says: 'Run py-spy dump --pid PID for each rank to see where it stands, and read the log of the rank that is behind; a first compilation may only need a longer time-out',
    why: 'A watchdog ends an engine whose forward pass or whose ranks make no progress: one rank waits for another, for a transfer, or for a kernel.',
    commands: ['py-spy dump --pid PID'],
  },
  worker_lost: {
    says: 'Give the doctor the log from its start, of all processes of the engine (kubectl logs POD --previous); where no error stands above these lines, have the system say what ended the process: kubectl describe pod (OOMKilled), dmesg -T',
    why: 'Its parent only sees that it is gone. A process that is killed from outside, or that a library ends, writes no traceback: memory of the host and a faulty GPU are the usual reasons then.',
    commands: [
      'kubectl describe pod POD | grep -A4 "Last State"    # OOMKilled, exit code',
      'dmesg -T | grep -iE "killed process|xid|segfault" | tail',
    ],
  },
  internal: {
    says: 'Run a later version of the program, and until then without what the traceback goes through (kubectl logs POD --previous); its issues have the sentence, and the version in which it is repaired',
    why: 'An assertion, an index or a name that is missing is a fault of the program for this model, these settings or these requests.',
    commands: ['kubectl logs POD --previous | grep -n -m1 -A40 Traceback    # the whole of it'],
  },
};

const UNKNOWN: Repair = {
  says: 'Run the program without what the sentence names, or in a later version; the traceback (kubectl logs POD --previous) has the part that it is of',
  why: 'It is the first error of the log. The sentence is of no kind that is known here.',
  commands: ['kubectl logs POD --previous | grep -n -m1 -A40 Traceback    # the whole of it'],
};

const NOT_GIVEN: Repair = {
  says: 'Give the doctor the log from its start, of all processes of the engine (kubectl logs POD --previous): the first error above these lines is the reason',
  why: 'What was given only says that something else failed. A process without a traceback was killed: kubectl describe pod and dmesg have that.',
  commands: [
    'kubectl describe pod POD | grep -A4 "Last State"    # OOMKilled, exit code',
    'kubectl logs POD --previous | grep -n -m5 -iE "error|traceback|killed"',
  ],
};

/** An error with its reasons, the last of which happened first. */
function repairReason(reason: string): Repair {
  return {
    says: `Repair what the last reason of the error says, which happened first: "${reason}"`,
    why: 'The program ended with this error. What stands above the reason only passes it on: what was to be done when it happened.',
    commands: ['kubectl logs POD --previous | grep -n -m1 -A12 "^Error: "    # the whole of it'],
  };
}

/** An error that says what to do. */
function repairAsked(asked: string): Repair {
  return {
    says: `Do what the error asks for ("${asked}")`,
    why: 'The program ended with this error, which says itself what it lacks. The flags of the program have the words of the sentence in them: --help lists them.',
    commands: UNKNOWN.commands,
  };
}

/** SGLang with a hierarchical cache: its copy kernels, and what they meet, are the known reason. */
const HOST_COPIES: Repair = {
  says: 'Start SGLang with --hicache-io-backend direct --hicache-mem-layout page_first_direct (layer_first without a storage backend), so that the driver copies blocks to the host; where the error comes all the same, run a later version, and until then leave out --enable-hierarchical-cache',
  why: 'This engine keeps blocks on its host, and kernels copy them there while others compute. Those of --hicache-io-backend kernel and of FA3 do not go together before April 2026 (pull request 21631), which --decode-attention-backend flashinfer avoids too. Kernels run behind the program: the line of the traceback is often another one than the one that failed.',
  commands: [
    'CUDA_LAUNCH_BLOCKING=1    # on the engine, for one trial: names the kernel',
    'dmesg -T | grep -i xid    # a faulty GPU or link',
  ],
};

/** What decides over the kind of an error alone. */
interface Setup {
  /** SGLang's hierarchical cache is on. */
  readonly copiesToHost: boolean;
  /** Of the one engine that was seen. */
  readonly engine?: string | undefined;
  /** Parts of the engine that the traceback goes through, the innermost first. */
  readonly parts?: readonly EnginePart[];
}

/** Of an error of no known kind. */
function repairBySentence(sentence: string): Repair | undefined {
  const reason = lastReasonOf(sentence);
  if (reason !== undefined) return repairReason(reason);
  return repairSaid(sentence);
}

/** Two settings of which only one may be given: "a and b.c are mutually exclusive". */
const EXCLUSIVE = /\b([\w.[\]'-]{3,80}) and ([\w.[\]'-]{3,100}) are mutually exclusive/;

/** Of errors that list the values which there are, or name two settings for one thing. */
function repairListed(sentence: string): Repair | undefined {
  const [, one, other] = EXCLUSIVE.exec(sentence) ?? [];
  if (one !== undefined && other !== undefined)
    return {
      says: `Give the program only one of ${one} and ${other} (kubectl edit)`,
      why: 'Both set the same thing, one as a flag of its own and one within a larger configuration. The program does not choose between them.',
      commands: ['kubectl get pod POD -o yaml | grep -A40 args:    # where both are given'],
    };
  const [value, known] = knownValues(sentence) ?? [];
  return value === undefined || known === undefined ? undefined : listedValue(value, known);
}

/** Of errors that list values, name two settings for one thing, or say themselves what to do. */
function repairSaid(sentence: string): Repair | undefined {
  const asked = ownAdviceIn(sentence);
  return repairListed(sentence) ?? (asked === undefined ? undefined : repairAsked(asked));
}

/** Settings and parts that an exception refuses. */
function repairRefused(sentence: string): Repair | undefined {
  return repairNamed(sentence) ?? repairRefusedWords(sentence);
}

/** An assertion of Python that says what to do. */
function repairAssertion(sentence: string): Repair | undefined {
  const asked = /^AssertionError: ./.test(sentence) ? ownAdviceIn(sentence) : undefined;
  return asked === undefined || /^(?:verify|check)\b/i.test(asked) ? undefined : repairAsked(asked);
}

/** What SGLang demands of its arguments where no check of theirs does: as it makes its parts. */
function repairArguments(sentence: string): Repair | undefined {
  const words = /^(?:Assertion|Value|NotImplemented|Runtime)Error: (.{8,})/s.exec(sentence)?.[1];
  if (words === undefined || !demandsOfSglang(words)) return undefined;
  const [says, why, commands] = correctedArguments(words) ?? [];
  return says === undefined || why === undefined || commands === undefined
    ? undefined
    : { says, why, commands };
}

/** Of sentences that say themselves what is to change. */
function particularRepair(
  kind: ErrorKind | undefined,
  sentence: string,
  { copiesToHost, engine, parts = [] }: Setup,
): Repair | undefined {
  if (kind === 'gpu_fault' && copiesToHost && /illegal memory access|Memory access fault/i.test(sentence))
    return HOST_COPIES;
  const corrected =
    engine === 'sglang' && (kind === undefined || kind === 'internal')
      ? repairArguments(sentence)
      : undefined;
  const part = withoutPart(parts, sentence);
  if (kind === undefined) return repairBySentence(sentence) ?? corrected ?? repairRefused(sentence) ?? part;
  if (kind === 'internal')
    return (
      panicRepair(sentence) ??
      repairListed(sentence) ??
      repairAssertion(sentence) ??
      corrected ??
      (/^(?:Assertion|Value|NotImplemented|Runtime)Error: \S/.test(sentence)
        ? repairRefused(sentence)
        : undefined) ??
      part
    );
  if (kind === 'model_unsupported') return repairSaid(sentence);
  if (kind === 'port_in_use') return freePort(sentence);
  if (kind === 'versions') return buildForTorch(sentence) ?? repairPackages(sentence);
  return kind === 'parallel_sizes' ? fittingSizes(sentence) : undefined;
}

/** What repairs a program that ended, by the kind of its first error. */
export function repairFor(
  kind: ErrorKind | undefined,
  sentence: string | undefined,
  setup: Setup = { copiesToHost: false },
): ProposedFix {
  const particular = sentence === undefined ? undefined : particularRepair(kind, sentence, setup);
  const plain =
    sentence === undefined
      ? NOT_GIVEN
      : kind === undefined
        ? UNKNOWN
        : kind === 'gpu_memory'
          ? gpuMemoryRepair(sentence, engineOfWord(setup.engine)?.launch?.tuning)
          : isOfEnvironment(kind)
            ? repairEnvironment(kind, sentence)
            : REPAIRS[kind];
  return {
    ...(particular ?? plain),
    disturbs: 'one_worker_at_a_time',
    files: [],
    verify: ['kubectl get pods    # running, and no new restarts'],
  };
}
