import type { Address } from '../../edge/platform/address.js';
import { nearest } from './wrong-value.js';

/** A value of any setting. */
export type SettingValue = string | number | boolean | Address | readonly string[] | undefined;

/** What came of a text. */
export type ParsedValue =
  | { readonly ok: true; readonly value: SettingValue }
  | {
      readonly ok: false;
      /** What would have been right, to follow "must be". */
      readonly allowed: string;
      /** The part that is wrong, where it is not the whole text. */
      readonly part?: string;
      /** The allowed word that was most likely meant. */
      readonly nearestWord?: string;
    };

/** Longest item of a list, and longest text where the table says nothing else. */
export const MAX_TEXT_LENGTH = 1024;

/** What a wrong text adds to its answer: the allowed word that was most likely meant, where there is one. */
export function nearestWordOf(text: string, words: readonly string[]): { nearestWord?: string } {
  const nearestWord = nearest(text, words);
  return nearestWord === undefined ? {} : { nearestWord };
}
