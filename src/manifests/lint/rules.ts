import type { Rule } from './finding.js';
import type { LintRule } from './lint-rule.js';
import { blockSizeUnset } from './rules/block-size-unset.js';
import { unreadable } from './rules/unreadable.js';

/** The rules that look at fleets. */
export const FLEET_RULES: readonly LintRule[] = [blockSizeUnset];

/** Every rule about manifests and shell commands, in the order of the documentation. */
export const RULES: readonly Rule[] = [...FLEET_RULES.map(({ rule }) => rule), unreadable];
