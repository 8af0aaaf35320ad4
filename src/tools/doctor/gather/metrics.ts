import { countOf } from '../../../core/text/lists.js';
import type { HttpGet } from '../../../edge/platform/net/http-get.js';
import { excerpt } from '../../../edge/platform/probe-error.js';
import type { EvidencePart } from '../evidence.js';
import { KNOWN_PAGES, PAGE_OWNERS, programOf } from '../metrics/known-pages.js';
import { type MetricsPage, sumOf } from '../metrics/metrics-page.js';
import { readMetricsPage } from '../metrics/read-metrics-page.js';
import { notRead, outcome } from './outcomes.js';
import { readText } from './read-text.js';

/** Largest page of metrics: a frontend of a large fleet has some MiB of histogram buckets. */
export const MAX_PAGE_BYTES: number = 64 * 1024 * 1024;

export interface PageModules {
  readonly get: HttpGet;
  readonly signal: AbortSignal;
}

/** Reads a page of metrics from a URL, `/metrics` where it names no path, or from a file with its text. Never rejects. */
export async function gatherMetrics(place: string, modules: PageModules): Promise<EvidencePart> {
  try {
    if (!/^https?:\/\//i.test(place)) return metricsPart(place, await readText(place, MAX_PAGE_BYTES));
    const url = pageUrl(place);
    const { status, body } = await modules.get(url, { signal: modules.signal });
    if (status < 200 || status > 299)
      return notRead(
        'metrics',
        place,
        `${url} answers with status ${status}: ${excerpt(body)}${hint(status)}`,
      );
    return metricsPart(url, body);
  } catch (error) {
    const isAddress = /^[\w.-]+:\d+(?:\/|$)/.test(place);
    return notRead('metrics', place, isAddress ? `is no file; as an address: http://${place}` : error);
  }
}

/** What a page's text gives. */
export function metricsPart(name: string, text: string): EvidencePart {
  const { page, sizes, settings, gpus, problems } = readMetricsPage(name, text);
  if (page.samples.size === 0) return notRead('metrics', name, whyUnread(text));
  const suffix = problems.length === 0 ? '' : `; ${problems.join('; ')}`;
  const notes = notesOn(page);
  const detail = `${page.program}: ${countOf(page.samples.size, 'metric')}${notes === '' ? '' : ` (${notes})`}${suffix}`;
  return {
    source: outcome('metrics', name, problems.length === 0 ? 'read' : 'partly_read', detail),
    metrics: [page],
    sizes,
    settings,
    gpus,
  };
}

/** Why nothing of a text is of use. */
function whyUnread(text: string): string {
  const families = [...text.matchAll(/^# TYPE (\w{1,200}) /gm)].map(([, family = '']) => family);
  if (programOf(families) !== 'unknown')
    return `has no metric that says something of routing or caches (its first is ${families[0]}): give the whole page`;
  if (/^\s*[[{]/.test(text))
    return `is JSON and no page of metrics: ${excerpt(text.slice(0, 100))}; trtllm-serve has JSON at /metrics, and its page at /prometheus/metrics (return_perf_metrics: true)`;
  if (/^# (?:HELP|TYPE) |^[a-z][\w:]{2,200}(?:\{.{0,2000}\})? [\d.+-]/m.test(text))
    return `has metrics, but none of ${PAGE_OWNERS} or DCGM`;
  return `is no page of metrics: ${excerpt(text.slice(0, 200))}; name the address of /metrics itself`;
}

/** What a page of a router says of its workers, its index and its events: `2 ready pods, 0 blocks found`. */
function notesOn(page: MetricsPage): string {
  const named = new Set<string>();
  return KNOWN_PAGES.flatMap(({ notes = [] }) => notes)
    .flatMap(({ metric, says }) => {
      const value = sumOf(page, metric);
      if (value === undefined || named.has(says)) return [];
      named.add(says);
      return [`${value} ${says}`];
    })
    .join(', ');
}

function pageUrl(place: string): string {
  if (!URL.canParse(place)) return place;
  const url = new URL(place);
  if (url.pathname === '/') url.pathname = '/metrics';
  return url.href;
}

function hint(status: number): string {
  if (status === 404) return '; give the whole path of the metrics, such as /metrics or /prometheus/metrics';
  return status === 401 || status === 403 ? '; the metrics are behind a login' : '';
}
