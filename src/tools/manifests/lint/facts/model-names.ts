import type { Launch } from '../launches/launch.js';
import { flagOf } from '../launches/settings.js';
import { UNKNOWN } from '../shell/words.js';
import type { Span } from '../text/span.js';

/** A model as a command names it. */
export interface NamedModel {
  readonly value: string;
  readonly span: Span;
}

/** What is known only at run time, or is filled in by a template. */
const UNKNOWN_PART = new RegExp(`${UNKNOWN}|[$<>{}]`);

/** A name as on Hugging Face, or a folder that is called as one is: `/models/Qwen3-8B`. */
const MODEL_NAME = /^[\w.-]+\/[\w.-]+$|^[\w./~-]*\/[A-Za-z][\w.-]*\d[\w.-]*\/?$/;

/** The model whose tokenizer an engine uses, by its name on Hugging Face or the folder that it is in. */
export function tokenizerOf(launch: Launch): NamedModel | undefined {
  const { value, span } = flagOf(launch, '--tokenizer') ?? modelOf(launch) ?? {};
  return value !== undefined && span !== undefined && MODEL_NAME.test(value) ? { value, span } : undefined;
}

/** The names under which an engine serves its model; undefined where one of them is not known. */
export function servedNames(launch: Launch): readonly string[] | undefined {
  const at = launch.args.findLastIndex(({ value }) => /^--served[-_]model[-_]name$/.test(value ?? ''));
  const own = flagOf(launch, '--served-model-name');
  if (own === undefined) {
    const model = modelOf(launch)?.value;
    return model === undefined || launch.hasUnseenArgs ? undefined : [model];
  }
  if (at === -1) return own.value === undefined ? undefined : [own.value];
  const rest = launch.args.slice(at + 1);
  const end = rest.findIndex(({ value }) => value?.startsWith('-') === true);
  const names = rest.slice(0, end === -1 ? undefined : end).map(({ value }) => value ?? UNKNOWN);
  return names.some((name) => UNKNOWN_PART.test(name)) ? undefined : names;
}

function modelOf(launch: Launch): { readonly value: string | undefined; readonly span: Span } | undefined {
  const flag = flagOf(launch, '--model', '--model-path');
  const [first] = launch.args;
  const named = flag ?? (first?.value?.startsWith('-') === true ? undefined : first);
  return named?.value === undefined || UNKNOWN_PART.test(named.value) ? undefined : named;
}

/** Families whose models have a tokenizer of their own. What somebody has made of one of them may be called anything. */
const FAMILIES: readonly string[] = [
  ...['qwen', 'llama', 'deepseek', 'gemma', 'phi', 'glm', 'kimi', 'granite', 'falcon', 'minimax', 'gpt'],
  ...[
    'mistral',
    'mixtral',
    'ministral',
    'yi',
    'exaone',
    'internlm',
    'baichuan',
    'ernie',
    'opt',
    'smollm',
    'hunyuan',
  ],
];

/** Those of one maker, who gave several the same. */
const SAME: Readonly<Record<string, string>> = { mixtral: 'mistral', ministral: 'mistral' };

/**
 * Whether two models are of families with other tokenizers: by the word that a name begins with, and the number behind it. A name with
 * the word of the other anywhere in it (`DeepSeek-R1-Distill-Llama-8B`) may have its tokenizer.
 */
export function areOtherFamilies(one: string, other: string): boolean {
  const [first, second] = [familyOf(one), familyOf(other)];
  if (first === undefined || second === undefined) return false;
  const has = (name: string, word: string): boolean => name.toLowerCase().includes(word);
  if (first.word !== second.word) return !has(one, second.word) && !has(other, first.word);
  return first.major !== undefined && second.major !== undefined && first.major !== second.major;
}

/** `qwen` and 3 of `Qwen/Qwen3-32B`, `llama` and 3 of `meta-llama/Meta-Llama-3.1-8B`. */
function familyOf(name: string): { readonly word: string; readonly major: string | undefined } | undefined {
  const base = (name.replace(/\/+$/, '').split('/').at(-1) ?? '').toLowerCase().replace(/^meta-/, '');
  const [, word, major] = /^([a-z]{2,})[-_]?(?:(\d{1,2})(?!\d|[\d.]*[bm]\b))?/.exec(base) ?? [];
  return word === undefined || !FAMILIES.includes(word) ? undefined : { word: SAME[word] ?? word, major };
}
