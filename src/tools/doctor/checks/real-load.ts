import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import type { Origin } from '../evidence.js';
import { tightest } from '../fixes/memory.js';
import { percent } from '../measurements/cache-hits.js';
import type { Measurements } from '../measurements/measurements.js';
import { countText } from '../report/figures.js';
import { type Asked, answered, missing, type Reply } from './check.js';

const HOW =
  'add --metrics http://FRONTEND:8000/metrics or --metrics http://ENGINE:PORT/metrics while requests come, or the log of an engine';

/** Sequences at a time up to which a cache is under no pressure. */
const LOW_CONCURRENCY = 2;
/** Fewer decisions show nothing: the first of each conversation can find nothing. */
const MIN_DECISIONS = 4;
/** Moments in which ranks were loaded unevenly, from which on it is no chance: most of a minute. */
const MIN_UNEVEN_MOMENTS = 5;

/** How many sequences run at a time and how long they are, and what routers took for the load where nothing reports it. */
export function answerRealLoad({ measurements, traffic }: Asked): Reply {
  const { concurrency } = measurements;
  const { sequenceTokens } = traffic;
  const load = loadText(measurements);
  const parts = [
    ...(concurrency === undefined
      ? []
      : [
          `${countText(concurrency.running)} running${concurrency.waiting === undefined ? '' : ` and ${countText(concurrency.waiting)} waiting`}${concurrency.isMean ? ' on the mean' : ' when it was measured'}`,
        ]),
    ...(sequenceTokens === undefined ? [] : [`${countText(sequenceTokens.value)} tokens each on the mean`]),
    ...(load === undefined ? [] : [load.text]),
  ];
  const lacking = [
    ...(concurrency === undefined ? ['how many run'] : []),
    ...(sequenceTokens === undefined ? ['how long they are'] : []),
  ];
  const unseen = lacking.length === 0 ? '' : `It was not seen ${lacking.join(' and ')}: ${HOW}.`;
  const rest = [unevenText(measurements) ?? '', unseen].filter((text) => text !== '').join(' ');
  if (parts.length === 0) return missing(rest);
  const origin = concurrency?.origin ?? sequenceTokens?.origin ?? load?.origin;
  return answered([`${capitalised(parts.join(', '))}.`, ...(rest === '' ? [] : [rest])].join(' '), origin);
}

/** Data-parallel ranks of one engine of which one has a queue while another has nothing to do. */
function unevenText({ evidence }: Measurements): string | undefined {
  const uneven = evidence.logs
    .flatMap(({ engine }) => engine?.unevenRanks ?? [])
    .find(({ moments }) => moments >= MIN_UNEVEN_MOMENTS);
  if (uneven === undefined) return undefined;
  const { busyRank, idleRank, waiting, moments, first } = uneven;
  return `Its data-parallel ranks do not share them: rank ${busyRank} had up to ${countText(waiting)} waiting while rank ${idleRank} had none, ${countOf(moments, 'time')} (${first.place}). A router that sends to one rank (X-data-parallel-rank, one address for each rank) decides that; without it the engine balances by its queues.`;
}

/**
 * What routers took for the load of chosen workers, in blocks, and in tokens where a block size is known: the largest
 * that was seen, so that it is no less than what runs. Undefined where no decision reports it.
 */
export function loadText(
  measurements: Measurements,
): { readonly text: string; readonly origin: Origin } | undefined {
  const { evidence, sizes, memory } = measurements;
  const loads = evidence.logs.flatMap(({ decisions }) =>
    decisions?.loadBlocks === undefined ? [] : [{ load: decisions.loadBlocks, origin: decisions.last }],
  );
  const [first] = loads;
  if (first === undefined) return undefined;
  const most = Math.ceil(Math.max(...loads.map(({ load }) => load.max)));
  const tokensPerBlock = Math.max(0, ...sizes.rows.map((row) => row.tokensPerBlock));
  const capacity = tightest(memory)?.capacityTokens;
  const tokens = most * tokensPerBlock;
  const share =
    capacity === undefined || capacity <= 0 || tokens === 0
      ? ''
      : `, ${percent(tokens / capacity)} of its cache`;
  const inTokens =
    tokens === 0 ? '' : ` (at most ${countText(tokens)} tokens of ${tokensPerBlock} a block${share})`;
  return {
    text: `by the router's own sums (logit) a chosen worker had ${countOf(most, 'block')} at most to compute and to hold, with the new request${inTokens}`,
    origin: first.origin,
  };
}

/** Whether blocks are found where the load is low; where it never was, how to try it. */
export function answerLowConcurrency({
  measurements: { concurrency, routerHits, engineHits },
}: Asked): Reply {
  const [hit] = routerHits;
  if (
    concurrency === undefined ||
    hit === undefined ||
    hit.count < MIN_DECISIONS ||
    concurrency.running + (concurrency.waiting ?? 0) > LOW_CONCURRENCY
  )
    return missing(
      'It has to be tried: the doctor sends nothing. Send one or two requests at a time (the fix "Send two equal prompts" has the commands and what they show), and give the doctor the log and the metrics of that time alone (kubectl logs --since).',
    );
  const engines = engineHits === undefined ? '' : ` and engines had ${percent(engineHits.share)}`;
  return answered(
    `${hit.share >= 0.05 ? 'Yes' : 'No'}: with ${countText(concurrency.running)} running the router found ${percent(hit.share)} in ${countOf(hit.count, 'decision')}${engines}.${hit.share < 0.05 && (engineHits?.share ?? 0) >= 0.05 ? ' So it is no want of memory.' : ''}`,
    hit.origin,
  );
}
