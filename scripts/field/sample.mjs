import { readFileSync } from 'node:fs';

/**
 * All errors and `count` of the other findings, drawn by the seed, each with
 * the lines around it; those that are known already are left out.
 */
export function sampleOf(findings, { seed, count, contextLines, isKnown }) {
  const fresh = findings.filter((finding) => !isKnown(finding));
  const errors = fresh.filter(({ severity }) => severity === 'error');
  const others = fresh.filter(({ severity }) => severity !== 'error');
  // By the seed and the id: the same findings are drawn whatever else there is.
  const drawn = others
    .map((finding) => ({ finding, rank: hash(`${seed} ${finding.id}`) }))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, count)
    .map(({ finding }) => finding);
  return [...errors, ...drawn].map((finding) => ({ ...finding, lines: linesAround(finding, contextLines) }));
}

function linesAround({ path, line }, contextLines) {
  let lines;
  try {
    lines = readFileSync(path, 'utf8').split(/\r?\n/);
  } catch {
    return [];
  }
  const from = Math.max(1, line - contextLines);
  return lines
    .slice(from - 1, line + contextLines)
    .map(
      (text, at) =>
        `${from + at === line ? '>' : ' '}${String(from + at).padStart(5)}  ${text.slice(0, 300)}`,
    );
}

/** FNV-1a, for an order that is the same everywhere. */
function hash(text) {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}
