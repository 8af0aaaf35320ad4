import { posix } from 'node:path';
import { placesIn, type SourceFile } from '../source-file.js';
import { withScriptChanges } from './changes/changed-findings.js';
import { helmfileChanges, isHelmfile } from './changes/helmfile-layers.js';
import { withLostArguments } from './changes/lost-arguments.js';
import { readScriptChanges } from './changes/script-changes.js';
import type { GivenFile } from './config/tree-files.js';
import { readAppliedFiles } from './facts/applied-files.js';
import { readApplied } from './facts/applied-objects.js';
import { type Fleet, readFleets } from './facts/fleet.js';
import { Material } from './facts/material.js';
import { findNotChecked, type NotChecked } from './facts/not-checked.js';
import { readOverlays } from './facts/overlays.js';
import { readPoolFacts } from './facts/pools.js';
import type { Finding } from './findings/finding.js';
import { MAX_RELATED } from './findings/lint-rule.js';
import type { NamedText } from './fixes/apply-fixes.js';
import { SharedPlaces } from './fixes/shared-places.js';
import { findWrongStores } from './rules/cache-store-address.js';
import { findRefused } from './rules/kustomization-refused.js';
import { POOL_RULES } from './rules/pools.js';
import { findClosedSideChannels } from './rules/side-channel-closed.js';
import { findUnreadable, type LeftOut, ofPatch } from './rules/unreadable.js';
import { FLEET_RULES } from './rules.js';
import type { TextSource } from './text/span.js';

/** What was found, and what was looked at for it. */
export interface Inspection {
  /** Rule by rule. */
  readonly findings: readonly Finding[];
  /** What the files start, as far as it is known here: with nothing in it, nothing was compared. */
  readonly fleets: readonly Fleet[];
  /** Programs that were seen and compared with nothing. */
  readonly notChecked: readonly NotChecked[];
  /** Documents that cannot be read and do not look like workloads. */
  readonly leftOut: readonly LeftOut[];
}

/** What programs may read. */
export interface Readable {
  readonly given?: readonly GivenFile[];
  /** Files of the set that are known before the first is read: one may name another that comes later. */
  readonly beside?: readonly NamedText[];
  /** Files of helmfile that are templates, and no manifests. */
  readonly helmfiles?: readonly NamedText[];
  /** See `LintTextsOptions`. */
  readonly named?: ReadonlySet<string>;
}

/**
 * Everything that is wrong with a set of manifests and shell scripts. Programs
 * of different files are compared where they serve together. The manifests are read one by one: what an
 * iterable gives is free again before it gives the next. Pure.
 */
export function inspectFiles(
  files: Iterable<SourceFile>,
  shellFiles: readonly NamedText[],
  { given = [], beside = [], helmfiles = [], named }: Readable = {},
): Inspection {
  const material = new Material(given);
  for (const file of beside) material.tree.add(file);
  const findings: Finding[] = [];
  const leftOut: LeftOut[] = [];
  for (const file of files) {
    material.add(file);
    const unreadable = findUnreadable(file, named?.has(file.file));
    findings.push(...unreadable.findings);
    leftOut.push(...unreadable.leftOut);
  }
  const scripts = shellFiles.map(({ file, text }) => ({ file, text, placeOf: placesIn(text) }));
  const built = readOverlays(material);
  const overlays = {
    ...built,
    programs: [...built.programs, ...readApplied(scripts, material), ...readAppliedFiles(scripts, material)],
  };
  const fleets = readFleets(material, scripts, overlays);
  const found = FLEET_RULES.flatMap(({ check }) =>
    fleets.flatMap((fleet) =>
      check(fleet, fleets).map((finding) => ({ fleet, finding: asOf(fleet, finding) })),
    ),
  );
  const shellTexts = new Map(shellFiles.map(({ file, text }) => [file, text]));
  findings.push(
    ...new SharedPlaces(fleets).withOwnFixes(
      found,
      (file) => shellTexts.get(file) ?? material.tree.textAt(file)?.value,
    ),
  );
  const alone = <T extends { readonly source: TextSource }>(all: readonly T[]): readonly T[] =>
    all.filter(({ source }) => !overlays.files.has(posix.normalize(source.file)));
  const pools = [...alone(material.pools), ...overlays.programs.flatMap((one) => one.pools)];
  const sites = [...alone(material.sites), ...overlays.programs.flatMap((one) => one.sites)];
  const networks = [...alone(material.networks), ...overlays.programs.flatMap((one) => one.networks)];
  const isUnrestricted = shellFiles.some(({ text }) => text.includes('LoadRestrictionsNone'));
  findings.push(...overlays.programs.flatMap((one) => findRefused(one.refusals, isUnrestricted)));
  findings.push(...findClosedSideChannels(fleets, networks));
  findings.push(...findWrongStores(fleets, networks, sites));
  for (const facts of readPoolFacts(pools, sites, fleets, networks))
    for (const { check } of POOL_RULES) findings.push(...check(facts, fleets));
  const isPatch = ({ file }: Finding): boolean => material.kustomizations.isPatch(file);
  const layering = [...helmfiles, ...beside.filter(({ file }) => isHelmfile(file))];
  const changes = [
    ...readScriptChanges(scripts, material.tree),
    ...helmfileChanges(
      layering.map(({ file, text }) => ({ file, text, placeOf: placesIn(text) })),
      material.tree,
    ),
  ];
  const all = withScriptChanges(
    withoutRepeats(findings.map((one) => (isPatch(one) ? ofPatch(one) : one))),
    changes,
    material.tree,
  );
  const whole = withLostArguments(all, (file) => shellTexts.get(file));
  return { findings: whole, fleets, notChecked: findNotChecked(fleets), leftOut };
}

/** A finding of what an overlay builds names its kustomization, and none that holds for one branch alone is changed by a program. */
function asOf({ overlay, isOneWay }: Fleet, finding: Finding): Finding {
  if (isOneWay !== true) return inOverlay(finding, overlay);
  const { fix: _fix, ...rest } = finding;
  return inOverlay(rest, overlay);
}

function inOverlay(finding: Finding, overlay: string | undefined): Finding {
  if (overlay === undefined || finding.file === overlay) return finding;
  const place = { file: overlay, line: 1, column: 1, says: 'the kustomization that builds it' };
  return { ...finding, related: [...(finding.related ?? []), place] };
}

/** A file that several kustomizations have is looked at with each of them: they share one finding. */
function withoutRepeats(findings: readonly Finding[]): readonly Finding[] {
  const known = new Map<string, Finding>();
  for (const finding of findings) {
    const { ruleId, file, line, column, message, related = [] } = finding;
    const key = `${ruleId}\n${file}\n${line}:${column}\n${message}`;
    const first = known.get(key);
    if (first === undefined) {
      known.set(key, finding);
      continue;
    }
    const places = new Map([...(first.related ?? []), ...related].map((one) => [JSON.stringify(one), one]));
    if (places.size > 0) known.set(key, { ...first, related: [...places.values()].slice(0, MAX_RELATED) });
  }
  return [...known.values()];
}

/** The findings alone. */
export function lintFiles(files: Iterable<SourceFile>, shellFiles: readonly NamedText[]): readonly Finding[] {
  return inspectFiles(files, shellFiles).findings;
}
