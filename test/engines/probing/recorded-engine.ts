import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** What a recorded engine says at one path: a body with status 200, or anything that a test writes by hand. */
export type RecordedAnswer =
  | string
  | { readonly status?: number; readonly type?: string; readonly body: string }
  | ((request: IncomingMessage, response: ServerResponse) => void);

/** A real HTTP server on a free port of the loopback that answers from recordings. */
export interface RecordedEngine extends AsyncDisposable {
  readonly url: string;
  /** Method and path of every request, in the order they came: `GET /v1/models`. */
  readonly requests: readonly string[];
  /** Connections that are open now. */
  readonly openSockets: number;
  /** Headers of the newest request. */
  readonly lastHeaders: IncomingMessage['headers'];
}

/** The text of a recording in `test/fixtures/engines`. */
export function recording(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../fixtures/engines/${path}`, import.meta.url)), 'utf8');
}

/** Serves recordings by path with its query; any other path is 404, as every engine answers it. */
export async function serveRecordings(
  answers: Readonly<Record<string, RecordedAnswer>>,
): Promise<RecordedEngine> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let lastHeaders: IncomingMessage['headers'] = {};
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    lastHeaders = request.headers;
    const answer = answers[request.url ?? ''];
    if (typeof answer === 'function') return answer(request, response);
    if (answer === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"detail":"Not Found"}');
      return;
    }
    const { status = 200, type, body } = typeof answer === 'string' ? { body: answer } : answer;
    const guessed = body.startsWith('{') ? 'application/json' : 'text/plain; version=1.0.0; charset=utf-8';
    response.writeHead(status, { 'content-type': type ?? guessed }).end(body);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    // A client that gives up in the middle resets the connection; that is what some tests are about.
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get openSockets() {
      return sockets.size;
    },
    get lastHeaders() {
      return lastHeaders;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
