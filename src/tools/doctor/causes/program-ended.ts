import { countOf } from '../../../core/text/lists.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import { repairFor } from '../fixes/program-errors.js';
import { readCrash } from '../logs/crash-text.js';
import type { Failure } from '../logs/failures.js';
import { type ErrorKind, errorKindOf } from '../logs/general/error-kinds.js';
import type { LogSummary } from '../logs/log-summary.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';

/** What the first error says, in words of a headline. */
const WORDS: Readonly<Record<ErrorKind, string>> = {
  gpu_memory: 'its GPU has no memory left',
  host_memory: 'its host or its pod has no memory left',
  shared_memory: 'shared memory (/dev/shm) is missing or too small',
  disk_full: 'a disk is full',
  gpu_fault: 'a kernel failed on its GPU',
  gpu_driver: 'its GPU, the driver and the image do not fit',
  kernel_build: 'kernels could not be compiled',
  other_rank: 'another rank failed before it',
  collective: 'its ranks do not reach each other (NCCL, Gloo)',
  port_in_use: 'a port is in use',
  model_files: 'files of the model cannot be read',
  model_unsupported: 'this version or this GPU does not have the model or its quantization',
  parallel_sizes: 'the model cannot be divided or served as it is set',
  old_python: 'a package needs a later Python than that of its environment',
  versions: 'packages do not belong together',
  stalled: 'it stood still until a watchdog ended it',
  worker_lost: 'one of its processes is gone, and what was given does not say why',
  internal: 'a fault of the program itself',
  unresolved: 'a name that it asks for does not resolve',
  certificate: 'it does not trust the certificate of the other side',
  credentials: 'what it asks refuses its credentials',
  unreachable: 'what it asks is not reached',
  no_ipv6: 'a socket of IPv6 is opened where there is no IPv6',
  permission: 'it may not write or read a path',
  threads: 'it may not start as many threads',
  bad_file: 'a file of its settings cannot be read',
  no_file: 'a file that its settings name is not there',
};

/** Programs that ended by different errors and get a clue and a cure of their own. */
const MAX_SHOWN = 3;

/** Kinds of errors that are the program's own affair: a cause that knows more of KV caches comes first. */
const INNER: readonly (ErrorKind | undefined)[] = [
  undefined,
  'internal',
  'worker_lost',
  'stalled',
  'unreachable',
  'unresolved',
  'credentials',
  'permission',
];

/** Kinds that a program does not live through: such an error counts also where no line says that something ended. */
const FATAL: readonly (ErrorKind | undefined)[] = [
  'gpu_memory',
  'gpu_fault',
  'gpu_driver',
  'kernel_build',
  'collective',
  'other_rank',
  'port_in_use',
  'host_memory',
  'model_unsupported',
];

/** Kinds that a program may live through: such an error counts where the log ends with it. */
const FATAL_AS_LAST: readonly (ErrorKind | undefined)[] = [
  'shared_memory',
  'disk_full',
  'model_files',
  'parallel_sizes',
  'old_python',
  'versions',
  'stalled',
  'unreachable',
  'unresolved',
  'credentials',
  'certificate',
  'permission',
  'threads',
  'bad_file',
  'no_file',
];

/** Signs that say more of an error within the part that moves or keeps KV blocks. */
const BETTER: readonly Signal[] = [
  'connector_crashed',
  'transfer_path_broken',
  'port_down',
  'transfer_refused',
  'transfer_unreachable',
  'transfer_listener_ended',
  'offload_failed',
  'cache_memory_missing',
  'library_missing',
  'settings_refused',
  'publisher_failed',
  'control_plane_unreachable',
];

/** What ended one program, with the kind of its error. */
interface Ending extends Failure {
  readonly kind: ErrorKind | undefined;
}

/** Errors that come where another program has ended: a connection that is gone, a peer that does not answer. */
const OF_ANOTHER =
  /connect|connection|refused|reset|EOF|closed|timed? ?out|unreachable|unavailable|disconnect/i;

/** What ended the programs of the logs, each as its own log says it; without those that another sign says more of. */
function endingsOf(measurements: Measurements): readonly Ending[] {
  const endings = new Map<string, Ending>();
  for (const log of measurements.evidence.logs) {
    for (const failure of log.failures ?? []) {
      const { sentence } = failure;
      const kind = sentence === undefined ? undefined : errorKindOf(sentence);
      const ending = { ...failure, kind };
      if (!hasEnded(ending) || isSaidElsewhere(measurements, log, ending)) continue;
      const same = `${kind ?? ''} ${kind === undefined ? (sentence ?? '').replace(/\d+/g, '0') : ''}`;
      if (!endings.has(same)) endings.set(same, ending);
    }
  }
  // A program of which only its end is known most probably ended with the others.
  const known = [...endings.values()].filter(({ sentence }) => sentence !== undefined);
  return known.length > 0 ? known : [...endings.values()];
}

