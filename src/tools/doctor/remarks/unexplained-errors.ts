import { countOf } from '../../../core/text/lists.js';
import type { Origin } from '../evidence.js';
import { withoutWriterOf } from '../fixes/lmcache-parts.js';
import type { UnexplainedErrors } from '../logs/log-summary.js';
import { ownAdviceIn } from '../logs/own-advice.js';
import { quotedLine } from '../logs/quoted-line.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Remark } from './remark.js';

/** Lines at error level that no rule knows, of all logs. Undefined where every line at error level was understood. */
export function unexplainedErrorsIn({ evidence, seen }: Measurements): Remark | undefined {
  const found = evidence.logs.flatMap(({ unexplainedErrors }) => unexplainedErrors ?? []);
  const [first] = found;
  if (first === undefined) return undefined;
  const most = found.reduce((best, one) => (one.most.count > best.most.count ? one : best)).most;
  const count = countText(found);
  const times = `${most.count} times`;
  const isOther = most.origin.place !== first.first.place;
  const frequent = isOther ? ` The most frequent, ${times}: ${quoted(most.origin)}.` : ` It comes ${times}.`;
  const isOne = found.length === 1 && first.count === 1;
  const names = [
    ...seen.engines.map(({ displayName }) => displayName),
    ...seen.others.filter(({ role }) => role !== 'library').map(({ name }) => name),
  ];
  const whose = names.length === 1 ? names[0] : 'the program';
  const advice = ownAdviceIn(first.first.text);
  const without = withoutWriterOf(first.first.text);
  return {
    headline: `No cause is known: no rule knows ${count} at error level; the first is "${quotedLine(first.first.text)}"`,
    says: `What ${count} at error level ${isOne ? 'means' : 'mean'}: no rule knows ${isOne ? 'it' : 'them'}. The first is at ${first.first.place}.${most.count > 1 ? frequent : ''}`,
    ask: `${advice === undefined ? 'Look at' : `Do what the program asks for ("${advice}"): see`} ${first.first.place} and the lines before it: the first error is the reason as a rule; search the issues of ${without === undefined ? whose : 'LMCache'} for its sentence${without === undefined ? '' : `; ${without}`}`,
  };
}

function countText(found: readonly UnexplainedErrors[]): string {
  const count = found.reduce((sum, one) => sum + one.count, 0);
  return `${countOf(count, 'line')}${found.some(({ isMore }) => isMore) ? ' and more' : ''}`;
}

function quoted({ place, text }: Origin): string {
  return `"${quotedLine(text)}" (${place})`;
}
