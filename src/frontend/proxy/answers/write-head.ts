import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';

/**
 * Writes the head of an answer. `headers` has names and values in turn, as
 * they came from a worker; those that HTTP does not allow are left out. Headers that were set before go with them.
 */
export function writeHeadSafely(response: ServerResponse, status: number, headers: readonly string[]): void {
  // Of headers that come more than once, Node 20 keeps one alone where others were set before.
  if (response.getHeaderNames().length > 0) {
    const pairs = validPairs(headers);
    for (let at = 0; at < pairs.length; at += 2)
      response.appendHeader(pairs[at] as string, pairs[at + 1] as string);
    response.writeHead(status);
    return;
  }
  try {
    response.writeHead(status, headers as string[]);
  } catch {
    // Node refuses all of them for one: which of them are valid is tried only then.
    response.writeHead(status, validPairs(headers));
  }
}

function validPairs(headers: readonly string[]): string[] {
  const valid: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] as string;
    const value = headers[at + 1] as string;
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      valid.push(name, value);
    } catch {
      // Left out: it cannot be sent, and the rest of the answer can.
    }
  }
  return valid;
}
