import type { Logger } from '../../edge/platform/logger.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';

/** Conflicts that are remembered as logged; with more, the oldest are logged again. */
const MAX_LOGGED = 1_000;

/** Logs each conflict over a name once, and again after it was over. */
export function conflictLogger(logger: Logger): (catalogue: Catalogue) => void {
  let logged = new Set<string>();
  return ({ conflicts = [] }) => {
    const current = new Set<string>();
    for (const { name, owner, text } of conflicts.slice(0, MAX_LOGGED)) {
      const key = JSON.stringify([name, owner ?? null]);
      current.add(key);
      if (!logged.has(key)) logger.error({ code: 'model_name_conflict', model: name }, text);
    }
    logged = current;
  };
}