function hasEnded({ ends, isLast, kind, parts }: Ending): boolean {
  const isOfPart = parts.length > 0 && (kind === undefined || kind === 'internal');
  return ends > 0 || FATAL.includes(kind) || (isLast && (isOfPart || FATAL_AS_LAST.includes(kind)));
}

/** Whether a sign says more of an ending: one of any log of what may follow from another program, one of its own log of what is its own. */
function isSaidElsewhere(
  measurements: Measurements,
  { signals, knownFaults = [] }: LogSummary,
  { who, sentence, kind }: Ending,
): boolean {
  // What a cache takes is in the sentence of a lack of room, with its numbers.
  if (kind === 'gpu_memory' && measurements.signal('cache_memory_missing') !== undefined) return true;
  const isInner = INNER.includes(kind) || (kind === 'versions' && isOfCrash(measurements, sentence));
  if (!isInner) return false;
  const isOwn =
    sentence !== undefined && (kind === undefined || kind === 'internal') && !OF_ANOTHER.test(sentence);
  if (isOwn) {
    const isOfIt = (sign: Signal): boolean =>
      who === '' ? signals.has(sign) : signals.get(sign)?.byWorker.has(who) === true;
    return BETTER.some(isOfIt) || knownFaults.length > 0;
  }
  return (
    BETTER.some((sign) => measurements.signal(sign) !== undefined) || measurements.knownFaults().length > 0
  );
}

/** An argument or a name that a part which moves or keeps KV blocks lacks in itself: no matter of packages. */
function isOfCrash(measurements: Measurements, sentence: string | undefined): boolean {
  const crashes = [...(measurements.signal('connector_crashed')?.values.keys() ?? [])].map(readCrash);
  return crashes.some((crash) => crash.sentence !== '' && sentence?.startsWith(crash.sentence.slice(0, 80)));
}

/** Whether an error that has nothing to do with KV blocks ended the program: a traceback through their files is no sign then. */
export function endsForOtherReason(measurements: Measurements): boolean {
  const [error] = endingsOf(measurements);
  return error !== undefined && !INNER.includes(error.kind);
}

/** A program does not start or has ended, by an error that is of no KV cache. */
export const programEnded: Cause = {
  id: 'program_ended',
  concerns: () => true,
  contradictedBy: findsWhatEnginesHave,
  suspect(measurements: Measurements): Suspicion | undefined {
    const endings = endingsOf(measurements).slice(0, MAX_SHOWN);
    const [first, ...others] = endings;
    if (first === undefined) return undefined;
    const copiesToHost = measurements.settings('host_cache').some(({ value }) => value === 'hierarchical');
    const { engines } = measurements.seen;
    const engine = engines.length === 1 ? engines[0]?.word : undefined;
    const also = others.map((ending) => `; another one: ${reasonOf(ending)}`).join('');
    return {
      headline:
        first.sentence === undefined
          ? 'A program does not start or has ended; its first error is not in what was given'
          : `A program does not start or has ended: ${reasonOf(first)}${also}`,
      explanation:
        'What an engine or a router that has ended held is gone: nothing is found there, and what others say of it follows from that. The first error of its log is the reason; those behind it, and those of other processes, pass it on in other words.',
      cluesFor: endings.map(clueOf),
      cluesAgainst: [],
      explains: ['no_stores', 'transfers_fail'],
      fixes: endings.map(({ kind, sentence, parts }) =>
        repairFor(kind, sentence, { copiesToHost, engine, parts }),
      ),
    };
  },
};

function reasonOf({ kind, sentence = '' }: Ending): string {
  return `${kind === undefined ? 'by an error of its own' : WORDS[kind]} (${cut(sentence)})`;
}

function clueOf({ ends, sentence, origin }: Ending): ReturnType<typeof clueFor> {
  return clueFor(
    ends === 0 ? 'sign' : 'signature',
    ends === 0
      ? 'An error that a program does not live through; no line says that it ended.'
      : `${countOf(ends, 'line')} of programs that do not start or have ended${sentence === undefined ? ', and no line at error level before them' : '; this is the first error'}.`,
    origin,
  );
}

function cut(sentence: string): string {
  return sentence.length <= 120 ? sentence : `${sentence.slice(0, 119)}…`;
}
