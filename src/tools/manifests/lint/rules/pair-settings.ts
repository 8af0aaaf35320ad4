import { TRTLLM } from '../../../../engines/trtllm/descriptor.js';
import type { Fleet } from '../facts/fleet.js';
import { type PairFacts, readPairFacts, roleByPlace } from '../facts/pair-facts.js';
import type { WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf } from '../launches/settings.js';
import { sizesOf } from './worker-sizes.js';

const rule: Rule = {
  id: 'pair-settings',
  severity: 'error',
  summary: 'A prefill and a decode worker of one model differ in what both must share.',
  explanation:
    'Engines compare their KV blocks before the first transfer and refuse each other where dtype, KV cache dtype, connector or (SGLang, TensorRT-LLM) the tokens of a block differ. Both answer their health checks, and every request that is divided between them fails, or is computed again by the decode worker.',
};

/** What both must have, by the flags of an engine. */
const FLAGS = {
  vllm: [['--dtype'], ['--kv-cache-dtype', '--kv_cache_dtype'], ['--attention-backend']],
  sglang: [['--dtype'], ['--kv-cache-dtype'], ['--page-size']],
} as const;

/** Other words for one dtype. */
const SAME: ReadonlyMap<string, string> = new Map([
  ['half', 'float16'],
  ['float', 'float32'],
  ['bf16', 'bfloat16'],
  ['fp8', 'fp8_e4m3'],
]);

/** Prefill and decode workers of one model and one engine. */
export const pairSettings: LintRule = {
  rule,
  check: (fleet) =>
    partnersIn(fleet, true).flatMap(([decode, prefills]) => {
      const found = prefills.map((prefill) => findingsOf(prefill, decode));
      // Of several pairs of one model each has a partner of its own.
      return found.some((one) => one.length === 0) ? [] : (found[0] ?? []);
    }),
};

function findingsOf(prefill: PairFacts, decode: PairFacts): readonly Finding[] {
  return decode.worker.launch.backend === TRTLLM.word
    ? blockFindings(prefill, decode)
    : [...flagFindings(prefill, decode), ...connectorFindings(prefill, decode)];
}

/** Each decode worker beside the first prefill worker that it can be meant for. */
export function pairsIn(fleet: Fleet): readonly (readonly [PairFacts, PairFacts])[] {
  return partnersIn(fleet, false).flatMap(([decode, [prefill]]) =>
    prefill === undefined ? [] : [[prefill, decode] as const],
  );
}

/**
 * Each decode worker with the prefill workers of its model and engine; with `isByPlace` also those that only their place
 * in an object shows, of which a controller may write a part.
 */
function partnersIn(
  { workers }: Fleet,
  isByPlace: boolean,
): readonly (readonly [PairFacts, readonly PairFacts[]])[] {
  const facts = workers.flatMap((worker) => {
    const found = readPairFacts(worker);
    if (found === undefined) return isByPlace && worker.launch.backend === 'vllm' ? placed(worker) : [];
    return [isByPlace ? { ...found, role: found.role ?? roleByPlace(worker) } : found];
  });
  const prefills = facts.filter(({ role }) => role === 'prefill');
  return facts
    .filter(({ role }) => role === 'decode')
    .map((decode) => [
      decode,
      prefills.filter(
        ({ worker }) =>
          areOneModel(worker, decode.worker) && worker.launch.backend === decode.worker.launch.backend,
      ),
    ]);
}

function placed(worker: WorkerFacts): readonly PairFacts[] {
  const role = roleByPlace(worker);
  return role === undefined
    ? []
    : [{ worker, role, connector: undefined, usesNixl: false, kvRole: undefined, setting: undefined }];
}

/** By the name of the model, or because one object that names none has both. */
function areOneModel(one: WorkerFacts, other: WorkerFacts): boolean {
  const object = one.launch.site?.object;
  return one.model === undefined
    ? other.model === undefined && object !== undefined && object === other.launch.site?.object
    : one.model === other.model;
}

