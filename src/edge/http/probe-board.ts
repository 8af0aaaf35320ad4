import { andMore } from '../../core/text/lists.js';
import { inPlainText } from '../../core/text/printable.js';
import { type HttpAnswer, textAnswer } from './answer.js';

/** The probes that a platform asks. */
export const PROBES = ['livez', 'readyz', 'startupz'] as const;
/** A probe by the last part of its path: `/livez`, `/readyz`, `/startupz`. */
export type Probe = (typeof PROBES)[number];

/** One thing that must be right for a probe to pass. */
export interface ProbeCheck {
  /** Short and stable, for scripts: `gate`, `workers`. */
  readonly name: string;
  readonly ok: boolean;
  /** Why not, or how well: `closed: waiting for 2 of 4 workers`. Default `ok` or `failed`. */
  readonly text?: string;
}

/** Checks that one probe lists; what is more is counted in one line. Each member of a fleet may have one. */
const MAX_CHECKS = 100;
/** Characters of one check's text. */
const MAX_TEXT_LENGTH = 512;

const NOT_STARTED: readonly ProbeCheck[] = [{ name: 'start', ok: false, text: 'not done yet' }];

interface Prepared {
  readonly passed: boolean;
  readonly brief: HttpAnswer;
  readonly verbose: HttpAnswer;
}

/**
 * The answers to the probes, prepared when something changes and not when
 * a client asks: a probe costs the same whatever the size of the fleet.
 * The form of `?verbose` is that of Kubernetes' own servers.
 * https://kubernetes.io/docs/reference/using-api/health-checks/
 */
export class ProbeBoard {
  readonly #prepared: Record<Probe, Prepared> = {
    // A process that can answer at all is alive until it says otherwise.
    livez: prepare('livez', [{ name: 'process', ok: true }]),
    readyz: prepare('readyz', NOT_STARTED),
    startupz: prepare('startupz', NOT_STARTED),
  };

  #readyChecks: readonly ProbeCheck[] = NOT_STARTED;
  #offered: (() => ProbeCheck) | undefined;

  /**
   * Sets what a probe answers from now on; it passes when every check does.
   * `startupz`, once passed, stays passed for the life of the process: a
   * platform must not restart a process for what happens after its start.
   */
  set(probe: Probe, checks: readonly ProbeCheck[]): void {
    if (probe === 'startupz' && this.#prepared.startupz.passed) return;
    if (probe === 'readyz') this.#readyChecks = checks;
    this.#prepared[probe] = prepare(probe, checks);
  }

  /** What `/readyz?offered` asks beside the checks of `readyz`, each time: it depends on time. */
  setOffered(check: () => ProbeCheck): void {
    this.#offered = check;
  }

  /** Whether a probe passes now. */
  passes(probe: Probe): boolean {
    return this.#prepared[probe].passed;
  }

  /**
   * 200 or 503. A refusal always lists its reasons, a success only when asked.
   * `isOffered`: of `readyz`, passes only where `setOffered` says so too;
   * without meaning where that was not called.
   */
  answer(probe: Probe, isVerbose: boolean, isOffered = false): HttpAnswer {
    const asked = probe === 'readyz' && isOffered ? this.#offered : undefined;
    const prepared =
      asked === undefined ? this.#prepared[probe] : prepare(probe, [...this.#readyChecks, asked()]);
    return isVerbose ? prepared.verbose : prepared.brief;
  }
}

function prepare(probe: Probe, checks: readonly ProbeCheck[]): Prepared {
  const passed = checks.every(({ ok }) => ok);
  // What is wrong comes first, so that it is never among those left out.
  const ordered = [...checks.filter(({ ok }) => !ok), ...checks.filter(({ ok }) => ok)];
  const lines = ordered.slice(0, MAX_CHECKS).map(lineOf);
  if (checks.length > MAX_CHECKS) lines.push(andMore(checks.length - MAX_CHECKS).trimStart());
  const text = [...lines, `${probe} check ${passed ? 'passed' : 'failed'}`].join('\n');
  const verbose = textAnswer(passed ? 200 : 503, text);
  return { passed, verbose, brief: passed ? textAnswer(200, 'ok') : verbose };
}

function lineOf({ name, ok, text = ok ? 'ok' : 'failed' }: ProbeCheck): string {
  // One check is one line, whatever a worker put into its reason.
  const line = inPlainText(text).slice(0, MAX_TEXT_LENGTH);
  return `[${ok ? '+' : '-'}]${name} ${line}`;
}
