import { openAgreementSource } from '../../../app/open-agreement-source.js';
import { withoutControls } from '../../../core/text/printable.js';
import { checkProgram, SpawnError, startChild } from '../../../edge/platform/processes/child-process.js';
import { listenForSignals } from '../../../edge/platform/processes/process-signals.js';
import { hasTerminal } from '../../../edge/platform/streams/standard-streams.js';
import type { CommandBody } from '../../command.js';
import { EXIT_USAGE } from '../../exit-codes.js';
import { awaitAgreement } from '../../shared/await-agreement.js';
import { explainOutcome } from '../../shared/explain-outcome.js';
import { LiveLine } from '../../shared/live-line.js';
import { ProgramKeeper } from './program-keeper.js';
import type { execSettings } from './settings.js';

/** Runs `kv-accord exec`: the gate in front of a program that already exists. */
export const runExec: CommandBody<typeof execSettings> = async (settings, context) => {
  const { clock, logger, signal, stderr, isTerminal, environment, operands } = context;
  const question = { group: settings.group, frontendUses: settings.frontendUses };
  const { source, close } = await openAgreementSource(settings, context);
  try {
    // Now rather than after minutes of waiting.
    checkProgram(operands[0] ?? '', environment['PATH']);
    source.start();
    const outcome = await awaitAgreement(
      source,
      { timeoutMs: settings.timeoutMs, ...question },
      {
        clock,
        signal,
        progress: isTerminal ? new LiveLine(stderr) : undefined,
        onWaiting: (text) => logger.info({}, `Waiting before the program is started: ${text}`),
      },
    );
    if (outcome.type !== 'agreed') {
      const { exitCode, text } = explainOutcome(outcome, settings.timeoutMs);
      stderr.write(`kv-accord exec: ${withoutControls(text)}\n`);
      return exitCode;
    }
    const keeper = new ProgramKeeper(
      {
        ...question,
        operands,
        environment,
        variables: settings.env,
        onChange: settings.onChange,
        childGraceMs: settings.childGraceMs,
        hasTerminal: hasTerminal(),
      },
      { source, clock, logger, startChild, listenForSignals },
    );
    const ended = keeper.run(outcome.tokensPerBlock);
    // From here on the program decides how the process ends, and the keeper has the signals.
    context.takeOverSignals();
    return await ended;
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    stderr.write(`kv-accord exec: ${withoutControls(error.message)}\n`);
    return EXIT_USAGE;
  } finally {
    await close();
  }
};
