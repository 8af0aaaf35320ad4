import type { Fleet } from '../facts/fleet.js';
import type { Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { mayBeUnseen, settingOf } from '../launches/settings.js';

const rule: Rule = {
  id: 'router-settings-unread',
  severity: 'warning',
  summary:
    'A frontend of Dynamo has settings of the KV-aware router, and no mode: it takes one worker after the other.',
  explanation:
    "Dynamo's frontend routes round-robin where no mode is set, whatever settings of the other router it has. No block is looked for, and nothing reports it.",
};

/** Settings that the KV-aware router alone reads, by the flags and variables that the releases 0.3 to 1.6 have for them. */
const OF_KV_ROUTER: readonly (readonly [flags: readonly string[], variables: readonly string[]])[] = [
  [
    ['--router-kv-overlap-score-credit', '--router-kv-overlap-score-weight', '--kv-overlap-score-weight'],
    [
      'DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT',
      'DYN_ROUTER_KV_OVERLAP_SCORE_WEIGHT',
      'DYN_KV_OVERLAP_SCORE_WEIGHT',
      'DYN_OVERLAP_SCORE_WEIGHT',
    ],
  ],
  [
    ['--router-kv-events', '--kv-events', '--no-router-kv-events', '--no-kv-events'],
    ['DYN_ROUTER_USE_KV_EVENTS', 'DYN_KV_EVENTS'],
  ],
  [['--router-replica-sync'], ['DYN_ROUTER_REPLICA_SYNC']],
  [['--router-temperature'], ['DYN_ROUTER_TEMPERATURE']],
  [['--kv-cache-block-size'], ['DYN_KV_CACHE_BLOCK_SIZE']],
];

const SIZE = /block.size/i;

/** `dynamo.frontend` without `--router-mode`; one that has another mode than `kv` was meant to. */
export const routerSettingsUnread: LintRule = {
  rule,
  check: ({ frontends, workers }: Fleet) =>
    // From 1.6 on the card of a worker may bring a mode.
    workers.some(({ launch }) => modeOf(launch) !== undefined)
      ? []
      : frontends.flatMap(({ launch }) => {
          const [first, ...others] = settingsOf(launch);
          if (first === undefined || mayBeUnseen(launch) || modeOf(launch) !== undefined) return [];
          const named = [first, ...others].map(({ name }) => name).join(', ');
          return [
            findingAt(rule, first.span, {
              // A block size alone is left over more often than it is meant.
              ...(others.length === 0 && SIZE.test(first.name) ? { severity: 'note' as const } : {}),
              message: `${nameOf(launch)} has ${named}, and no router mode: it routes round-robin`,
              advice:
                'Set DYN_ROUTER_MODE=kv (--router-mode kv) on the frontend; where round-robin is meant, take these settings out, or say --router-mode round-robin.',
              related: [{ span: launch.at, says: 'the frontend' }],
            }),
          ];
        }),
};

function modeOf(launch: Launch): SettingValue | undefined {
  return settingOf(launch, ['--router-mode'], ['DYN_ROUTER_MODE']);
}

function settingsOf(launch: Launch): readonly SettingValue[] {
  return OF_KV_ROUTER.flatMap(([flags, variables]) => settingOf(launch, flags, variables) ?? []);
}
