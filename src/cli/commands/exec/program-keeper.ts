import type { Clock } from '../../../edge/platform/clock.js';
import { sleep } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import type { Child, StartChild } from '../../../edge/platform/processes/child-process.js';
import type { Environment } from '../../../edge/platform/processes/environment.js';
import type { listenForSignals } from '../../../edge/platform/processes/process-signals.js';
import type { AgreementSource } from '../../../fleet/aggregator/agreement-source.js';
import { judgeAgreements, type Question, type Verdict } from '../../../fleet/aggregator/verdict.js';
import { EXIT_CONFLICT } from '../../exit-codes.js';

/** What stands for the agreed size in the arguments of a program that has no variable for it. */
const PLACEHOLDER = '{tokens_per_block}';

/** Signals that the program is to get in place of this process. */
const FORWARDED: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'];

/** Signals that a terminal sends to the whole foreground group: the program has its own already. */
const FROM_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGWINCH'];

/** Signals by which a user or the platform asks that all of this ends: no further start. */
const STOPPING: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];

export interface KeeperOptions extends Question {
  /** The program and its arguments. */
  readonly operands: readonly string[];
  readonly environment: Environment;
  /** Variables that carry the agreed size. */
  readonly variables: readonly string[];
  readonly onChange: 'restart' | 'exit' | 'ignore';
  /** Milliseconds between SIGTERM and SIGKILL when the program is to end. */
  readonly childGraceMs: number;
  /** Whether a terminal sends its signals to the program too. */
  readonly hasTerminal: boolean;
}

export interface KeeperModules {
  readonly source: AgreementSource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly startChild: StartChild;
  readonly listenForSignals: typeof listenForSignals;
}

/** Runs a program with the agreed size, and follows the fleet while it runs. */
export class ProgramKeeper {
  readonly #options: KeeperOptions;
  readonly #modules: KeeperModules;
  #child: Child | undefined;
  /** What came for a program that was just being started. */
  readonly #held: NodeJS.Signals[] = [];
  /** A signal asked that all of this ends: no further start, and no more haste than the program makes. */
  #isStopping = false;
  /** The program was sent SIGTERM because the fleet changed. */
  #isEnding = false;

