import { jsonText, withoutControls } from '../../../core/text/printable.js';
import type { Assessment, Clue, Diagnosis, ProposedFix } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import { masked } from '../logs/masking.js';
import { isoText } from './figures.js';
import type { ReportOptions } from './report-options.js';
import { shownDiff } from './safe-text.js';

/** Raised when a name of the report goes or means something else; new names do not raise it. */
const REPORT_VERSION = 1;

/** For programs: names in snake_case, null for what is not known, objects for maps. See docs/doctor.md. */
export function jsonReport(
  diagnosis: Diagnosis,
  evidence: Evidence,
  { version, generatedAtMs }: ReportOptions,
): string {
  const { verdict, headline, advice, assessments, options, unknowns, checks, routing, memory } = diagnosis;
  const { manifests, findings, ...gathered } = evidence;
  const report = {
    report_version: REPORT_VERSION,
    kv_accord_version: version,
    generated_at: isoText(generatedAtMs),
    verdict,
    headline,
    advice,
    assessments: assessments.map(assessmentOf),
    options: options.map(fixOf),
    unknowns,
    checks: toJson(checks),
    routing: toJson(routing),
    memory: toJson(memory),
    evidence: {
      ...(toJson(gathered) as object),
      // Texts of manifests may have secrets: the names alone.
      manifests: manifests.map(({ file }) => masked(file)),
      findings: findings.map(({ fix, ...finding }) => ({
        ...(toJson(finding) as object),
        fix: fix?.says ?? null,
      })),
    },
  };
  return `${jsonText(report, 2)}\n`;
}

function assessmentOf(assessment: Assessment): object {
  const { cause, confidence, headline, explanation, cluesFor, cluesAgainst, fixes } = assessment;
  return {
    cause,
    confidence,
    headline,
    explanation,
    clues_for: cluesFor.map(clueOf),
    clues_against: cluesAgainst.map(clueOf),
    fixes: fixes.map(fixOf),
  };
}

function fixOf({ says, why, disturbs, files, commands, verify }: ProposedFix): object {
  return {
    says,
    why,
    disturbs,
    files: files.map((file) => ({ file: file.file, diff: shownDiff(file) })),
    commands,
    verify,
  };
}

function clueOf({ says, origin }: Clue): object {
  return { says, origin: toJson(origin) };
}

/** Fields with foreign text that may carry credentials. */
const FOREIGN = new Set(['place', 'text', 'name', 'detail', 'value', 'answer', 'missing', 'sentence']);

/** Names that the report had before the program changed them. */
const REPORT_NAMES: ReadonlyMap<string, string> = new Map([['reporting', 'told']]);

/** Plain data for JSON. Keys of maps are data of others and stay as they are. */
function toJson(value: unknown, field = ''): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return withoutControls(FOREIGN.has(field) ? masked(value) : value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item) => toJson(item, field));
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, item]) => [withoutControls(String(key)), toJson(item)]));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [REPORT_NAMES.get(key) ?? snakeCase(key), toJson(item, key)]),
  );
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
