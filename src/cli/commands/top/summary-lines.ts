import type { ViewBucket, ViewDocument, ViewModel, ViewRouting } from '../../../core/view/view-document.js';
import { percent, shortDuration, shortNumber } from './format-number.js';
import { sparkline } from './sparkline.js';
import type { Line } from './top-line.js';

/** Models that have a line each. */
const MAX_MODELS = 4;

/** Buckets that the numbers of the routing are made of: a minute. */
const RECENT_BUCKETS = 6;

/** Reasons for lost hits that are named. */
const MAX_LOST = 3;

/** Bars of a summary: five minutes. */
const BARS = 30;

/** What is said of the models and their routing, above the table. */
export function summaryLines(document: ViewDocument, group: string | undefined, isPlain: boolean): Line[] {
  const models = document.models.filter((model) => group === undefined || model.group === group);
  const routing = document.routing.filter((one) => group === undefined || one.group === group);
  const rest = models.length - MAX_MODELS;
  return [
    ...models.slice(0, MAX_MODELS).map(modelLine),
    ...(rest > 0 ? [{ text: `... and ${rest} more models: m shows one`, tone: 'plain' as const }] : []),
    ...(document.process.routes ? routingLines(routing, document.atMs, isPlain) : []),
  ];
}

function modelLine({ group, isGateOpen, isReady, tone, ...model }: ViewModel): Line {
  const gate = isGateOpen ? (isReady ? 'gate open' : 'gate open, nobody to ask') : 'GATE SHUT';
  const size = model.tokensPerBlock === undefined ? '' : `, ${model.tokensPerBlock} tokens/block`;
  const counts = Object.entries(model.counts)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ');
  const why = isGateOpen ? model.partialReason : (model.reasons[0]?.text ?? '');
  const out = model.keptOutCount > 0 ? `, ${model.keptOutCount} KEPT OUT` : '';
  return {
    text: `${group}: ${gate}, epoch ${model.epoch}${size}, ${model.routingMode}; ${counts}${out}${why === '' ? '' : `; ${why}`}`,
    tone,
  };
}

function routingLines(routing: readonly ViewRouting[], atMs: number, isPlain: boolean): Line[] {
  const bucketMs = routing[0]?.bucketMs ?? 10_000;
  const all = routing.flatMap(({ buckets }) => buckets);
  const newest = Math.floor(atMs / bucketMs) * bucketMs;
  const times = Array.from({ length: BARS }, (_, at) => newest - (BARS - 1 - at) * bucketMs);
  const sumAt = (time: number, read: (bucket: ViewBucket) => number): number =>
    all.reduce((sum, bucket) => (bucket.atMs === time ? sum + read(bucket) : sum), 0);
  const recent = all.filter((bucket) => bucket.atMs > newest - RECENT_BUCKETS * bucketMs);
  const sum = (read: (bucket: ViewBucket) => number): number =>
    recent.reduce((total, bucket) => total + read(bucket), 0);
  const seconds = Math.max(1, (atMs - (newest - (RECENT_BUCKETS - 1) * bucketMs)) / 1_000);
  const decisions = sum((bucket) => bucket.decisions);
  const prompt = sum(({ promptTokens }) => promptTokens);
  const errors = sum(({ failures }) => Object.values(failures).reduce((total, count) => total + count, 0));
  const refused = sum((bucket) => bucket.refused);
  const bars = sparkline(
    times.map((time) => sumAt(time, (bucket) => bucket.decisions)),
    BARS,
    isPlain,
  );
  const lost = lostText(recent);
  return [
    {
      text: `requests ${shortNumber(decisions / seconds)}/s, errors ${shortNumber(errors)}, refused ${shortNumber(refused)} in a minute  ${bars}`,
      tone: errors + refused > 0 ? 'warn' : 'plain',
    },
    {
      text: `cached of prompt: best ${percent(
        sum(({ bestTokens }) => bestTokens),
        prompt,
      )}, chosen ${percent(
        sum(({ chosenTokens }) => chosenTokens),
        prompt,
      )}, engines ${percent(
        sum(({ engineTokens }) => engineTokens),
        prompt,
      )}${lost === '' ? '' : `; lost: ${lost}`}`,
      tone: 'plain',
    },
    {
      text: `first token: ${turnText(recent, 'firstTurn')} first turns; ${turnText(recent, 'followUp')} follow-ups`,
      tone: 'plain',
    },
  ];
}

/** Of the newest bucket that has any: quantiles of several cannot be added. */
function turnText(buckets: readonly ViewBucket[], name: 'firstTurn' | 'followUp'): string {
  const durations = buckets.findLast((bucket) => bucket[name] !== undefined)?.[name];
  return `p50 ${shortDuration(durations?.p50Ms)} p90 ${shortDuration(durations?.p90Ms)}`;
}

function lostText(buckets: readonly ViewBucket[]): string {
  const tokens = new Map<string, number>();
  for (const { lost } of buckets)
    for (const [reason, [, count]] of Object.entries(lost))
      tokens.set(reason, (tokens.get(reason) ?? 0) + count);
  return [...tokens]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MAX_LOST)
    .map(([reason, count]) => `${reason} ${shortNumber(count)}`)
    .join(', ');
}
