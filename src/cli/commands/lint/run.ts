import { SettingError } from '../../../app/setting-error.js';
import { countOf } from '../../../core/text/lists.js';
import { withoutControls } from '../../../core/text/printable.js';
import { KubernetesError } from '../../../edge/kubernetes/kubernetes-error.js';
import { STANDARD_INPUT } from '../../../edge/platform/streams/standard-input.js';
import type { Severity } from '../../../tools/manifests/lint/findings/finding.js';
import { fixAll, type NamedText } from '../../../tools/manifests/lint/fixes/apply-fixes.js';
import { inspectTexts } from '../../../tools/manifests/lint/lint-texts.js';
import type { LeftOut } from '../../../tools/manifests/lint/rules/unreadable.js';
import { SHELL_LINE, textKindOf, UNREAD_EXTENSIONS } from '../../../tools/manifests/lint/text/text-kinds.js';
import { SetTooLarge } from '../../../tools/manifests/set-too-large.js';
import type { CommandBody, CommandContext, WithCommon } from '../../command.js';
import { EXIT_FINDINGS, EXIT_OK, EXIT_TRANSPORT } from '../../exit-codes.js';
import type { SettingsOf } from '../../settings/setting.js';
import { quote } from '../../settings/wrong-value.js';
import { readFilesBeside } from '../../shared/files-beside.js';
import { readGivenFiles } from '../../shared/given-files.js';
import { MANIFESTS_AND_SCRIPTS, readManifestFiles, writeManifestFile } from '../../shared/manifest-files.js';
import { renderFindings } from './output.js';
import type { lintSettings } from './settings.js';

/** From the least. */
const SEVERITIES: readonly Severity[] = ['note', 'warning', 'error'];

const DOCUMENTATION = ['.md', '.markdown', '.mdx'];

/** Large files are read document by document. */
const MAX_LINTED_BYTES = 64 * 1024 * 1024;

type Context = CommandContext<typeof lintSettings>;
type Settings = SettingsOf<WithCommon<typeof lintSettings>>;

/** Runs `kv-accord lint`. */
export const runLint: CommandBody<typeof lintSettings> = async (settings, context) => {
  const { stdout, stderr, environment, operands, version } = context;
  if (settings.cluster && operands.length > 0)
    throw new SettingError(
      `${quote(operands[0] ?? '')} (on the command line): must be left out with --cluster`,
    );
  // Most of the work leaves no turn to a listener for signals: they end the process by themselves. Files are replaced in one step. A cluster is
  // left in order.
  if (!settings.cluster) context.takeOverSignals();
  const given = await readGivenFiles(settings.with);
  const paths = new Map<string, readonly string[]>();
  let texts: readonly NamedText[];
  try {
    const own = settings.cluster
      ? await readCluster(settings, context)
      : await readFiles(settings.docs, context);
    const environments = settings.cluster ? [] : await readFilesBeside(own);
    for (const one of [...environments, ...given]) paths.set(one.file, one.paths);
    const read = new Map([...environments, ...given].map((one) => [one.file, one]));
    texts = [...own.filter(({ file }) => !paths.has(file)), ...read.values()];
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    stderr.write(`kv-accord lint: ${withoutControls(error.message)}\n`);
    return EXIT_TRANSPORT;
  }
  // A parser of Markdown is loaded only where there is Markdown to read.
  const markdown = settings.docs
    ? await import('../../../tools/manifests/lint/markdown/lint-markdown.js')
    : undefined;
  const named = new Set(operands);
  context.signal.throwIfAborted();
  context.takeOverSignals();
  const inspect = (of: readonly NamedText[]): ReturnType<typeof inspectTexts> => {
    try {
      return inspectTexts(of, { lintMarkdown: markdown?.lintMarkdown, given: paths, named });
    } catch (error) {
      if (!(error instanceof SetTooLarge)) throw error;
      throw new SettingError(`${quote(error.file)} (on the command line): must be ${error.message}`);
    }
  };
  let inspection = inspect(texts);
  if (settings.fix) {
    const fixed = fixAll(texts, (of) => {
      inspection = of === texts ? inspection : inspect(of);
      return inspection.findings;
    });
    await writeChanged(texts, fixed.texts);
    stderr.write(`Wrote ${countOf(fixed.applied, 'change')}.\n`);
    texts = fixed.texts;
  }
  const { findings, fleets, leftOut, notChecked, unread } = inspection;
  stdout.write(
    renderFindings(findings, texts, {
      format: settings.json ? 'json' : settings.format,
      isColoured: stdout.isTerminal && (environment['NO_COLOR'] ?? '') === '',
      version,
      notChecked,
    }),
  );
  for (const line of [...leftOutLines(leftOut), ...unreadLines(unread)])
    stderr.write(`kv-accord lint: ${line}\n`);
  const startsNothing = fleets.every(({ launches }) => launches.length === 0);
  if (findings.length === 0 && startsNothing && texts.some((one) => textKindOf(one) !== 'markdown'))
    stderr.write(
      notChecked.length === 0
        ? 'kv-accord lint: no engine, router or frontend was recognised here, so nothing was compared\n'
        : 'kv-accord lint: nothing that stands here could be compared; what was seen of engines and routers is listed as not checked\n',
    );
  const threshold = SEVERITIES.indexOf(settings.failOn);
  return findings.some(({ severity }) => SEVERITIES.indexOf(severity) >= threshold) ? EXIT_FINDINGS : EXIT_OK;
};

