import { andMore } from '../../../core/text/lists.js';
import { onOneLine } from '../../../core/text/printable.js';
import type { RoutingSummary } from '../diagnosis.js';
import type { SourceOutcome } from '../evidence.js';
import { masked } from '../logs/masking.js';
import type { MemoryArithmetic } from '../memory/memory-arithmetic.js';
import { bytesText, countOf, countText, durationText, shareText } from './figures.js';

/** Workers or sources that a sentence names. */
const MAX_NAMED = 4;

/** What memory allows for one worker, without its name. */
export function memorySentence(memory: MemoryArithmetic): string {
  const { bytesPerToken, bytesPerBlock, budgetBytes, capacityTokens, demandTokens } = memory;
  const where = memory.isOverAllGpus ? ' over all GPUs' : '';
  const parts = [
    bytesPerToken === undefined
      ? `bytes a token not known: ${memory.bytesUnknown}`
      : bytesPerBlock === undefined
        ? `${bytesText(bytesPerToken)} a token${where}`
        : `${bytesText(bytesPerBlock)} a block${where}`,
  ];
  if (budgetBytes !== undefined) parts.push(`${bytesText(budgetBytes)} a GPU for KV blocks`);
  if (capacityTokens !== undefined) {
    const tokens = `${countText(capacityTokens)} tokens`;
    const blocks =
      bytesPerBlock === undefined || bytesPerToken === undefined
        ? undefined
        : countText((capacityTokens * bytesPerToken) / bytesPerBlock);
    parts.push(blocks === undefined ? `room for ${tokens}` : `room for ${blocks} blocks (${tokens})`);
  }
  if (memory.capacityUnknown !== undefined) parts.push(`room not known: ${memory.capacityUnknown}`);
  if (demandTokens !== undefined)
    parts.push(
      capacityTokens === undefined || capacityTokens <= 0
        ? `running sequences need up to ${countText(demandTokens)} tokens`
        : `running sequences need up to ${shareText(demandTokens / capacityTokens)} of it`,
    );
  if (memory.retentionSeconds !== undefined)
    parts.push(`an idle prefix stays ${durationText(memory.retentionSeconds)}`);
  if (memory.largestBatch !== undefined)
    parts.push(`half is free at ${countOf(memory.largestBatch, 'sequence')}`);
  return parts.join('; ');
}

/** A sentence with whose it is in front. */
export function ofWho(who: string, sentence: string): string {
  return who === '' ? sentence : `${who}: ${sentence}`;
}

/** How routing went. */
export function routingSentence(routing: RoutingSummary): string {
  const parts = [decisionsText(routing)];
  if (routing.routerHitRate !== undefined)
    parts.push(`the router expected ${shareText(routing.routerHitRate)} to be cached`);
  if (routing.engineHitRate !== undefined) parts.push(`engines had ${shareText(routing.engineHitRate)}`);
  const { cold, warm } = routing.firstTokenSeconds;
  if (cold !== undefined || warm !== undefined) {
    const times = [
      ...(cold === undefined ? [] : [`${durationText(cold)} for first turns`]),
      ...(warm === undefined ? [] : [`${durationText(warm)} for follow-ups`]),
    ];
    parts.push(`first token after ${times.join(', ')}`);
  }
  return parts.join('; ');
}

function decisionsText({ decisions, decisionsByWorker }: RoutingSummary): string {
  if (decisions === 0) return 'no decision was seen';
  if (decisionsByWorker.size === 0) return countOf(decisions, 'decision');
  const shares = [...decisionsByWorker.values()].sort((a, b) => b - a);
  // A log may have fewer decisions than a counter does.
  const logged = shares.reduce((sum, count) => sum + count, 0);
  const shown = shares.slice(0, MAX_NAMED).map((count) => shareText(count / Math.max(1, logged)));
  const more = shares.length > MAX_NAMED ? ', …' : '';
  return `${countOf(decisions, 'decision')} over ${countOf(shares.length, 'worker')} (${shown.join(', ')}${more})`;
}

/** What was read, and what was not and why. */
export function sourcesSentence(sources: readonly SourceOutcome[]): string {
  const of = (status: SourceOutcome['status']): readonly SourceOutcome[] =>
    sources.filter((source) => source.status === status);
  const read = of('read');
  const partly = of('partly_read');
  const notRead = of('not_read');
  const parts = [
    ...(read.length === 0 ? [] : [named(read, (source) => sourceName(source))]),
    ...(partly.length === 0 ? [] : [`in part: ${named(partly, withDetail)}`]),
    ...(notRead.length === 0 ? [] : [`not read: ${named(notRead, withDetail)}`]),
  ];
  return parts.length === 0 ? 'nothing' : parts.join('; ');
}

function named(sources: readonly SourceOutcome[], name: (source: SourceOutcome) => string): string {
  return `${sources.slice(0, MAX_NAMED).map(name).join(', ')}${andMore(sources.length - MAX_NAMED)}`;
}

function withDetail(source: SourceOutcome): string {
  return `${sourceName(source)} (${sourceDetail(source)})`;
}

/** A source by its name on one line, without secrets; by its kind where it has none. */
export function sourceName({ kind, name }: SourceOutcome): string {
  const text = onOneLine(masked(name));
  return text === '-' || text === '' ? kind : text;
}

/** What a source says of itself, on one line and without secrets. */
export function sourceDetail({ detail }: SourceOutcome): string {
  return onOneLine(masked(detail));
}
