import type { ProposedFix } from '../diagnosis.js';
import { SHOW_PICKER_CONFIG, SHOW_SIDECAR } from '../known-faults/pickers/commands.js';
import { type PickerRefusal, pickerRefusalIn } from '../logs/general/picker-config-errors.js';
import { settingFix } from './setting-fix.js';

const WHY =
  'Names of plugins and of their parameters change between versions. The picker does not start, or runs without the scorer, and the gateway then sends requests anywhere or nowhere.';
const WHY_FLAGS =
  'The picker checks its arguments before it reads its configuration, and ends at the first that it does not take.';

/** How Go names the type that a parameter has, and how YAML writes it. */
const TYPES: readonly (readonly [type: RegExp, written: string])[] = [
  [/^\[\]/, 'a list ([a, b])'],
  [/^(?:u?int|float)/, 'a number without quotes'],
  [/^bool/, 'true or false without quotes'],
  [/^string/, 'text in quotes'],
  [/Duration/, 'a time in quotes ("30s")'],
];

/** Corrects the one entry of an EndpointPickerConfig that the sentence names. */
export function pickerConfig(sentence: string): ProposedFix {
  const ofSidecar = /^llm-d's sidecar: (.+)$/.exec(sentence)?.[1];
  if (ofSidecar !== undefined) return sidecarFlags(ofSidecar);
  const flags = flagsOf(sentence);
  if (flags !== undefined) return settingFix(`${flags} (kubectl edit deploy PICKER)`, WHY_FLAGS, []);
  const refusal = pickerRefusalIn(sentence);
  const change = refusal === undefined ? undefined : changeOf(refusal);
  return settingFix(
    change ??
      'Write an EndpointPickerConfig that this version accepts (kubectl edit configmap): plugins that it has, each named in plugins before a profile refers to it',
    WHY,
    change === undefined ? [] : [SHOW_PICKER_CONFIG],
  );
}

function changeOf({ plugin, said }: PickerRefusal): string {
  const where =
    plugin === ''
      ? 'in the EndpointPickerConfig'
      : `in the parameters of ${plugin}, under plugins of the EndpointPickerConfig`;
  const [, yamlLine] = /(?<![\w.])yaml: (?:unmarshal errors: )?line (\d{1,5}): /.exec(said) ?? [];
  if (yamlLine !== undefined || /(?<![\w.])yaml: /.test(said))
    return `Correct the YAML of the EndpointPickerConfig${yamlLine === undefined ? '' : ` at line ${yamlLine} and the one above it`} (${said.slice(said.indexOf('yaml: ') + 6)}): spaces for indentation, text with ": " in quotes`;
  if (/at least one scheduling profile/.test(said))
    return 'Add schedulingProfiles: [{ name: default, plugins: [{ pluginRef: NAME }, …] }] with the names under plugins to the EndpointPickerConfig';
  const [, field, type = ''] =
    /json: cannot unmarshal \w{1,12} into Go (?:struct field \w{1,80}\.)?([\w.]{1,80}) of type (\S{1,60})/.exec(
      said,
    ) ??
    /json: cannot unmarshal \w{1,12} into Go (value) of type (\S{1,60})/.exec(said) ??
    [];
  if (field !== undefined) {
    const written = TYPES.find(([pattern]) => pattern.test(type))?.[1] ?? `a ${type}`;
    return `Write ${field === 'value' ? 'the parameters' : field} as ${written} ${where}`;
  }
  const [, unknown] = /unknown field "([\w.]{1,80})"/.exec(said) ?? [];
  if (unknown !== undefined) return `Delete ${unknown} ${where}, or spell it as this version does`;
  const [, missing] =
    /(?:^| )([a-z]\w{0,40}(?:[A-Z]\w{0,40}|\.\w{1,40}|\[\d{1,3}\])\S{0,60}) is required\b/.exec(said) ?? [];
  if (missing !== undefined) return `Set ${missing} ${where}: it has no default`;
  if (/requires parameters/.test(said)) return `Give the plugin its parameters ${where} (${said})`;
  const [, key, wanted] =
    /(?:^| )"?([a-z]\w{1,40}(?:\.\w{1,40}){0,3})"?(?: parameter of [\w -]{1,60})? ((?:must|cannot|should) [^,]{2,100})/.exec(
      said,
    ) ?? [];
  if (key !== undefined) return `Correct ${key} ${where}: it ${wanted}`;
  const [, option, given] = /unsupported (\w{1,40}):? "([^"]{0,60})"/.exec(said) ?? [];
  if (option !== undefined)
    return `Set ${option} in place of "${given}" to a value of this version ${where} (${said})`;
  const [, absent] =
    /(?:plugin|reference to) ['"]?([\w.-]{1,80})['"]? (?:not found|is not registered|does not exist)/.exec(
      said,
    ) ?? [];
  if (absent !== undefined)
    return `Add ${absent} under plugins of the EndpointPickerConfig ({ type: ${absent} }), or correct the section that refers to it`;
  return `Correct ${plugin === '' ? 'the section that it names' : plugin} ${plugin === '' ? where : 'under plugins of the EndpointPickerConfig'}: ${said}`;
}

/** What the picker says of its arguments. */
function flagsOf(sentence: string): string | undefined {
  const said = /^Failed to validate flags: (.+)$/.exec(sentence)?.[1];
  if (said === undefined) return undefined;
  const [, one, other] = /\bthe "([\w-]{2,60})" and "([\w-]{2,60})" flags\b/.exec(said) ?? [];
  if (one !== undefined && other !== undefined)
    return /both the/.test(said)
      ? `Start the endpoint picker with one of --${one} and --${other}, without the other`
      : `Start the endpoint picker with --${one} or with --${other}`;
  const [, invalid] =
    /^invalid ([a-z][\w-]{2,60})\b/.exec(said) ??
    /^(?:flag )?"?([a-z]\w{0,30}(?:-\w{1,30}){1,5})"? /.exec(said) ??
    [];
  return invalid === undefined
    ? `Correct the arguments of the endpoint picker: ${said}`
    : `Correct --${invalid} of the endpoint picker: ${said}`;
}

/** What the routing sidecar says of its own: flags with what they take. */
function sidecarFlags(said: string): ProposedFix {
  const flag = /--[a-z][\w-]{2,60}/.exec(said)?.[0];
  const [, one, other] = /^flags (--[\w-]{2,60}) and (--[\w-]{2,60}) are mutually exclusive/.exec(said) ?? [];
  const [, wanted] =
    /^--[\w-]{2,60} ((?:must|cannot|requires) .{2,120}?)(?:, got .{1,60})?$/.exec(said) ?? [];
  const change =
    one !== undefined && other !== undefined
      ? `Start the sidecar with one of ${one} and ${other}, without the other`
      : flag === undefined
        ? `Correct the arguments of the sidecar: ${said}`
        : wanted === undefined
          ? `Correct ${flag} of the sidecar: ${said}`
          : `Correct ${flag} of the sidecar: it ${wanted}`;
  return settingFix(
    `${change} (kubectl edit, initContainers of the decode pods)`,
    'The sidecar checks its arguments before it listens; without it nothing answers at the port of the decode pod to which requests go.',
    [SHOW_SIDECAR],
  );
}
