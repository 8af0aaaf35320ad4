import { countOf } from '../../../core/text/lists.js';
import type { ClueFor } from '../confidence.js';
import type { Clue } from '../diagnosis.js';
import type { SettingSighting } from '../evidence.js';
import type { Measurements } from '../measurements/measurements.js';
import { transfersOn, transferTotal } from '../measurements/transfers.js';
import { clueFor, when } from './clues.js';

/** Tokens from another engine that prove that transfers work. */
const MANY_TOKENS = 1_000;

/**
 * Transfers that were counted and none of which failed or expired: what would
 * prevent them did no harm since these engines began.
 */
export function transfersArrive({ evidence }: Measurements): readonly Clue[] {
  const counts = transfersOn(evidence.metrics);
  const arrived = transferTotal(counts, 'arrivedTokens');
  const hasFailed = counts.some(({ failed, expired }) => failed + expired > 0);
  if (arrived === undefined || arrived.value < MANY_TOKENS || hasFailed) return [];
  return [
    {
      says: `${arrived.value} prompt tokens came from another engine, and no transfer failed: transfers work.`,
      origin: arrived.origin,
    },
  ];
}

/** Transfers that failed, by engines' counters and lines: they do not say why. */
export function failedTransfers(measurements: Measurements): readonly ClueFor[] {
  const counted = transferTotal(transfersOn(measurements.evidence.metrics), 'failed');
  return [
    ...when(counted !== undefined && counted.value > 0 && counted, ({ value, origin }) =>
      clueFor('sign', `Engines count ${countOf(value, 'transfer')} that failed.`, origin, 'transfers_fail'),
    ),
    ...when(measurements.signal('transfer_failed'), ({ count, first, values }) => {
      const [reason] = values.keys();
      const why = reason === undefined ? '' : ` (${reason})`;
      return clueFor(
        'sign',
        `${countOf(count, 'line')} of transfers that failed${why}.`,
        first,
        'transfers_fail',
      );
    }),
  ];
}

/** A field in which workers differ, with the workers that have each value. */
export interface Difference {
  readonly field: string;
  readonly values: readonly {
    readonly value: string;
    readonly who: string;
    readonly seen: SettingSighting;
  }[];
}

/** Settings that a prefill and a decode engine of one model must share, by the words of a sentence. */
const SHARED = [
  ['dtype', 'dtype'],
  ['kv_cache_dtype', 'KV cache dtype'],
  ['attention_backend', 'attention backend'],
  ['kv_connector', 'connector'],
  ['engine_version', 'version'],
  ['model', 'model'],
] as const;

/** The fields in which the engines that were seen differ, and that make them refuse each other. */
export function differingFields(measurements: Measurements): readonly Difference[] {
  return SHARED.flatMap(([name, field]): readonly Difference[] => {
    const byValue = new Map<string, Difference['values'][number]>();
    for (const seen of measurements.settings(name)) {
      const value = seen.value.replace(/^torch\./, '');
      if (seen.side !== 'worker' || value === 'auto' || byValue.has(value)) continue;
      byValue.set(value, { value, who: whoseIs(seen), seen });
    }
    const values = [...byValue.values()];
    const isOfSeveral = new Set(values.map(({ who }) => who)).size > 1;
    return values.length > 1 && isOfSeveral ? [{ field, values }] : [];
  });
}

/** A worker by its name, else by the log or the file that speaks of it. */
function whoseIs({ who, origin }: SettingSighting): string {
  return who === '' ? origin.place.replace(/(?::\d{1,9}){1,2}$/, '') : who;
}

/** `dtype: bfloat16 (prefill.log) and float16 (decode.log)` */
export function differenceText({ field, values }: Difference): string {
  const named = values.slice(0, 3).map(({ value, who }) => `${value} (${who})`);
  return `${field}: ${named.join(' and ')}`;
}
