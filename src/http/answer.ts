/** What a caller gets. */
export interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Beside those that every answer has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Plain text, with a line feed at its end so that a terminal stays tidy. */
export function textAnswer(status: number, text: string, headers?: Record<string, string>): HttpAnswer {
  const body = text.endsWith('\n') ? text : `${text}\n`;
  return {
    status,
    contentType: 'text/plain; charset=utf-8',
    body,
    ...(headers === undefined ? {} : { headers }),
  };
}

/** JSON, indented: people read it too, with nothing but curl. */
export function jsonAnswer(status: number, value: unknown): HttpAnswer {
  return { status, contentType: 'application/json', body: `${JSON.stringify(value, undefined, 2)}\n` };
}
