import { TRTLLM } from '../../../../engines/trtllm/descriptor.js';
import type { Fleet } from '../facts/fleet.js';
import {
  besidePrefill,
  movesNothing,
  type PairFacts,
  readPairFacts,
  roleByPlace,
} from '../facts/pair-facts.js';
import { modelSettingOf, type WorkerFacts } from '../facts/worker-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';
import { textAt } from '../text/span.js';
import { valueFindings } from './pair-values.js';
import { sizesOf } from './worker-sizes.js';

const rule: Rule = {
  id: 'pair-settings',
  severity: 'error',
  summary: 'A prefill and a decode worker of one model differ in what both must share.',
  explanation:
    'Engines compare their KV blocks before the first transfer and refuse each other where dtype, KV cache dtype, connector, attention kernel (vLLM) or (SGLang, TensorRT-LLM) the tokens of a block differ. Both answer their health checks, and every request that is divided between them fails, or is computed again by the decode worker.',
};

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
    ? [...blockFindings(prefill, decode), ...valueFindings(rule, prefill, decode)]
    : [...valueFindings(rule, prefill, decode), ...connectorFindings(prefill, decode)];
}

/** Each decode worker beside the first prefill worker that it can be meant for; with `isByPlace` also those that only their place shows. */
export function pairsIn(fleet: Fleet, isByPlace = false): readonly (readonly [PairFacts, PairFacts])[] {
  return partnersIn(fleet, isByPlace).flatMap(([decode, [prefill]]) =>
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
    if (movesNothing(worker)) return [];
    const found = readPairFacts(worker) ?? besidePrefill(worker);
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

/** By the name of the model; because one object that names none has both; or because a script writes the same variable for both. */
function areOneModel(one: WorkerFacts, other: WorkerFacts): boolean {
  if (one.model !== undefined || other.model !== undefined) return one.model === other.model;
  const object = one.launch.site?.object;
  if (object !== undefined) return object === other.launch.site?.object;
  const [ours, theirs] = [one, other].map(({ launch }) => modelSettingOf(launch)?.span);
  if (ours === undefined || theirs === undefined || ours.source !== theirs.source) return false;
  return textAt(ours).includes('$') && textAt(ours) === textAt(theirs);
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
