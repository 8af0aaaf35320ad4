/**
 * What 1,000 prefill and 1,000 decode workers cost the book of pairs: a change of one of them, a look-up, the decode workers of
 * one prefill worker, and memory. The floor of a change is judging one pair; that of a look-up is two look-ups in a `Map`.
 */
import { judgeProfiles } from '../src/core/pairs/judge-profiles.js';
import type { PairMember } from '../src/core/pairs/pair-member.js';
import { figure, IS_QUICK, median, title } from './support/figures.js';
import { collectGarbage } from './support/garbage.js';
import { bookOf, memberOf, profileOf, targetOf } from './support/pair-members.js';

const WORKERS = 1_000;
const ROUNDS = IS_QUICK ? 3 : 9;
const CALLS = IS_QUICK ? 200 : 2_000;

/** Microseconds of one call, as the median of the rounds. */
function measured(call: (at: number) => unknown, calls = CALLS): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const startNs = process.hrtime.bigint();
    for (let at = 0; at < calls; at += 1) call(at);
    return Number(process.hrtime.bigint() - startNs) / calls / 1_000;
  });
  return median(rounds);
}

title(`pairs of ${WORKERS.toLocaleString('en')} prefill and ${WORKERS.toLocaleString('en')} decode workers`);
collectGarbage();
const beforeBytes = process.memoryUsage().heapUsed;
const book = bookOf(WORKERS);
collectGarbage();
figure('memory of a worker', (process.memoryUsage().heapUsed - beforeBytes) / (2 * WORKERS), 'bytes');

let instance = 0;
const changed = Array.from({ length: CALLS }, (_, at) => memberOf('decode', at % WORKERS, 1));
const one = profileOf('bfloat16');
const other = profileOf('float16');
figure(
  'floor of a change: one pair is judged',
  measured(() => judgeProfiles(one, other)),
  'us',
);
figure(
  'a worker starts again',
  measured((at) => {
    instance += 1;
    const member = changed[at % changed.length] as PairMember;
    book.setMember({ ...member, instanceId: `${instance}` });
    return book.hasNoPartner(member.target);
  }),
  'us',
);
const targets = Array.from(
  { length: WORKERS },
  (_, at) => [targetOf('prefill', at), targetOf('decode', at)] as const,
);
const plain = new Map<string, string>(targets.map(([prefill, decode]) => [prefill, decode]));
figure(
  'floor of a look-up: two in a Map',
  measured((at) => {
    const [prefill, decode] = targets[at % WORKERS] as readonly [string, string];
    return plain.get(prefill) === plain.get(decode);
  }, 100_000),
  'us',
);
figure(
  'a look-up: state and class of a pair',
  measured((at) => {
    const [prefill] = targets[at % WORKERS] as readonly [string, string];
    const [, decode] = targets[(at * 7) % WORKERS] as readonly [string, string];
    return book.mayUse(prefill, decode) && book.classOf(prefill, decode);
  }, 100_000),
  'us',
);
figure(
  'all pairs of one prefill worker, with their classes and costs',
  measured((at) => book.linksOf((targets[at % WORKERS] as readonly [string, string])[0]), 200),
  'us',
);
figure(
  'how many pairs are in each state, after a change',
  measured((at) => {
    instance += 1;
    book.setMember({ ...(changed[at % changed.length] as PairMember), instanceId: `${instance}` });
    return book.counts;
  }, 10),
  'us',
);
