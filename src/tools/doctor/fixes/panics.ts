import type { ProposedFix } from '../diagnosis.js';

type Repair = Pick<ProposedFix, 'says' | 'why' | 'commands'>;

/** `panicked at hyper-util-0.1.17/src/rt/tokio.rs: there is no reactor running`. */
const PANIC = /^panicked at ([^:\s]{1,300}\.rs)(?:: (.*))?/;
/** A package below a program: its name and its version are the first folder. */
const PACKAGE = /^([a-z][\w-]{1,60}-\d+\.\d+[\w.+-]{0,20})\//;
const BACKTRACE =
  'RUST_BACKTRACE=1    # on the program, for one trial: names the place of its own that led there';

/** `panic: runtime error: index out of range [0] with length 0 in (*Runner).Run of llm-d-router`. */
const GO_PANIC = /^panic: runtime error: .{1,200} in (\S{1,120}) of ([\w-]{1,60})$/;

/** What repairs a panic of Rust or Go, by its message; undefined for other errors. */
export function panicRepair(sentence: string): Repair | undefined {
  const [, name, program] = GO_PANIC.exec(sentence) ?? [];
  if (name !== undefined && program !== undefined) return goRepair(name, program);
  const [, path, message = ''] = PANIC.exec(sentence) ?? [];
  if (path === undefined) return undefined;
  // An exporter of traces over gRPC, which is made as a Python module is loaded.
  if (/no reactor running/.test(message))
    return {
      says: 'Start the program without its export of traces (unset OTEL_EXPORT_ENABLED, or OTEL_EXPORT_ENABLED=0), until a later release of the runtime that it is of',
      why: 'The part that panicked opens a network connection as it is loaded, before the runtime is there that would serve it. Exporters of traces and metrics do so. Nothing of the engine, the cache or the transfer is wrong.',
      commands: [
        'kubectl exec POD -- sh -c "env | grep -E \'OTEL_|OTLP\'"    # what switches the export on',
        BACKTRACE,
      ],
    };
  if (
    /InvalidConfig|must be (?:>|greater than|at least|positive)|invalid (?:config|argument|value)/i.test(
      message,
    )
  )
    return {
      says: `Set what the message names to a value that it takes (${message.slice(0, 100)}): kubectl get pod POD -o yaml shows the settings; a size in GB has to hold one block at least`,
      why: 'The program checks the sizes that follow from its settings, and ends where one of them is none. A cache that is too small for one block has none, and a size that is not set can be 0.',
      commands: ['kubectl get pod POD -o yaml | grep -iE -A1 "cache|block|_GB"    # the settings', BACKTRACE],
    };
  const dependency = PACKAGE.exec(path)?.[1];
  return {
    says: `Run a later version of the program${dependency === undefined ? '' : ` (${dependency} is a package below it)`}, and with RUST_BACKTRACE=1 until then: the first place of its own in the backtrace is the part to switch off`,
    why: 'A panic is a fault of the program for these settings or these requests. Its issues have the message, which stands below the place.',
    commands: [
      BACKTRACE,
      'kubectl logs POD --previous | grep -n -m1 -A30 "panicked at"    # the whole of it',
    ],
  };
}

function goRepair(name: string, program: string): Repair {
  return {
    says: `Run a later release of ${program} (kubectl get pods shows the image); its issues have ${name} and name the release in which it is repaired. Until then take back the object or the setting that was added last: it reads a field there that is not set`,
    why: `A panic is a fault of ${program}, which ends with it and starts again. A value that is missing in an object of Kubernetes or in its configuration, and that this release does not check, leads there as a rule.`,
    commands: [
      'kubectl logs POD --previous | grep -n -m1 -A20 "^panic: "    # the whole of it',
      'kubectl get events -A --sort-by=.lastTimestamp | tail -20    # what was changed last',
    ],
  };
}
