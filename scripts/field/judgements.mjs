import { readFileSync } from 'node:fs';

/** Judgements by the ids of their findings; throws with the line that is none. A later line overrules an earlier one. */
export function readJudgements(file) {
  const judgements = new Map();
  for (const [at, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (line.trim() === '') continue;
    let one;
    try {
      one = JSON.parse(line);
    } catch {
      one = undefined;
    }
    if (typeof one?.id !== 'string' || !['right', 'wrong'].includes(one.is))
      throw new Error(`${file}:${at + 1}: must be {"id":"…","is":"right" or "wrong","why":"…"}`);
    judgements.set(one.id, one);
  }
  return judgements;
}

/**
 * How many findings were judged right, by rule and severity. `share` of all is
 * weighted: a class of which a sample was judged counts with all its findings.
 */
export function precisionOf(findings, judgements) {
  if (judgements.size === 0) return undefined;
  const classes = new Map();
  for (const { id, rule, severity } of findings) {
    const key = `${rule} ${severity}`;
    const one = classes.get(key) ?? { rule, severity, found: 0, right: 0, wrong: 0 };
    one.found += 1;
    const { is } = judgements.get(id) ?? {};
    if (is !== undefined) one[is] += 1;
    classes.set(key, one);
  }
  const rows = [...classes.values()].sort((a, b) => b.found - a.found);
  const overall = (of) => {
    const judged = rows.filter((row) => of(row) && row.right + row.wrong > 0);
    const found = judged.reduce((sum, row) => sum + row.found, 0);
    const right = judged.reduce((sum, row) => sum + (row.found * row.right) / (row.right + row.wrong), 0);
    return {
      found: rows.filter(of).reduce((sum, row) => sum + row.found, 0),
      judged: judged.reduce((sum, row) => sum + row.right + row.wrong, 0),
      right: judged.reduce((sum, row) => sum + row.right, 0),
      share: found === 0 ? undefined : right / found,
    };
  };
  const isError = ({ severity }) => severity === 'error';
  return {
    rows,
    errors: overall(isError),
    errorsButUnreadable: overall((row) => isError(row) && row.rule !== 'unreadable'),
    all: overall(() => true),
  };
}
