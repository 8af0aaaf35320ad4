import { jsonText } from '../../core/text/printable.js';
/**
 * Why a source has no answer. `unreachable`: the connection was refused. `no_connection`: none was made in time, as where packets
 * are dropped. `timeout`: nothing came over it in time. `not_here`: the engine has no such endpoint.
 */
export type ProbeErrorCode =
  | 'unreachable'
  | 'no_connection'
  | 'timeout'
  | 'not_here'
  | 'not_ready'
  | 'too_large'
  | 'bad_answer';

/** A source that gave nothing: what was asked, and what came back. */
export class ProbeError extends Error {
  readonly code: ProbeErrorCode;
  /** What was asked: `GET http://127.0.0.1:8000/metrics`. */
  readonly origin: string;

  constructor(code: ProbeErrorCode, origin: string, message: string) {
    super(`${origin}: ${message}`);
    this.name = 'ProbeError';
    this.code = code;
    this.origin = origin;
  }
}

/** Longest piece of foreign text in a message: enough to recognise it, too short to flood a log. */
const EXCERPT_CHARS = 120;

/** What `text` begins with, on one line, quoted; for messages about answers that make no sense. */
export function excerpt(text: string): string {
  const flat = jsonText(text.slice(0, EXCERPT_CHARS));
  return text.length > EXCERPT_CHARS ? `${flat}…` : flat;
}

/** A foreign value as JSON on one line, cut; for messages about fields of the wrong type. */
export function showValue(value: unknown): string {
  const json = asJson(value);
  return json.length > EXCERPT_CHARS ? `${json.slice(0, EXCERPT_CHARS)}…` : json;
}

/**
 * A foreign value as JSON on one line. Reading JSON has no bound of depth but
 * writing has: lists in lists by the thousand are a broken or hostile answer,
 * and must not end the process.
 */
export function asJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch (error) {
    if (error instanceof RangeError) return '(nested too deeply to be shown)';
    throw error;
  }
}
