import type { Location, Log, Notification, Result, Run, Fix as SarifFix } from 'sarif';
import { jsonText } from '../../../../core/text/printable.js';
import type { NotChecked } from '../facts/not-checked.js';
import type { Finding, Fix, Place, Rule } from '../findings/finding.js';

export interface SarifOptions {
  readonly rules: readonly Rule[];
  /** The product's version. */
  readonly version: string;
  /** Programs that were seen and compared with nothing: notifications of the run, for they are no results. */
  readonly notChecked?: readonly NotChecked[];
  /** Line and column, from 1, of an offset in a file; undefined for a file that is not known. */
  placeOf(file: string, offset: number): { readonly line: number; readonly column: number } | undefined;
}

/** SARIF 2.1.0 (OASIS), as code scanning of GitHub and others take it. */
export function formatSarif(findings: readonly Finding[], options: SarifOptions): string {
  const { rules, version } = options;
  const log: Log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        columnKind: 'utf16CodeUnits',
        tool: {
          driver: {
            name: 'kv-accord',
            semanticVersion: version,
            rules: rules.map(({ id, summary, explanation, severity }) => ({
              id,
              shortDescription: { text: summary },
              fullDescription: { text: explanation },
              defaultConfiguration: { level: severity },
            })),
          },
        },
        ...invocationsOf(options.notChecked ?? []),
        results: findings.map((finding) => resultOf(finding, options)),
      },
    ],
  };
  return `${jsonText(log, 2)}\n`;
}

function invocationsOf(notChecked: readonly NotChecked[]): Pick<Run, 'invocations'> {
  if (notChecked.length === 0) return {};
  const toolExecutionNotifications = notChecked.map(
    ({ program, reason, count, places }): Notification => ({
      descriptor: { id: 'not-checked' },
      level: 'note',
      message: { text: `seen and not checked: ${count} × ${program}, ${reason}` },
      locations: places.map(locationOf),
    }),
  );
  return { invocations: [{ executionSuccessful: true, toolExecutionNotifications }] };
}

function resultOf(finding: Finding, options: SarifOptions): Result {
  const { ruleId, severity, message, consequence, advice, fix, related = [] } = finding;
  const ruleIndex = options.rules.findIndex(({ id }) => id === ruleId);
  return {
    ruleId,
    ...(ruleIndex === -1 ? {} : { ruleIndex }),
    level: severity,
    message: { text: `${message}\n${consequence}\n${advice}` },
    locations: [locationOf(finding)],
    ...(related.length === 0
      ? {}
      : {
          relatedLocations: related.map((place) => ({ ...locationOf(place), message: { text: place.says } })),
        }),
    ...(fix === undefined ? {} : { fixes: [fixOf(fix, options)] }),
  };
}

function locationOf({ file, line, column }: Place): Location {
  return {
    physicalLocation: {
      artifactLocation: { uri: uriOf(file) },
      region: { startLine: line, startColumn: column },
    },
  };
}

function fixOf(fix: Fix, { placeOf }: SarifOptions): SarifFix {
  return {
    description: { text: fix.says },
    artifactChanges: [
      {
        artifactLocation: { uri: uriOf(fix.file) },
        replacements: fix.edits.map(({ start, end, text }) => {
          const from = placeOf(fix.file, start) ?? { line: 1, column: 1 };
          const to = placeOf(fix.file, end) ?? from;
          return {
            deletedRegion: {
              startLine: from.line,
              startColumn: from.column,
              endLine: to.line,
              endColumn: to.column,
            },
            insertedContent: { text },
          };
        }),
      },
    ],
  };
}

/** A relative path as a URI reference: what a repository's checkout resolves. An absolute one names its scheme. */
function uriOf(file: string): string {
  const path = file.split('/').map(encodeURIComponent).join('/');
  return path.startsWith('/') ? `file://${path}` : path;
}