/** Documents that are named one by one; of more only the number is of use. */
const MAX_NAMED = 3;

/** What was not looked at because it cannot be read, and is no workload. */
function leftOutLines(leftOut: readonly LeftOut[]): readonly string[] {
  const named = leftOut
    .slice(0, MAX_NAMED)
    .map(
      ({ file, line, why }) =>
        `left out: ${withoutControls(file)}:${line}: no workload of an engine, and no YAML that can be read (${withoutControls(why)})`,
    );
  const more = leftOut.length - named.length;
  return more > 0 ? [...named, `left out: ${more} more documents of that kind`] : named;
}

/** Files of kinds that are not read, which start engines. */
function unreadLines(files: readonly string[]): readonly string[] {
  const named = files.slice(0, MAX_NAMED).map((file) => withoutControls(file));
  const more = files.length > named.length ? ', …' : '';
  return files.length === 0
    ? []
    : [
        `left out: ${countOf(files.length, 'file')} of a kind that is not read and that names an engine (${named.join(', ')}${more}); for a template, check what it makes`,
      ];
}

async function readFiles(docs: boolean, { operands, stderr }: Context): Promise<readonly NamedText[]> {
  if (operands.length === 0)
    throw new SettingError('a file, a folder or - must be given, or --cluster; see kv-accord lint --help');
  const onChart = (chart: string): void =>
    stderr.write(
      `kv-accord lint: left out: templates of the chart ${withoutControls(chart)}; check the manifests that they make: helm template ${withoutControls(chart)} | kv-accord lint -\n`,
    );
  const files = await readManifestFiles(
    operands,
    {
      onChart,
      onUnread: (file, why) =>
        stderr.write(`kv-accord lint: left out: ${withoutControls(file)}: ${withoutControls(why)}\n`),
    },
    {
      maxFileBytes: MAX_LINTED_BYTES,
      extensions: docs ? [...MANIFESTS_AND_SCRIPTS, ...DOCUMENTATION] : MANIFESTS_AND_SCRIPTS,
      others: UNREAD_EXTENSIONS,
      firstLine: SHELL_LINE,
    },
  );
  // What was to make the manifests has failed, and a pipe hides its exit code.
  if (files.some(({ file, text }) => file === STANDARD_INPUT && text.trim() === ''))
    throw new SettingError('"-" (on the command line): must be manifests or a script, and it is empty');
  return files;
}

async function readCluster(settings: Settings, context: Context): Promise<readonly NamedText[]> {
  const { clock, logger, environment, signal, stderr } = context;
  const { openCluster } = await import('../../../edge/kubernetes/open-cluster.js');
  const { readClusterManifests } = await import('../../shared/cluster-manifests.js');
  const { kubeconfig, kubeContext } = settings;
  const api = await openCluster({ kubeconfig, context: kubeContext }, { clock, logger, environment });
  try {
    return await readClusterManifests(api, settings.namespace ?? api.namespace, signal, ({ message }) =>
      stderr.write(`kv-accord lint: left out: ${withoutControls(message)}\n`),
    );
  } finally {
    await api.close();
  }
}

/** Writes the files whose text is another one now. */
async function writeChanged(before: readonly NamedText[], after: readonly NamedText[]): Promise<void> {
  const old = new Map(before.map(({ file, text }) => [file, text]));
  for (const { file, text } of after) {
    if (text === old.get(file)) continue;
    if (file === STANDARD_INPUT)
      throw new SettingError('--fix true (on the command line): must be left out when - is read');
    await writeManifestFile(file, text);
  }
}
