import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import type { CheckResult } from '../diagnosis.js';
import type { Origin, SettingSighting } from '../evidence.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Traffic } from '../memory/traffic.js';

/** What questions are answered from. */
export interface Asked {
  readonly measurements: Measurements;
  readonly traffic: Traffic;
}

/** One question that an investigation of KV-aware routing asks, whatever the cause. */
export interface Check {
  /** In snake_case, for programs. */
  readonly id: string;
  /** What is asked, as a question. */
  readonly asks: string;
  /** The answer with its numbers, or which input is missing and how to give it. */
  answer(asked: Asked): Reply;
}

/** An answer, or what is missing for one. */
export type Reply = Pick<CheckResult, 'answer' | 'origin' | 'missing'>;

/** An answer with its numbers. */
export function answered(answer: string, origin?: Origin): Reply {
  return { answer, origin, missing: undefined };
}

/** Which input is missing, and how it is given. */
export function missing(what: string): Reply {
  return { answer: undefined, origin: undefined, missing: what };
}

/** The settings of one name in a sentence: `0.85 (worker a), 0.9 by default (worker b)`; undefined without any. */
export function settingText(
  { settings }: Measurements,
  name: SettingName,
): { readonly text: string; readonly origin: Origin } | undefined {
  const all = settings(name);
  const [first] = all;
  if (first === undefined) return undefined;
  const values = [...new Set(all.map(valueText))];
  return { text: values.slice(0, MAX_VALUES).join(', '), origin: first.origin };
}

/** Values that one sentence names. */
const MAX_VALUES = 4;

function valueText({ value, isDefault }: SettingSighting): string {
  return isDefault ? `${value} by default` : value;
}
