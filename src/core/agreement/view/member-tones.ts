import type { MemberView } from './snapshot.js';

/** How a member stands, in tables and pages: `bad` wants an operator, `warn` may come right by itself. */
type MemberTone = 'good' | 'warn' | 'bad' | 'plain';

/** All states of a member with their tones, worst first: the order of rows, and of counts. */
export const MEMBER_TONES: ReadonlyMap<MemberView['state'], MemberTone> = new Map([
  ['dissenting', 'bad'],
  ['incomplete', 'warn'],
  ['lost', 'warn'],
  ['discovered', 'warn'],
  ['draining', 'plain'],
  ['reported', 'plain'],
  ['conforming', 'good'],
  ['verified', 'good'],
]);

/** 0 of the worst state; those that are not known come first. */
export const MEMBER_RANKS: ReadonlyMap<string, number> = new Map(
  [...MEMBER_TONES.keys()].map((state, rank) => [state, rank]),
);
