import { onOneLine } from '../text/printable.js';

/**
 * What a proxy saw of a worker that failed a request. A closed list, and the values of a metric's label:
 * - `unreachable`: no connection could be made;
 * - `closed`: the connection ended before an answer began;
 * - `cut`: an answer that had begun ended before its end;
 * - `bad_answer`: what came is no answer of an engine: not HTTP, or an HTML page;
 * - `server_error`: a status of 500 or more;
 * - `refused`: a redirect, 401, 403, 404 or 405, where another worker answered the same request: a wrong URL, name or key;
 * - `silent`: it answered no request, and not who asked for its models;
 * - `stalled`: its server answers, and its engine computes nothing for any request;
 * - `timeout`: it answered no request for as long as a request may wait.
 */
export const FAULT_KINDS = [
  'unreachable',
  'closed',
  'cut',
  'bad_answer',
  'server_error',
  'refused',
  'silent',
  'stalled',
  'timeout',
] as const;

/** One of `FAULT_KINDS`. */
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What was seen of a worker that failed a request. Plain data: it may cross between processes. */
export interface WorkerFault {
  readonly kind: FaultKind;
  /** What the proxy has of it, such as `connect ECONNREFUSED 10.0.0.1:8000`; empty for nothing. At most 200 characters count. */
  readonly detail: string;
}

const SENTENCES: Readonly<Record<FaultKind, string>> = {
  unreachable: 'it could not be reached',
  closed: 'it closed the connection before it answered',
  cut: 'it ended an answer before its end',
  bad_answer: 'what it answered is no answer of an engine',
  server_error: 'it answered with an error of its own',
  refused: 'it refused a request that another worker answered',
  silent: 'it answers nothing, not even the question for its models',
  stalled: 'its server answers, and its engine computes nothing',
  timeout: 'it answered no request within the longest wait',
};

/** Characters of a detail that are kept. */
const MAX_DETAIL_CHARS = 200;

/** What was seen, for an operator: `it could not be reached (connect ECONNREFUSED 10.0.0.1:8000)`. */
export function faultMessage({ kind, detail }: WorkerFault): string {
  return detail === '' ? SENTENCES[kind] : `${SENTENCES[kind]} (${onOneLine(detail, MAX_DETAIL_CHARS)})`;
}

/** One of the list, of a text from outside; undefined for another word. */
export function faultKindOf(text: string): FaultKind | undefined {
  return FAULT_KINDS.find((kind) => kind === text);
}
