import type { Measurements } from '../measurements/measurements.js';
import type { Suspicion } from './cause.js';
import { findingClue } from './clues.js';

/** Rules of `lint` about caches behind engines, which read one command with its variables and its neighbours. */
const RULES: Readonly<Record<string, 'signature' | 'sign'>> = {
  // Files show the store and its address.
  'cache-store-address': 'signature',
  // Settings may be left over on purpose.
  'cache-settings-unread': 'sign',
};

const HEADLINES: Readonly<Record<string, string>> = {
  'cache-store-address': 'A shared store is looked for where it is not: ',
  'cache-settings-unread': 'Settings of a cache that nothing reads: ',
};

/** Clues and headline that are shown of several. */
const MAX_SHOWN = 3;

/** A cache behind an engine that nothing switches on, or whose store is elsewhere: files show it, and no log does. */
export function unreadCaches({ evidence }: Measurements): Suspicion | undefined {
  const findings = evidence.findings
    .filter(({ ruleId }) => Object.hasOwn(RULES, ruleId))
    .sort((a, b) => Number(weightOf(a.ruleId) === 'sign') - Number(weightOf(b.ruleId) === 'sign'))
    .slice(0, MAX_SHOWN);
  const [first] = findings;
  if (first === undefined) return undefined;
  return {
    headline: `${HEADLINES[first.ruleId] ?? ''}${first.message}`,
    explanation: first.consequence,
    cluesFor: findings.map((finding) => findingClue(finding, weightOf(finding.ruleId))),
    cluesAgainst: [],
    explains: [],
    fixes: [...new Map(findings.map((one) => [one.advice, one])).values()].map(
      ({ advice, consequence, file, line }) => ({
        says: advice.replace(/\.$/, ''),
        why: consequence,
        disturbs: 'one_worker_at_a_time',
        files: [],
        commands: [`# ${file}:${line}`],
        verify: [
          'The log of the engine shows the part as it starts (kubectl logs ENGINE | grep -iE "connector|LMCache|HiCache|kvbm").',
        ],
      }),
    ),
  };
}

function weightOf(ruleId: string): 'signature' | 'sign' {
  return RULES[ruleId] ?? 'sign';
}
