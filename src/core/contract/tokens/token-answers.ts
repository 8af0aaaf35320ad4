import { type CapabilityReport, EngineKind } from '../../../gen/kvaccord/v1/capabilities.js';
import { ENGINE_WORDS, engineWordOf } from '../wire/engine-kinds.js';
import { PROBE_PROMPTS, unpackTokenIds } from './token-probes.js';

/**
 * What a worker makes of one probe, as a field of the contract that workers
 * are compared by: `tokens.message`, or `tokens.tools.vllm` for a probe that
 * is compared among engines of one kind.
 */
export type TokenField = `tokens.${string}`;

/** What workers make of the probes, by field; what is not known is absent. */
export type TokenValues = Readonly<Partial<Record<TokenField, string>>>;

/** The fields in which workers of one model must not differ, in the order in which a difference is named. */
export const TOKEN_FIELDS: readonly TokenField[] = PROBE_PROMPTS.flatMap(({ name, isShapedByEngine }) => [
  ...(isShapedByEngine ? [] : [`tokens.${name}` as const]),
  ...ENGINE_WORDS.map((kind): TokenField => `tokens.${name}.${kind}`),
]);

/** Probes that engines of different kinds may answer differently: a difference is worth a remark. */
export const SHAPED_TOKEN_FIELDS: readonly TokenField[] = PROBE_PROMPTS.flatMap(
  ({ name, isShapedByEngine }) => (isShapedByEngine ? [`tokens.${name}` as const] : []),
);

/**
 * Value of a probe that the engine refused, and of one that it took. Whether
 * a prompt is refused (a model without a chat template, say) depends on the
 * kind of engine, so it is compared among engines of one kind.
 */
const REFUSED = 'refused';
const TAKEN = 'taken';
/** Bytes of a digest that are compared: 128 bits, as hex. */
const COMPARED_BYTES = 16;

/** One probe's answer, for naming where two differ. */
export interface ProbeAnswer {
  readonly name: string;
  readonly isRefused: boolean;
  /** The template writes the day: texts were compared, and there is no position to name. */
  readonly isUndated: boolean;
  readonly tokenCount: number;
  /** The first ids, u32 little-endian; shared with the report. */
  readonly tokenIds: Uint8Array;
}

/** Whether a field of the contract is about tokens. */
export function isTokenField(field: string): field is TokenField {
  return field.startsWith('tokens.');
}

/** `tools` of `tokens.tools.vllm`. */
export function probeOf(field: TokenField): string {
  return field.split('.')[1] ?? '';
}

/** Whether a probe shows the tokenizer alone; else it shows the chat template as well. */
export function isTextProbe(name: string): boolean {
  return PROBE_PROMPTS.some((prompt) => prompt.name === name && 'prompt' in prompt.body);
}

/** The values that a report states. A probe that this version does not know is left out. */
export function tokenValuesOf(report: CapabilityReport): TokenValues {
  const { model, engine } = report;
  const values: Partial<Record<TokenField, string>> = {};
  if (model === undefined || model.tokenProbes.length === 0) return values;
  const kind = engineWordOf(engine?.kind ?? EngineKind.OTHER);
  for (const { name, isShapedByEngine } of PROBE_PROMPTS) {
    const probe = model.tokenProbes.find((each) => each.name === name);
    if (probe === undefined) continue;
    const digest = digestText(probe.sha256, probe.isUndated);
    if (probe.isRefused) values[`tokens.${name}.${kind}`] = REFUSED;
    else if (digest !== undefined) {
      values[`tokens.${name}`] = digest;
      values[`tokens.${name}.${kind}`] = isShapedByEngine ? digest : TAKEN;
    }
  }
  return values;
}

/** The answers of a report, for words about them. */
export function probeAnswersOf({ model }: CapabilityReport): readonly ProbeAnswer[] {
  return model?.tokenProbes ?? [];
}

/** The first position at which two answers differ and the ids there; undefined where it cannot be named. */
export function whereAnswersDiffer(
  one: ProbeAnswer,
  other: ProbeAnswer,
):
  | { readonly position: number; readonly one: number | undefined; readonly other: number | undefined }
  | undefined {
  if (one.isRefused || other.isRefused || one.isUndated || other.isUndated) return undefined;
  const [a, b] = [unpackTokenIds(one.tokenIds), unpackTokenIds(other.tokenIds)];
  const shared = Math.min(a.length, b.length);
  for (let position = 0; position < shared; position += 1)
    if (a[position] !== b[position]) return { position, one: a[position], other: b[position] };
  // Where ids were left out on both sides, it is not known.
  const isWhole = a.length === one.tokenCount || b.length === other.tokenCount;
  return isWhole && one.tokenCount !== other.tokenCount
    ? { position: shared, one: a[shared], other: b[shared] }
    : undefined;
}

function digestText(sha256: Uint8Array, isUndated: boolean): string | undefined {
  if (sha256.length < COMPARED_BYTES) return undefined;
  const digits = [...sha256.subarray(0, COMPARED_BYTES)].map((byte) => byte.toString(16).padStart(2, '0'));
  return `${isUndated ? 'undated:' : ''}${digits.join('')}`;
}
