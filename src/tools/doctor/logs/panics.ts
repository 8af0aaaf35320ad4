import type { LogFindings } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';

/** Lines behind a panic's place in which its message is looked for: other threads write in between. */
const MAX_GAP_LINES = 4;
/** The same with the lines of other programs that stand between. */
const MAX_MIXED_LINES = 120;
/** `panicked at src/layout.rs:115:9:` with the message behind it or in the next line. */
const PLACE = /panicked at ([^\s'][^:\n]{0,300}\.rs):\d{1,7}:\d{1,5}:?\s{0,80}(.{0,400})/;
/** Before Rust 1.73: `panicked at 'index out of bounds', src/layout.rs:115:9`. */
const OLD_FORM = /panicked at '(.{1,400})', ([^:\n]{1,300}\.rs):\d/;
/** What stands behind the message of a panic, or is of another one. */
const NO_MESSAGE = /^\s*$|note: run with|stack backtrace:| panicked at |Traceback \(most recent/;

/** "called `Result::unwrap()` on an `Err` value: InvalidConfig(…)": the value says what went wrong. */
const UNWRAPPED = /^called `\w+::\w+\(\)` on an? `\w+` value: (?=\S)/;

/** A panic of Go, whose place stands below it. */
const GO_PANIC = /panic: (runtime error: .{1,200})/;
/** Lines of a panic of Go up to a frame of its own: the signal, the goroutine, frames of the runtime and of logging, each with its file. */
const MAX_GO_LINES = 16;
/** `github.com/agentgateway/agentgateway/controller/pkg/plugins.translatePolicies(…)`, `sigs.k8s.io/gateway-api-inference-extension/cmd/epp/runner.(*Runner).Run(0x…)`. */
const GO_FRAME =
  /^\s{0,8}(?:github\.com\/[\w.-]{1,60}|sigs\.k8s\.io)\/([\w-]{1,60})((?:\/[\w.@-]{1,80}){0,12})\.((?:\(\*?[\w.[\]]{1,80}\)\.)?\w{1,80})(?:\[\.\.\.\])?\(/;
/** Modules that programs have below them. */
const GO_LIBRARIES = /^(?:controller-runtime|go-logr|logr|zapr|zap|klog|grpc-go|errors|go-redis|redis)$/;

/** Joins the place of a panic with its message: of Rust it stands in the line below it, of Go in the first frame of the program. */
export class PanicReader {
  readonly #found: Pick<LogFindings, 'addError'>;
  #open: { readonly line: LogLine; readonly file: string; gap: number } | undefined;
  #go: { readonly line: LogLine; readonly message: string; gap: number } | undefined;

  constructor(found: Pick<LogFindings, 'addError'>) {
    this.#found = found;
  }

  get isOpen(): boolean {
    return this.#open !== undefined || this.#go !== undefined;
  }

  /** A line with `panicked at`, or with `panic: runtime error`. */
  add(line: LogLine): void {
    const message = GO_PANIC.exec(line.text)?.[1];
    if (message !== undefined) {
      this.#go ??= { line, message, gap: 0 };
      return;
    }
    this.#addRust(line);
  }

  #addRust(line: LogLine): void {
    const [, oldMessage, oldFile] = OLD_FORM.exec(line.text) ?? [];
    const [, file = oldFile, message = oldMessage ?? ''] = PLACE.exec(line.text) ?? [];
    if (file === undefined)
      this.#found.addError(line, {
        sentence: line.text.slice(line.text.indexOf('panicked at')),
        about: 'panicked at',
      });
    else if (message.trim() !== '') this.#report(line, file, message);
    // Of threads that panic together the first counts: they say the same.
    else this.#open ??= { line, file, gap: 0 };
  }

  follow({ lineNumber, text, who }: LogLine): void {
    this.#followGo(lineNumber, text, who);
    const open = this.#open;
    if (open === undefined) return;
    if (who !== open.line.who) {
      if (lineNumber - open.line.lineNumber > MAX_MIXED_LINES) this.finish();
      return;
    }
    open.gap += 1;
    if (!NO_MESSAGE.test(text)) {
      this.#open = undefined;
      this.#report(open.line, open.file, text);
    } else if (open.gap >= MAX_GAP_LINES || /note: run with/.test(text)) this.finish();
  }

  /** The log has no message of the last one. */
  finish(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) this.#report(open.line, open.file, '');
    this.#reportGo('');
  }

  #followGo(lineNumber: number, text: string, who: string): void {
    const panic = this.#go;
    if (panic === undefined) return;
    if (who !== panic.line.who) {
      if (lineNumber - panic.line.lineNumber > MAX_MIXED_LINES) this.#reportGo('');
      return;
    }
    panic.gap += 1;
    const [, module = '', , name = ''] = GO_FRAME.exec(text) ?? [];
    if (module !== '' && !GO_LIBRARIES.test(module)) this.#reportGo(` in ${name} of ${module}`);
    else if (panic.gap >= MAX_GO_LINES) this.#reportGo('');
  }

  #reportGo(place: string): void {
    const panic = this.#go;
    this.#go = undefined;
    if (panic === undefined) return;
    this.#found.addError(panic.line, {
      sentence: `panic: ${panic.message}${place}`,
      about: 'panic: runtime error',
    });
  }

  #report(line: LogLine, file: string, message: string): void {
    const words = message.replace(/\s+/g, ' ').trim().replace(UNWRAPPED, '');
    this.#found.addError(line, {
      sentence: `panicked at ${shortPath(file)}${words === '' ? '' : `: ${words}`}`,
      about: 'panicked at',
    });
  }
}

/** From the package on: `hyper-util-0.1.17/src/rt/tokio.rs`. */
function shortPath(file: string): string {
  return file.replace(/^.*\/registry\/src\/[^/]{1,120}\//, '').replace(/^.*\/(?=(?:lib|crates)\/)/, '');
}
