import { isBefore } from '../../../../engines/descriptor/default-size.js';
import { askedWorkers } from '../facts/asked-workers.js';
import { areOtherFamilies, servedNames, tokenizerOf } from '../facts/model-names.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { isLlmdPicker, type Launch, nameOf } from '../launches/launch.js';
import { flagOf } from '../launches/settings.js';
import { textOfWord, UNKNOWN } from '../shell/words.js';

const rule: Rule = {
  id: 'picker-model-differs',
  severity: 'warning',
  summary: 'The endpoint picker of llm-d looks for another model than its workers have.',
  explanation:
    'The picker looks a prompt up by its tokens and by the model of the request. With the tokens of another model, or under another name, it finds no block of the worker, and no request fails.',
};

/** The first release that has the model of its tokenizer in its configuration; before, it was that of the request (`pkg/tokenization` of llm-d-kv-cache). */
const SINCE = { major: 0, minor: 5 };

/** A picker whose model is not that of its workers: by its tokenizer, or by the topic of their events. */
export const pickerModelDiffers: LintRule = {
  rule,
  check: (fleet) => {
    const [picker, ...others] = fleet.gateways.filter(({ gateway }) => isLlmdPicker(gateway));
    if (picker === undefined || others.length > 0) return [];
    return askedWorkers(fleet, picker).flatMap(({ launch }) => [
      ...otherTokenizer(launch, picker),
      ...otherName(launch, picker),
    ]);
  },
};

const OWN =
  'Prompts have other tokens, or another chat template, than the worker computes: the picker finds no block of it, without an error.';

/** Of a data producer that fails the picker writes a line, and goes on without it (`director.go`). */
const RENDERED =
  'The picker has each prompt rendered under that name by a vLLM. One that serves another model refuses it: the picker logs that its data producer failed, and picks without looking the prompt up. One that serves that model makes other tokens than the worker computes, and the picker finds no block of it, without an error.';

function otherTokenizer(worker: Launch, { program, gateway }: Launch): readonly Finding[] {
  const { tokenizerModel, release } = gateway ?? {};
  const own = tokenizerOf(worker);
  const isRead = release === undefined || !isBefore(release, SINCE);
  if (own === undefined || tokenizerModel?.value === undefined || !isRead) return [];
  if (!areOtherFamilies(tokenizerModel.value, own.value)) return [];
  return [
    findingAt(rule, own.span, {
      message: `${nameOf(worker)} serves ${own.value}, and ${program} makes tokens by ${tokenizerModel.value}`,
      consequence: tokenizerModel.isRendered === true ? RENDERED : OWN,
      advice: `Set modelName of the picker's tokenizer to ${/^[./~]/.test(own.value) ? `the model in ${own.value}` : own.value}${tokenizerModel.isRendered === true ? ', and let the vLLM that renders its prompts serve that' : ''}; one picker is for one model.`,
      related: [{ span: tokenizerModel.span, says: `modelName is ${tokenizerModel.value}` }],
    }),
  ];
}

/** `kv@POD@MODEL`: the picker keeps what events say under this model, and looks for the model of the request. */
function otherName(worker: Launch, { program, at }: Launch): readonly Finding[] {
  const config = flagOf(worker, '--kv-events-config');
  const [, model] =
    /"topic"\s*:\s*"[^"@]*@[^"@]*@([^"@]+)"/.exec(config === undefined ? '' : textOfWord(config)) ?? [];
  const names = servedNames(worker);
  if (config === undefined || model === undefined || names === undefined) return [];
  if (new RegExp(`${UNKNOWN}|[$<>{}\\\\]`).test(model) || names.includes(model)) return [];
  return [
    findingAt(rule, config.span, {
      message: `${nameOf(worker)} publishes its KV events for the model ${model}, and serves it as ${names.join(', ')}`,
      advice: `Let the topic of --kv-events-config end in the name that requests have: kv@POD@${names[0] ?? 'MODEL'}.`,
      related: [{ span: at, says: `${program} reads KV events` }],
    }),
  ];
}