/** TensorRT-LLM's servers send blocks as they are: those of another size are refused. */
function blockFindings(prefill: PairFacts, decode: PairFacts): readonly Finding[] {
  const ours = decode.worker.engine;
  const theirs = prefill.worker.engine;
  const setting = ours?.setting ?? theirs?.setting;
  if (ours === undefined || theirs === undefined || setting === undefined || ours.tokens === theirs.tokens)
    return [];
  return [
    findingAt(rule, setting.span, {
      message: `${nameOf(decode.worker.launch)} has ${ours.tokens} tokens in a block${ours.setting === undefined ? ' by default' : ''}, and ${nameOf(prefill.worker.launch)}, its partner for the same model, ${theirs.tokens}${theirs.setting === undefined ? ' by default' : ''}`,
      advice: 'Give both roles the same kv_cache_config.tokens_per_block.',
      related: sizesOf([prefill.worker, decode.worker]),
    }),
  ];
}

function flagFindings(prefill: PairFacts, decode: PairFacts): readonly Finding[] {
  const backend = decode.worker.launch.backend === 'sglang' ? 'sglang' : 'vllm';
  return FLAGS[backend].flatMap((names) => {
    const ours = flagOf(decode.worker.launch, ...names);
    const theirs = flagOf(prefill.worker.launch, ...names);
    const differ =
      ours?.value !== undefined &&
      theirs?.value !== undefined &&
      plain(ours.value) !== plain(theirs.value) &&
      // What `auto` is, the checkpoint says.
      ours.value !== 'auto' &&
      theirs.value !== 'auto';
    return differ
      ? [differing(prefill, decode, ours, theirs)]
      : oneSided(prefill, decode, names, ours, theirs);
  });
}

/** A KV cache of 8 bits on one side, and the model's own on the other. */
function oneSided(
  prefill: PairFacts,
  decode: PairFacts,
  names: readonly string[],
  ours: SettingValue | undefined,
  theirs: SettingValue | undefined,
): readonly Finding[] {
  const [one, other] = ours === undefined ? [prefill, decode] : [decode, prefill];
  const set = ours ?? theirs;
  const isLone = (ours === undefined) !== (theirs === undefined);
  if (names[0] !== '--kv-cache-dtype' || !isLone || set?.value?.startsWith('fp8') !== true) return [];
  if (other.worker.launch.hasUnseenArgs) return [];
  return [
    findingAt(rule, set.span, {
      severity: 'warning',
      message: `${nameOf(one.worker.launch)} has ${set.name} ${set.value}, and ${nameOf(other.worker.launch)}, its partner for the same model, has none`,
      advice: `Give both roles the same ${set.name}.`,
      related: [{ span: other.worker.launch.at, says: 'the other role' }],
    }),
  ];
}

function connectorFindings(prefill: PairFacts, decode: PairFacts): readonly Finding[] {
  if (prefill.connector === undefined || decode.connector === undefined) return [];
  const [one, other] = decode.setting === undefined ? [prefill, decode] : [decode, prefill];
  if (prefill.connector === decode.connector || one.setting === undefined) return [];
  return [
    findingAt(rule, one.setting.span, {
      message: `${nameOf(one.worker.launch)} exchanges KV blocks by ${one.connector}, and ${nameOf(other.worker.launch)}, its partner for the same model, by ${other.connector}${other.setting === undefined ? ' (the default)' : ''}`,
      advice: 'Give both roles the same connector.',
      related: [{ span: other.setting?.span ?? other.worker.launch.at, says: 'the other role' }],
    }),
  ];
}

function differing(prefill: PairFacts, decode: PairFacts, ours: SettingValue, theirs: SettingValue): Finding {
  return findingAt(rule, ours.span, {
    message: `${nameOf(decode.worker.launch)} has ${ours.name} ${ours.value}, and ${nameOf(prefill.worker.launch)}, its partner for the same model, ${theirs.value}`,
    advice: `Give both roles the same ${ours.name}.`,
    related: [{ span: theirs.span, says: `${theirs.name} is ${theirs.value}` }],
  });
}

function plain(value: string): string {
  const lower = value
    .trim()
    .toLowerCase()
    .replace(/^torch\./, '');
  return SAME.get(lower) ?? lower;
}
