import { OpenAiError } from '../errors/openai-error.js';

/** Parts that are looked at; a transcription has ten. */
const MAX_PARTS = 256;
/** Longest head of a part, and longest value of a field that is read. */
const MAX_HEAD_BYTES = 4_096;
const MAX_VALUE_BYTES = 1_024;

const BOUNDARY = /^\s*multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;

const CRLF = '\r\n';

/** The boundary that a type of `multipart/form-data` names (RFC 2046: at most 70 characters); undefined for another type. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  const found = BOUNDARY.exec(contentType ?? '');
  return found?.[1] ?? found?.[2];
}

/**
 * The value of a field of a form (RFC 7578), as far as a router needs one: a
 * short text. Undefined where there is none. Throws an `OpenAiError` for a body
 * that is no form.
 */
export function formField(body: Buffer, boundary: string, name: string): string | undefined {
  const delimiter = Buffer.from(`--${boundary}`, 'latin1');
  let at = body.indexOf(delimiter);
  if (at === -1) throw new OpenAiError(400, 'The body is not the form that its Content-Type says.');
  for (let parts = 0; parts < MAX_PARTS; parts += 1) {
    const headStart = at + delimiter.length;
    const headEnd = body.indexOf(`${CRLF}${CRLF}`, headStart, 'latin1');
    const next = body.indexOf(delimiter, headStart);
    if (headEnd === -1 || next === -1) return undefined;
    const head = body.toString('utf8', headStart, Math.min(headEnd, headStart + MAX_HEAD_BYTES));
    const valueEnd = next - CRLF.length;
    if (headEnd < next && nameOf(head) === name && valueEnd - headEnd - 4 <= MAX_VALUE_BYTES)
      return body.toString('utf8', headEnd + 4, valueEnd);
    at = next;
  }
  return undefined;
}

function nameOf(head: string): string | undefined {
  return /^content-disposition\s*:[^\r\n]*?;\s*name="([^"\r\n]*)"/im.exec(head)?.[1];
}
