import { closeSync, openSync, readSync } from 'node:fs';
import { relative } from 'node:path';
import { sourcesBelow } from '../parts/files-below.mjs';
import { countBy, lastLines } from './lint-tree.mjs';
import { runProgram } from './run-program.mjs';

/** Healthy, findings, bad usage, nothing known, nothing read. */
const EXIT_CODES = [0, 1, 2, 3, 4, 5, 6];
const HEAD_BYTES = 16 * 1024;
/** A time or a level at the start of a line, as programs log. */
const LOG_LINE =
  /^(?:.{0,40}\|\s*)?\W{0,3}(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|(?:\(\w+ pid=\d+\) )?(?:INFO|WARN|WARNING|ERROR|DEBUG)\b[ :[])/m;

/** What the doctor says of every file of a repository that looks like a log, each by itself. */
export async function readDoctor(folder, { timeoutMs, heapMb, maxLogs }) {
  const logs = sourcesBelow(folder, ['.log', '.txt', '.out', '.err']).filter(looksLikeLog);
  const read = [];
  for (const file of logs.slice(0, maxLogs)) {
    const answer = await runProgram(['doctor', '--json', '--logs', file], {
      folder,
      timeoutMs,
      heapMb,
      exitCodes: EXIT_CODES,
    });
    const { end, code, ms, peakBytes } = answer;
    let report;
    try {
      report = JSON.parse(answer.stdout);
    } catch {
      report = undefined;
    }
    read.push({
      file: relative(folder, file),
      end,
      code,
      ms,
      peakBytes,
      verdict: report?.verdict ?? 'none',
      headline: report?.headline ?? lastLines(answer.stderr),
      causes: report?.assessments?.map(({ cause, confidence }) => `${cause} ${confidence}`) ?? [],
    });
  }
  return {
    logs: logs.length,
    read,
    byVerdict: countBy(read, ({ verdict }) => verdict),
    byCause: countBy(
      read.flatMap(({ causes }) => causes),
      (cause) => cause,
    ),
    crashes: read.filter(({ end }) => end !== 'exit'),
  };
}

function looksLikeLog(file) {
  const head = Buffer.alloc(HEAD_BYTES);
  const open = openSync(file, 'r');
  try {
    const length = readSync(open, head, 0, HEAD_BYTES, 0);
    return LOG_LINE.test(head.toString('utf8', 0, length));
  } finally {
    closeSync(open);
  }
}
