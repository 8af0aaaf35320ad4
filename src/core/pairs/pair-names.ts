import { workerName } from '../text/worker-name.js';
import type { Entry } from './pair-role.js';

/** A member as it is named to people. */
export function entryName({ member }: Entry): string {
  return workerName(member);
}

/** A pair as it is named to people: `prefill-0 → decode-0`. */
export function pairName(prefill: Entry, decode: Entry): string {
  return `${entryName(prefill)} → ${entryName(decode)}`;
}
