import { onOneLine } from '../../../core/text/printable.js';
import { explainSystemError } from '../../../edge/platform/files/file.js';
import type { EvidencePart, SourceOutcome } from '../evidence.js';
import { masked } from '../logs/masking.js';

/** Longest explanation of why a source was not read. */
const MAX_DETAIL_CHARS = 1_000;

/** A source that gave nothing, and why. */
export function notRead(kind: SourceOutcome['kind'], name: string, why: unknown): EvidencePart {
  const text = typeof why === 'string' ? why : explainSystemError(why);
  const detail = isOwnFault(why) ? `a fault of kv-accord itself, not of this source: ${text}` : text;
  return { source: outcome(kind, name, 'not_read', detail) };
}

/** What a wrong line of the program throws; the system's own errors have a code. */
function isOwnFault(why: unknown): boolean {
  return (why instanceof TypeError || why instanceof ReferenceError) && !('code' in why);
}

/** What came of a source, on one line and without secrets. */
export function outcome(
  kind: SourceOutcome['kind'],
  name: string,
  status: SourceOutcome['status'],
  detail: string,
): SourceOutcome {
  return {
    kind,
    name: onOneLine(masked(name)),
    status,
    detail: onOneLine(masked(detail), MAX_DETAIL_CHARS),
  };
}
