import { SettingError } from '../../../app/setting-error.js';
import { formFor, nameSome } from '../../../core/text/lists.js';
import { jsonText, withoutControls } from '../../../core/text/printable.js';
import { STANDARD_INPUT } from '../../../edge/platform/streams/standard-input.js';
import { DiscoveryError } from '../../../fleet/discovery/discovery-error.js';
import { parseTargets } from '../../../fleet/discovery/parse-target.js';
import {
  type InjectResult,
  injectManifests,
  removeFromManifests,
} from '../../../tools/manifests/inject/inject.js';
import type { InjectOptions } from '../../../tools/manifests/inject/options.js';
import { unifiedDiff } from '../../../tools/manifests/unified-diff.js';
import type { CommandBody, WithCommon } from '../../command.js';
import { EXIT_FINDINGS, EXIT_OK, EXIT_USAGE } from '../../exit-codes.js';
import type { SettingsOf } from '../../settings/setting.js';
import { readGivenFiles } from '../../shared/given-files.js';
import { readManifestFiles, writeManifestFile } from '../../shared/manifest-files.js';
import type { injectSettings } from './settings.js';

/** Runs `kv-accord inject`. */
export const runInject: CommandBody<typeof injectSettings> = async (settings, context) => {
  const { operands, stdout, stderr, reject } = context;
  const { write, remove, json, isWorker, isFrontend } = settings;
  const isStream = operands.includes(STANDARD_INPUT);
  if (isStream && write && operands.length > 1)
    throw new SettingError(
      '"-" (on the command line): must stand alone with --write, which then writes to standard output',
    );
  if (isStream && write && json)
    throw reject('json', 'left out with --write and -: the text itself is the output');
  checkTargets(settings.workers);
  const given = await readManifestFiles(operands, {
    onChart: (chart) =>
      stderr.write(
        `kv-accord inject: left out: templates of the chart ${withoutControls(chart)}, which are no manifests yet\n`,
      ),
    onUnread: (file, why) =>
      stderr.write(`kv-accord inject: left out: ${withoutControls(file)}: ${withoutControls(why)}\n`),
  });
  const result = remove
    ? removeFromManifests(given)
    : injectManifests(given, optionsOf(settings, context.version), await readGivenFiles(settings.with));
  const [unknown] = result.unknownNames;
  if (unknown !== undefined) {
    const name = isWorker.includes(unknown) || !isFrontend.includes(unknown) ? 'is-worker' : 'is-frontend';
    throw reject(name, allowedName(unknown, result), unknown);
  }
  const changed = result.files.filter(({ before, after }) => before !== after);
  const say = (line: string): void => stderr.write(`${withoutControls(line)}\n`);
  const refused = result.refused.length > 0;
  const isNothingFound = !remove && !refused && result.notes.length === 0;

  if (json) {
    stdout.write(`${jsonText(toJson(result), 2)}\n`);
  } else {
    for (const { file, line, text } of [...result.notes].sort(byPlace)) say(`${file}:${line}: ${text}`);
    if (!write) for (const { file, before, after } of changed) stdout.write(unifiedDiff(file, before, after));
  }
  if (refused || isNothingFound) {
    for (const { file, line, message } of result.refused)
      say(`${file}:${line}: cannot be changed: ${message}`);
    if (isNothingFound)
      say(`kv-accord inject: no worker and no frontend is recognised here${seenHere(result)}`);
    else if (write) say('kv-accord inject: nothing was written');
    return EXIT_USAGE;
  }
  if (remove && changed.length === 0)
    say('kv-accord inject: nothing to take out: inject added nothing to these files');
  if (!write) return changed.length === 0 ? EXIT_OK : EXIT_FINDINGS;
  if (isStream) {
    for (const { after } of result.files) stdout.write(after);
    return EXIT_OK;
  }
  for (const { file, after } of changed) {
    await writeManifestFile(file, after);
    say(`${file}: written`);
  }
  return EXIT_OK;
};

/** What gates could not use is refused before anything is read, also where these files have none. */
function checkTargets(texts: readonly string[]): void {
  try {
    parseTargets(texts);
  } catch (error) {
    if (error instanceof DiscoveryError) throw new SettingError(`--workers: ${error.message}`);
    throw error;
  }
}

function optionsOf(settings: SettingsOf<WithCommon<typeof injectSettings>>, version: string): InjectOptions {
  const { tlsSecret, certificateName } = settings;
  return {
    image: settings.image ?? `kv-accord:${version}`,
    sidecarKind: settings.sidecarKind,
    readyWhenOffered: settings.readyWhenOffered === true,
    gate: settings.gate,
    transport:
      tlsSecret === undefined ? { type: 'plaintext' } : { type: 'tls', secret: tlsSecret, certificateName },
    workers: settings.workers,
    minWorkers: settings.minWorkers,
    namespace: settings.namespace,
    workerNames: settings.isWorker,
    frontendNames: settings.isFrontend,
  };
}

/** What a name may be, and why this one is none where that is known. */
function allowedName(name: string, { pods, podless }: InjectResult): string {
  const object = podless.find((one) => one.name === name);
  if (object !== undefined)
    return `the name of a workload with a pod spec, and ${object.kind} ${name} shows none: its controller makes the pods, so give the sidecar to that (docs/deploy.md), or run inject on what it makes`;
  const known = pods.length === 0 ? '' : ` (there ${formFor(pods.length, 'is', 'are')} ${nameSome(pods)})`;
  return `the name of a workload in these files, or WORKLOAD/PART${known}`;
}

/** What a run that recognises nothing has to choose from. */
function seenHere({ pods, podless }: InjectResult): string {
  const [first] = podless;
  if (pods.length === 0 && first === undefined) return ': there is no pod spec of Kubernetes in these files';
  const advice = '; say with --is-worker and --is-frontend which they are';
  return pods.length > 0 || first === undefined
    ? `${advice}. Pod specs: ${nameSome(pods)}`
    : `${advice}. There is no pod spec in these files: the controller of ${first.kind} ${first.name} makes its pods; give the sidecar to that (docs/deploy.md), or run inject on what it makes`;
}

function byPlace(a: { file: string; line: number }, b: { file: string; line: number }): number {
  return a.file === b.file ? a.line - b.line : 0;
}

/** For programs; every file is there, changed or not. */
function toJson({ files, notes, refused }: InjectResult): unknown {
  return {
    files: files.map(({ file, before, after }) => ({
      file,
      changed: before !== after,
      diff: unifiedDiff(file, before, after),
    })),
    notes,
    refused,
  };
}