  constructor(options: KeeperOptions, modules: KeeperModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /**
   * Resolves with the exit code once the program has ended for good. Signals
   * are taken over before this function first waits. Rejects with a
   * `SpawnError` when the program cannot be started.
   */
  async run(agreedSize: number): Promise<number> {
    const signals = [...FORWARDED, ...FROM_TERMINAL];
    const stopForwarding = this.#modules.listenForSignals(signals, (signal) => this.#onSignal(signal));
    try {
      let size = agreedSize;
      for (;;) {
        const child = await this.#start(size);
        const change = this.#nextChange(size);
        const ended = await Promise.race([child.exited, change.happened]);
        change.cancel();
        if (typeof ended === 'number') return ended;
        const code = await this.#end(child);
        this.#child = undefined;
        if (this.#isStopping) return code;
        if (this.#options.onChange === 'exit') return EXIT_CONFLICT;
        // The fleet may have moved on while the program took its time to end.
        const verdict = this.#verdict();
        if (verdict.type === 'conflict') {
          this.#logRefusal(verdict.text);
          return EXIT_CONFLICT;
        }
        size = verdict.type === 'agreed' ? verdict.tokensPerBlock : ended.size;
      }
    } finally {
      stopForwarding();
    }
  }

  #onSignal(signal: NodeJS.Signals): void {
    if (STOPPING.includes(signal)) this.#isStopping = true;
    if (this.#child === undefined) {
      this.#held.push(signal);
      return;
    }
    // Many programs break off an orderly end at the second signal of its kind.
    const hasIt =
      (this.#options.hasTerminal && FROM_TERMINAL.includes(signal)) ||
      (this.#isEnding && signal === 'SIGTERM');
    if (!hasIt) this.#child.kill(signal);
  }

  async #start(size: number): Promise<Child> {
    const { environment, operands, variables } = this.#options;
    const { logger, startChild } = this.#modules;
    const [command = '', ...args] = operands.map((word) => word.replaceAll(PLACEHOLDER, String(size)));
    const carried = Object.fromEntries(variables.map((name) => [name, String(size)]));
    logger.info({ tokens_per_block: size, variables }, `Starting ${command} with KV block size ${size}`);
    this.#child = await startChild(command, args, { ...environment, ...carried });
    for (const signal of this.#held.splice(0)) this.#child.kill(signal);
    return this.#child;
  }

  #verdict(): Verdict {
    return judgeAgreements(this.#modules.source.agreements, this.#options);
  }

  /** Resolves when the fleet agrees on another size and the program is to follow. */
  #nextChange(size: number): { readonly happened: Promise<{ readonly size: number }>; cancel(): void } {
    const { source } = this.#modules;
    let cancel = (): void => undefined;
    let followed = size;
    let isInConflict = false;
    const happened = new Promise<{ size: number }>((resolve) => {
      const look = (): void => {
        if (this.#isStopping) return;
        const verdict = this.#verdict();
        if (verdict.type === 'conflict' && !isInConflict) this.#logConflict(size, verdict.text);
        if (verdict.type === 'agreed' && isInConflict) this.#logConflictEnd(verdict.tokensPerBlock);
        // While workers are missing it is not known whether it is over.
        if (verdict.type !== 'pending') isInConflict = verdict.type === 'conflict';
        if (verdict.type !== 'agreed' || verdict.tokensPerBlock === followed) return;
        const agreed = verdict.tokensPerBlock;
        followed = agreed;
        this.#logChange(size, agreed);
        if (this.#options.onChange !== 'ignore') resolve({ size: agreed });
      };
      cancel = source.watch(look);
      // The fleet may have moved on while the program was being started.
      look();
    });
    return { happened, cancel: () => cancel() };
  }

  /** A program that runs is not ended for it: it serves, if without knowledge of some caches. */
  #logConflict(size: number, text: string): void {
    const consequence = `it goes on with KV block size ${size}, and KV-aware routing will not work for all workers until this is fixed`;
    this.#modules.logger.error(
      { tokens_per_block: size },
      `The workers came into conflict while the program runs: ${consequence}.\n${text}`,
    );
  }

  /** A program is restarted by the same rule by which it was first started. */
  #logRefusal(text: string): void {
    this.#modules.logger.error(
      {},
      `The workers came into conflict while the program ended: it is not restarted.\n${text}`,
    );
  }

  #logConflictEnd(agreed: number): void {
    this.#modules.logger.info(
      { tokens_per_block: agreed },
      `The conflict is over: the workers agree on KV block size ${agreed}`,
    );
  }

  #logChange(from: number, to: number): void {
    const { logger } = this.#modules;
    const fields = { from, to };
    if (from === to) {
      logger.info(fields, `The fleet is back at the KV block size ${to} that the program runs with`);
      return;
    }
    const fate = {
      restart: 'it is restarted',
      exit: 'it is ended (--on-change exit)',
      ignore:
        'it goes on with the old value (--on-change ignore), and KV-aware routing will not work unless it follows its workers by itself',
    }[this.#options.onChange];
    logger.warn(
      fields,
      `The fleet changed its KV block size from ${from} to ${to} while the program runs: ${fate}`,
    );
  }

  /** Asks the program to end, and makes it after the grace time. */
  async #end(child: Child): Promise<number> {
    const { clock, logger } = this.#modules;
    const { childGraceMs } = this.#options;
    const ended = new AbortController();
    this.#isEnding = true;
    child.kill('SIGTERM');
    const code = await Promise.race([child.exited, sleep(clock, childGraceMs, ended.signal)]);
    ended.abort();
    this.#isEnding = false;
    if (typeof code === 'number') return code;
    logger.warn(
      {},
      `The program did not end within ${childGraceMs / 1_000} s of SIGTERM (--child-grace): it is killed`,
    );
    child.kill('SIGKILL');
    return child.exited;
  }
}
