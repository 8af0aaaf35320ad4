import type { Logger } from '../../edge/platform/logger.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';

/** Conflicts that are remembered as logged; with more, the oldest are logged again. */
const MAX_TOLD = 1_000;

/** Logs each conflict over a name once, and again after it was over. */
export function conflictTeller(logger: Logger): (catalogue: Catalogue) => void {
  let told = new Set<string>();
  return ({ conflicts = [] }) => {
    const standing = new Set<string>();
    for (const { name, owner, text } of conflicts.slice(0, MAX_TOLD)) {
      const key = JSON.stringify([name, owner ?? null]);
      standing.add(key);
      if (!told.has(key)) logger.error({ code: 'model_name_conflict', model: name }, text);
    }
    told = standing;
  };
}
