import { TRTLLM } from '../../../../engines/trtllm/descriptor.js';
import { readEngineConfig } from '../config/engine-config.js';
import { attentionBackendOf } from '../facts/attention-backend.js';
import type { PairFacts } from '../facts/pair-facts.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { flagOf, isFilledIn } from '../launches/settings.js';

/** A value that both roles of a pair must have. */
interface SharedValue {
  readonly of: (launch: Launch) => SettingValue | undefined;
  /** As a message calls it; else by the name under which it is written. */
  readonly label?: string;
  /** Whether 8 bits on one side alone are worth a word. Not with TensorRT-LLM, whose checkpoints of FP8 and FP4 say it themselves. */
  readonly isCacheDtype?: boolean;
  /** Whether the program reads it for sure. */
  readonly isCertain?: (launch: Launch) => boolean;
}

const byFlag = (flag: string, isCacheDtype = false): SharedValue => ({
  of: (launch) => flagOf(launch, flag),
  isCacheDtype,
});

const VALUES: Readonly<Record<'vllm' | 'sglang' | 'trtllm', readonly SharedValue[]>> = {
  vllm: [
    byFlag('--dtype'),
    byFlag('--kv-cache-dtype', true),
    {
      of: (launch) => attentionBackendOf(launch)?.setting,
      isCertain: (launch) => attentionBackendOf(launch)?.isCertain !== false,
    },
  ],
  sglang: [byFlag('--dtype'), byFlag('--kv-cache-dtype', true), byFlag('--page-size')],
  // `inquireSupport` of the cache formatters looks at the data type (and the tokens of a block), `getConnections` at the kind of the peer.
  trtllm: [
    {
      of: (launch) => readEngineConfig(launch).kvCacheDtype,
      label: 'kv_cache_config.dtype',
    },
    {
      of: (launch) => readEngineConfig(launch).transferBackend,
      label: 'cache_transceiver_config.backend',
    },
  ],
};

/** Other words for one dtype. */
const SAME: ReadonlyMap<string, string> = new Map([
  ['half', 'float16'],
  ['float', 'float32'],
  ['bf16', 'bfloat16'],
  ['fp8', 'fp8_e4m3'],
]);

/** Words that leave the value to the checkpoint or to the release. */
const OPEN = /^(?:auto|default)$/i;

/** Values in which a prefill and a decode worker differ. */
export function valueFindings(rule: Rule, prefill: PairFacts, decode: PairFacts): readonly Finding[] {
  const { backend } = decode.worker.launch;
  const values = VALUES[backend === 'sglang' ? 'sglang' : backend === TRTLLM.word ? 'trtllm' : 'vllm'];
  return values.flatMap((value) => {
    const ours = value.of(decode.worker.launch);
    const theirs = value.of(prefill.worker.launch);
    return areDifferent(ours, theirs)
      ? [differing(rule, value, [decode, ours], [prefill, theirs])]
      : value.isCacheDtype === true
        ? oneSided(rule, value, [decode, ours], [prefill, theirs])
        : [];
  });
}

type Side<T = SettingValue> = readonly [PairFacts, T];

function areDifferent(ours: SettingValue | undefined, theirs: SettingValue | undefined): boolean {
  const [one, other] = [ours?.value, theirs?.value];
  if (one === undefined || other === undefined || OPEN.test(one) || OPEN.test(other)) return false;
  return !isFilledIn(one) && !isFilledIn(other) && plain(one) !== plain(other);
}

function differing(
  rule: Rule,
  { label, isCertain }: SharedValue,
  [decode, ours]: Side<SettingValue | undefined>,
  [prefill, theirs]: Side<SettingValue | undefined>,
): Finding {
  const [one, other] = [decode.worker.launch, prefill.worker.launch];
  const isSure = isCertain === undefined || (isCertain(one) && isCertain(other));
  const name = label ?? ours?.name ?? '';
  return findingAt(rule, ours?.span ?? one.at, {
    ...(isSure
      ? {}
      : {
          severity: 'warning' as const,
          consequence: `${rule.explanation} From vLLM 0.14 on nobody reads ${name}, and both take what suits their GPU.`,
        }),
    message: `${nameOf(one)} has ${name} ${ours?.value ?? ''}, and ${nameOf(other)}, its partner for the same model, ${theirs?.value ?? ''}`,
    advice: `Give both roles the same ${name}.`,
    related:
      theirs === undefined
        ? []
        : [{ span: theirs.span, says: `${label ?? theirs.name} is ${theirs.value ?? ''}` }],
  });
}

/** A KV cache of 8 bits on one side, and the model's own on the other. */
function oneSided(
  rule: Rule,
  { label }: SharedValue,
  decode: Side<SettingValue | undefined>,
  prefill: Side<SettingValue | undefined>,
): readonly Finding[] {
  const [[one, set], [other, left]] = isEightBits(decode[1]) ? [decode, prefill] : [prefill, decode];
  const isLeftOpen = left === undefined || (left.value !== undefined && OPEN.test(left.value));
  if (set === undefined || !isEightBits(set) || !isLeftOpen || other.worker.launch.hasUnseenArgs) return [];
  const name = label ?? set.name;
  return [
    findingAt(rule, set.span, {
      severity: 'warning',
      message: `${nameOf(one.worker.launch)} has ${name} ${set.value ?? ''}, and ${nameOf(other.worker.launch)}, its partner for the same model, has ${left?.value ?? 'none'}`,
      advice: `Give both roles the same ${name}.`,
      related: [{ span: left?.span ?? other.worker.launch.at, says: 'the other role' }],
    }),
  ];
}

function isEightBits(setting: SettingValue | undefined): boolean {
  return setting?.value?.toLowerCase().startsWith('fp8') === true;
}

function plain(value: string): string {
  const lower = value
    .trim()
    .toLowerCase()
    .replace(/^torch\.|_vllm_v1$/g, '');
  return SAME.get(lower) ?? lower;
}
