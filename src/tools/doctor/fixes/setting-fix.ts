import type { ProposedFix } from '../diagnosis.js';

const VERIFY = ['kubectl logs POD --since=5m | grep -cE "Error: |error: "    # should be 0'];

/** A change of settings, after which the program starts again. */
export function settingFix(says: string, why: string, commands: readonly string[]): ProposedFix {
  return { says, why, disturbs: 'one_worker_at_a_time', files: [], commands, verify: VERIFY };
}
