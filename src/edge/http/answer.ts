import type { ServerResponse } from 'node:http';
import { jsonText, withoutControls } from '../../core/text/printable.js';

/** What a caller gets. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Sent in place of `body`, such as a file that is compressed already. */
  readonly bytes?: Buffer;
  /** Beside those that every answer has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Plain text, with a line feed at its end so that a terminal stays tidy. */
export function textAnswer(status: number, text: string, headers?: Record<string, string>): HttpAnswer {
  const clean = withoutControls(text);
  const body = clean.endsWith('\n') ? clean : `${clean}\n`;
  return {
    status,
    contentType: 'text/plain; charset=utf-8',
    body,
    ...(headers === undefined ? {} : { headers }),
  };
}

/** JSON, indented: people read it too, with nothing but curl. */
export function jsonAnswer(status: number, value: unknown): HttpAnswer {
  return { status, contentType: 'application/json', body: `${jsonText(value, 2)}\n` };
}

/** What every answer carries: nothing here may be kept, and nothing may be taken for what it is not. */
const COMMON_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** Sends it whole; what was set on the response before goes with it. A HEAD gets the headers alone. */
export function sendAnswer(response: ServerResponse, answer: HttpAnswer): void {
  const body = answer.bytes ?? answer.body;
  response.writeHead(answer.status, {
    ...COMMON_HEADERS,
    ...answer.headers,
    'content-type': answer.contentType,
    'content-length': Buffer.byteLength(body),
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
