import { SettingError } from '../../../app/setting-error.js';
import { withoutControls } from '../../../core/text/printable.js';
import { explainWriteError } from '../../../edge/platform/files/file.js';
import {
  newFileProblem,
  newFolderProblem,
  writeNewFiles,
  writeTextFile,
} from '../../../edge/platform/files/write-new-files.js';
import { diagnose } from '../../../tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../tools/doctor/diagnosis.js';
import { type EvidencePart, joinEvidence } from '../../../tools/doctor/evidence.js';
import { computeMemory } from '../../../tools/doctor/memory/compute-memory.js';
import { renderReport } from '../../../tools/doctor/report/render-report.js';
import type { CommandBody } from '../../command.js';
import { EXIT_FINDINGS, EXIT_OK, EXIT_TRANSPORT, EXIT_UNKNOWN } from '../../exit-codes.js';
import { quote } from '../../settings/wrong-value.js';
import type { DoctorSettings } from './context.js';
import type { doctorSettings } from './settings.js';
import { gatherEvidence } from './sources.js';

/** What a verdict says to scripts. */
const EXIT_CODES: Readonly<Record<Diagnosis['verdict'], number>> = {
  healthy: EXIT_OK,
  findings: EXIT_FINDINGS,
  unknown: EXIT_UNKNOWN,
};

/** Runs `kv-accord doctor`. */
export const runDoctor: CommandBody<typeof doctorSettings> = async (settings, context) => {
  const { clock, signal, stdout, stderr, environment, version, reject } = context;
  const { writePlan, output } = settings;
  // Before minutes are spent on logs.
  const problem = writePlan === undefined ? undefined : await newFolderProblem(writePlan);
  if (problem !== undefined) throw reject('write-plan', `a folder that is new or empty, and it ${problem}`);
  const unwritable = output === undefined ? undefined : await newFileProblem(output);
  if (unwritable !== undefined)
    throw reject('output', `a place that can be written, and it ${unwritable}`, output);
  const parts = await gatherEvidence(settings, context);
  signal.throwIfAborted();
  if (parts.every(({ source }) => source.status === 'not_read')) {
    for (const part of parts) stderr.write(`kv-accord doctor: ${explain(part, settings)}\n`);
    stderr.write(
      'kv-accord doctor: nothing could be read. Name what there is: logs, saved metrics and manifests, or a folder of them; a cluster (--kube); or the address of an aggregator, a sidecar or an engine.\n',
    );
    return EXIT_TRANSPORT;
  }
  const evidence = joinEvidence(parts);
  const diagnosis = diagnose(evidence, computeMemory(evidence));
  const report = renderReport(diagnosis, evidence, {
    format: settings.json ? 'json' : settings.format,
    isVerbose: settings.verbose,
    isColoured: output === undefined && stdout.isTerminal && (environment['NO_COLOR'] ?? '') === '',
    columns: output === undefined ? stdout.columns : undefined,
    version,
    generatedAtMs: clock.wallMs(),
  });
  if (output === undefined) stdout.write(report);
  else await orWrong('output', output, () => writeTextFile(output, report));
  if (writePlan !== undefined) {
    const { writePlan: planOf } = await import('../../../tools/doctor/report/write-plan.js');
    const files = new Map(planOf(diagnosis).map(({ path, text }) => [path, text]));
    await orWrong('write-plan', writePlan, () => writeNewFiles(writePlan, files));
    stderr.write(`Wrote ${files.size} files into ${withoutControls(writePlan)}; nothing was applied.\n`);
  }
  return EXIT_CODES[diagnosis.verdict];
};

/** A source that was not read, with the flag that named it; an address as operand has none. */
function explain({ source: { kind, name, detail } }: EvidencePart, settings: DoctorSettings): string {
  const { logs, manifests, metrics, engineConfig, modelConfig, gpuMemory } = settings;
  const named: Readonly<Partial<Record<typeof kind, readonly [flag: string, names: readonly unknown[]]>>> = {
    log: ['logs', logs],
    manifests: ['manifests', manifests],
    metrics: ['metrics', metrics],
    engine: ['engine-config', engineConfig],
    model: ['model-config', [modelConfig]],
    gpu: ['gpu-memory', [gpuMemory]],
  };
  const [flag, names = []] = named[kind] ?? [];
  return withoutControls(`${names.includes(name) ? `--${flag} ` : ''}${name}: ${detail}`);
}

async function orWrong(name: string, path: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    throw new SettingError(
      `--${name} ${quote(path)} must be a place that can be written, and it ${explainWriteError(error)}`,
    );
  }
}
