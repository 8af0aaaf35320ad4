import { isBefore } from '../../../../engines/descriptor/default-size.js';
import { readPairFacts } from '../facts/pair-facts.js';
import type { Rule } from '../findings/finding.js';
import { findingAt, type LintRule } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { vllmReleaseOf } from '../launches/vllm-release.js';

const rule: Rule = {
  id: 'kv-both-deprecated',
  severity: 'note',
  summary: 'A vLLM worker with NIXL says kv_both, which is deprecated from vLLM 0.32 on.',
  explanation:
    'vLLM warns of it, and will refuse it in a later version. Until then it works; nobody who reads the configuration sees which part of a request the worker computes.',
};

/** The version in which vLLM warns of it. */
const SINCE = { major: 0, minor: 32 };

/** `kv_role: kv_both` of a vLLM whose version is known to warn of it. */
export const kvBothDeprecated: LintRule = {
  rule,
  check: ({ workers }) =>
    workers.flatMap((worker) => {
      const facts = readPairFacts(worker);
      if (facts?.kvRole !== 'kv_both' || !facts.usesNixl || facts.setting === undefined) return [];
      if (!warns(worker.launch)) return [];
      const part = facts.role === undefined ? 'kv_producer or kv_consumer' : KV_ROLES[facts.role];
      return [
        findingAt(rule, facts.setting.span, {
          message: `${nameOf(worker.launch)} has kv_role kv_both, which this version of vLLM calls deprecated`,
          advice: `Write "kv_role": "${part}", by what the worker computes.`,
        }),
      ];
    }),
};

const KV_ROLES = { prefill: 'kv_producer', decode: 'kv_consumer' } as const;

function warns(launch: Launch): boolean {
  const release = vllmReleaseOf(launch);
  return release !== undefined && !isBefore(release, SINCE);
}
