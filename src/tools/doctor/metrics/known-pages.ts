import { ENGINES } from '../../../engines/catalogue/engines.js';
import type { EnginePages } from '../../../engines/descriptor/engine-pages.js';
import { DCGM_METRICS } from './dcgm.js';
import { KV_ACCORD_PAGES } from './kv-accord-pages.js';
import { ROUTER_PAGE_OWNERS, ROUTER_PAGES } from './router-pages.js';

/** First those whose processes run one of the others. */
const ENGINES_IN_ORDER = [
  ...ENGINES.filter(({ runsOtherEngines }) => runsOtherEngines === true),
  ...ENGINES.filter(({ runsOtherEngines }) => runsOtherEngines !== true),
];

/** The pages of routers, then of all engines, first of those whose processes run one of the others, then this product's own. */
export const KNOWN_PAGES: readonly EnginePages[] = [
  ...ROUTER_PAGES,
  ...ENGINES_IN_ORDER.flatMap(({ pages }) => pages ?? []),
  KV_ACCORD_PAGES,
];

/** Families by which a page is known, the most specific first: a worker's page has its engine's families too. */
const PROGRAMS = [
  ...KNOWN_PAGES.flatMap(({ programs }) => programs),
  { prefix: 'DCGM_FI_DEV_', program: 'dcgm' },
];

/** The metrics that are kept of a page, by exact name. All others are passed over as they come. */
export const WANTED_METRICS: ReadonlySet<string> = new Set([
  ...KNOWN_PAGES.flatMap(({ wanted }) => wanted),
  ...DCGM_METRICS,
]);

/** Whose page has such metrics; `unknown` without any that is known. */
export function programOf(names: Iterable<string>): string {
  const all = [...names];
  return PROGRAMS.find(({ prefix }) => all.some((name) => name.startsWith(prefix)))?.program ?? 'unknown';
}

/** The names of all programs whose pages are known, for messages. */
export const PAGE_OWNERS: string = [
  ...ENGINES_IN_ORDER.filter(({ pages }) => pages !== undefined).map(({ displayName }) => displayName),
  ROUTER_PAGE_OWNERS,
  'kv-accord',
].join(', ');
