import { countOf } from '../../../core/text/lists.js';
import type { GivenFile } from '../../manifests/lint/config/tree-files.js';
import type { Fleet } from '../../manifests/lint/facts/fleet.js';
import type { NamedText } from '../../manifests/lint/fixes/apply-fixes.js';
import { inspectTexts } from '../../manifests/lint/lint-texts.js';
import { findRestingOnDefaults } from '../../manifests/lint/rules/block-size-unset.js';
import { unreadable } from '../../manifests/lint/rules/unreadable.js';
import type { EvidencePart } from '../evidence.js';
import { FleetReader } from './manifest-facts.js';
import { notRead, outcome } from './outcomes.js';

/**
 * What manifests and shell scripts say: the faults that `lint` finds, what rests on defaults alone, and the
 * sizes and settings of every side, those that apply by default among them.
 * `name` is what the operator gave, `environments` the environment files of compose files, which hold secrets and are
 * no part of what a report shows. Never throws.
 */
export function manifestsPart(
  name: string,
  texts: readonly NamedText[],
  environments: readonly GivenFile[] = [],
): EvidencePart {
  try {
    const given = new Map(environments.map(({ file, paths }) => [file, paths]));
    const all = [...texts.filter(({ file }) => !given.has(file)), ...environments];
    const { findings: faults, fleets, leftOut } = inspectTexts(all, { given });
    const findings = [...faults, ...fleets.flatMap(findRestingOnDefaults)];
    const reader = new FleetReader();
    for (const fleet of fleets) reader.read(fleet);
    const { sizes, settings } = reader;
    const programs = fleets.reduce((sum, { launches }) => sum + launches.length, 0);
    const unread = findings.filter(({ ruleId }) => ruleId === unreadable.id);
    const broken = [...new Set([...unread, ...leftOut].map(({ file }) => file))];
    if (programs === 0 && findings.length === 0)
      return notRead('manifests', name, 'starts no frontend, router, indexer or engine that is known here');
    const detail = [
      countOf(texts.length, 'file'),
      `${countOf(fleets.filter(hasMembers).length, 'fleet')} of ${countOf(programs, 'program')}`,
      countOf(findings.length, 'finding'),
      ...(broken.length === 0 ? [] : [`not all of it can be read: ${broken.slice(0, 5).join(', ')}`]),
    ];
    return {
      source: outcome('manifests', name, broken.length === 0 ? 'read' : 'partly_read', detail.join(', ')),
      findings,
      manifests: texts,
      sizes,
      settings,
    };
  } catch (error) {
    return notRead('manifests', name, error);
  }
}

function hasMembers({ launches }: Fleet): boolean {
  return launches.length > 0;
}
