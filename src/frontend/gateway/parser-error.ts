import type { Socket } from 'node:net';
import { type ApiShape, OPENAI_SHAPE, writeError } from '../errors/api-shapes.js';
import { OpenAiError } from '../errors/openai-error.js';

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
};

/**
 * Answers what Node's parser could not read, in the shape of every other error,
 * and closes the connection. `isAnswering` says whether a part of another
 * answer was already written to it: then nothing more may be. `shape` is that of the API that was being asked; undefined
 * where none was yet.
 */
export function answerParserError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  { isAnswering, shape }: { readonly isAnswering: boolean; readonly shape: ApiShape | undefined },
): void {
  // A client that has reset the connection, or never sent anything, gets no answer.
  if (!socket.writable || isAnswering || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  endWith(socket, toOpenAi(error.code), shape);
}

/** Answers who wants a tunnel, as `answerParserError` does. */
export function answerConnect(socket: Socket, isAnswering: boolean): void {
  if (!socket.writable || isAnswering) {
    socket.destroy();
    return;
  }
  endWith(
    socket,
    new OpenAiError(405, 'CONNECT is not understood: this is no proxy.', {
      code: 'method_not_supported',
      headers: { allow: 'GET, HEAD, POST' },
    }),
  );
}

function endWith(socket: Socket, error: OpenAiError, shape: ApiShape = OPENAI_SHAPE): void {
  const { status } = error;
  const { headers, body } = writeError(error, shape);
  const lines = Object.entries({ ...headers, connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.end(`HTTP/1.1 ${status} ${REASONS[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`, () =>
    socket.destroy(),
  );
}

function toOpenAi(code: string | undefined): OpenAiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new OpenAiError(431, 'The headers are too large.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new OpenAiError(413, 'The chunk extensions are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new OpenAiError(408, 'The request did not come within the time allowed.');
    default:
      return new OpenAiError(400, 'The request is not HTTP as it must be.');
  }
}
