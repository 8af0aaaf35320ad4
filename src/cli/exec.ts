import type { AgreementFeed } from '../aggregator/agreement-feed.js';
import { judgeAgreements, type Question } from '../aggregator/verdict.js';
import type { Child } from '../platform/child-process.js';
import { SpawnError, startChild } from '../platform/child-process.js';
import type { Clock } from '../platform/clock.js';
import { sleep } from '../platform/clock.js';
import type { Environment } from '../platform/environment.js';
import type { Logger } from '../platform/logger.js';
import { listenForSignals } from '../platform/process-signals.js';
import { awaitAgreement } from './await-agreement.js';
import type { CommandBody } from './command.js';
import type { execSettings } from './exec-settings.js';
import { EXIT_CONFLICT, EXIT_USAGE } from './exit-codes.js';
import { explainOutcome } from './explain-outcome.js';
import { openFeed } from './open-feed.js';

/** What stands for the agreed size in the arguments of a program that has no variable for it. */
const PLACEHOLDER = '{tokens_per_block}';

/** How long a program that is to be started anew may take to end by itself. */
const CHILD_GRACE_MS = 30_000;

/** Signals that the program is to get in place of this process. */
const FORWARDED: readonly NodeJS.Signals[] = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
];

/** Runs `kv-accord exec`: the gate in front of a program that already exists. */
export const runExec: CommandBody<typeof execSettings> = async (settings, context) => {
  const { clock, logger, signal, stderr, isTerminal, environment, operands } = context;
  const question = { group: settings.group, frontendUses: settings.frontendUses };
  const { feed, close } = await openFeed(settings, context);
  try {
    feed.start();
    const outcome = await awaitAgreement(
      feed,
      { timeoutMs: settings.timeoutMs, ...question },
      { clock, signal, progress: isTerminal ? stderr : undefined },
    );
    if (outcome.type !== 'agreed') {
      const { exitCode, text } = explainOutcome(outcome, settings.timeoutMs);
      stderr.write(`kv-accord exec: ${text}\n`);
      return exitCode;
    }
    const keeper = new Keeper(
      { operands, environment, variables: settings.env, ...question, onChange: settings.onChange },
      { feed, clock, logger },
    );
    // From here on the program decides how the process ends; signals are its own.
    context.takeOverSignals();
    return await keeper.run(outcome.tokensPerBlock);
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    stderr.write(`kv-accord exec: ${error.message}\n`);
    return EXIT_USAGE;
  } finally {
    await close();
  }
};

interface KeeperOptions extends Question {
  readonly operands: readonly string[];
  readonly environment: Environment;
  readonly variables: readonly string[];
  readonly onChange: 'restart' | 'exit' | 'ignore';
}

interface KeeperModules {
  readonly feed: AgreementFeed;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Runs the program with the agreed size, and follows the fleet while it runs. */
class Keeper {
  readonly #options: KeeperOptions;
  readonly #modules: KeeperModules;
  #child: Child | undefined;
  /** A signal asked this process to end: no further start. */
  #isStopping = false;

  constructor(options: KeeperOptions, modules: KeeperModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Resolves with the exit code. */
  async run(agreedSize: number): Promise<number> {
    const stopForwarding = listenForSignals(FORWARDED, (signal) => {
      if (signal === 'SIGTERM' || signal === 'SIGINT') this.#isStopping = true;
      this.#child?.kill(signal);
    });
    try {
      let size = agreedSize;
      for (;;) {
        const child = await this.#start(size);
        const change = this.#nextChange(size);
        const ended = await Promise.race([child.exited, change.happened]);
        change.cancel();
        if (typeof ended === 'number') return ended;
        const code = await this.#end(child);
        if (this.#isStopping) return code;
        if (this.#options.onChange === 'exit') return EXIT_CONFLICT;
        size = ended.size;
      }
    } finally {
      stopForwarding();
    }
  }

  async #start(size: number): Promise<Child> {
    const [command = '', ...args] = this.#options.operands.map((word) =>
      word.replaceAll(PLACEHOLDER, String(size)),
    );
    const carried = Object.fromEntries(this.#options.variables.map((name) => [name, String(size)]));
    this.#modules.logger.info(
      { tokens_per_block: size, variables: this.#options.variables },
      `Starting ${command}`,
    );
    this.#child = await startChild(command, args, { ...this.#options.environment, ...carried });
    return this.#child;
  }

  /** Resolves when the fleet agrees on another size and the program is to follow. */
  #nextChange(size: number): { readonly happened: Promise<{ readonly size: number }>; cancel(): void } {
    const { feed, logger } = this.#modules;
    const { onChange } = this.#options;
    let cancel = (): void => undefined;
    let told = size;
    const happened = new Promise<{ size: number }>((resolve) => {
      const look = (): void => {
        const verdict = judgeAgreements(feed.agreements, this.#options);
        if (verdict.type !== 'agreed' || verdict.tokensPerBlock === told) return;
        told = verdict.tokensPerBlock;
        const fate = {
          restart: 'it is started anew',
          exit: 'it is ended',
          ignore: 'it goes on with the old value',
        }[onChange];
        logger.warn(
          { from: size, to: told },
          `The fleet changed its KV block size from ${size} to ${told} while the program runs: ${fate}`,
        );
        if (onChange !== 'ignore' && told !== size) resolve({ size: told });
      };
      cancel = feed.watch(look);
      // The fleet may have moved on while the program was being started.
      look();
    });
    return { happened, cancel: () => cancel() };
  }

  /** Asks the program to end, and makes it after a grace time. */
  async #end(child: Child): Promise<number> {
    const { clock, logger } = this.#modules;
    const ended = new AbortController();
    child.kill('SIGTERM');
    const code = await Promise.race([child.exited, sleep(clock, CHILD_GRACE_MS, ended.signal)]);
    ended.abort();
    if (typeof code === 'number') return code;
    logger.warn({}, `The program did not end within ${CHILD_GRACE_MS / 1_000} s of SIGTERM: it is killed`);
    child.kill('SIGKILL');
    return child.exited;
  }
}
