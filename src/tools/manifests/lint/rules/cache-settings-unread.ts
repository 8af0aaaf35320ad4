import { CACHE_DOORS, settingsOf } from '../facts/cache-doors.js';
import type { Fleet } from '../facts/fleet.js';
import type { Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { nameOf } from '../launches/launch.js';

const rule: Rule = {
  id: 'cache-settings-unread',
  severity: 'warning',
  summary: 'An engine has settings of a cache or store, and nothing that switches it on.',
  explanation:
    'A cache behind an engine is loaded by a connector or a switch alone. Without it nobody reads its settings: nothing complains, nothing is stored, and no prompt is found there.',
};

/** Names in one message. */
const MAX_NAMES = 3;

/** Settings of a part of an engine whose switch is off. */
export const cacheSettingsUnread: LintRule = {
  rule,
  check: ({ workers }: Fleet) =>
    workers.flatMap(({ launch, noPrefixCaching }) =>
      // What is not seen may switch it on, and an engine that keeps no prefixes is compared with one that does.
      launch.hasUnseenArgs || noPrefixCaching !== undefined
        ? []
        : (CACHE_DOORS[launch.backend ?? ''] ?? []).flatMap((door) => {
            const settings = settingsOf(launch, door);
            const [first] = settings;
            if (first === undefined || door.isOpen(launch)) return [];
            const all = settings.map(({ name }) => name);
            const named = all.slice(0, MAX_NAMES).join(', ') + (all.length > MAX_NAMES ? ' and others' : '');
            return [
              findingAt(rule, first.span, {
                message: `${nameOf(launch)} has ${named}, and nothing in its command switches ${door.part} on`,
                advice: `${door.cure}.`,
                related: [{ span: launch.at, says: 'the command of the engine' }],
              }),
            ];
          }),
    ),
};
