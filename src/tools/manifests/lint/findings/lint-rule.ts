import { inPlainText } from '../../../../core/text/printable.js';
import type { Fleet } from '../facts/fleet.js';
import type { Span } from '../text/span.js';
import type { Finding, Fix, Place, Rule } from './finding.js';
import { isLeftToReader } from './reader-notes.js';

/** A rule with the look for it in one fleet; the others are there for what reaches over. */
export interface LintRule {
  readonly rule: Rule;
  check(fleet: Fleet, all: readonly Fleet[]): readonly Finding[];
}

/** What a finding says beside its rule and place. */
export interface Said extends Pick<Finding, 'message' | 'advice'> {
  /** Where it is other than what the rule says. */
  readonly severity?: Finding['severity'];
  readonly consequence?: string;
  readonly fix?: Fix | undefined;
  readonly unseenFile?: string | undefined;
  readonly related?: readonly { readonly span: Span; readonly says: string }[];
}

/** Rules about a number that an example may leave to its reader. */
const ABOUT_SIZES = /block-size|card-differs/;

/** A finding at a span. */
export function findingAt(rule: Rule, span: Span, said: Said): Finding {
  const {
    severity = rule.severity,
    message,
    consequence = rule.explanation,
    advice,
    fix,
    unseenFile,
    related = [],
  } = said;
  const written = fix === undefined ? undefined : fixInFile(fix, span);
  return {
    ruleId: rule.id,
    severity: ABOUT_SIZES.test(rule.id) && isLeftToReader(span) ? 'note' : severity,
    ...placeAt(span),
    message: printable(message),
    consequence: printable(consequence),
    advice: printable(advice),
    ...(written === undefined ? {} : { fix: written }),
    ...(unseenFile === undefined ? {} : { unseenFile }),
    ...(related.length === 0
      ? {}
      : {
          related: related
            .slice(0, MAX_RELATED)
            .map(({ span: at, says }) => ({ ...placeAt(at), says: printable(says) })),
        }),
  };
}

/** The fix in the file that it changes; undefined where that is of several overlays. */
function fixInFile(fix: Fix, { source }: Span): Fix | undefined {
  if (source.inFile === undefined || fix.file !== source.file) return fix;
  const edits = fix.edits.map((edit) => source.inFile?.(edit));
  const [first] = edits;
  return first === undefined || edits.some((one) => one?.file !== first.file)
    ? undefined
    : { ...fix, file: first.file, edits: edits.flatMap((one) => one?.edit ?? []) };
}

/** Other places that one finding names. */
export const MAX_RELATED: number = 10;

/** Longest text of a finding: names in manifests are up to 253 characters, and hostile ones anything. */
const MAX_TEXT_LENGTH = 2_000;

/** One line, whatever a manifest has in its names. */
function printable(text: string): string {
  const line = inPlainText(text);
  return line.length <= MAX_TEXT_LENGTH ? line : `${line.slice(0, MAX_TEXT_LENGTH)}…`;
}

function placeAt({ source, start }: Span): Place {
  return { file: source.file, ...source.placeOf(start) };
}
