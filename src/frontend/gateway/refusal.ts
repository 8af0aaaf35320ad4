import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ApiShape, OPENAI_SHAPE, sendError, writeError } from '../errors/api-shapes.js';
import type { OpenAiError } from '../errors/openai-error.js';

/** Bytes of a refused body that are read and thrown away, so that a client that sends all before it reads gets its answer. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** Up to this length it is not worth another connection to leave a body unread. */
const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Refuses a request, whose body may still be coming. A connection that is
 * closed while the other side sends is reset, and the answer is lost with it:
 * so the answer is sent immediately, and the rest is read and thrown away, within
 * a bound. What is sent too slowly ends with the server's own time-out.
 */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  error: OpenAiError,
  shape: ApiShape = OPENAI_SHAPE,
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  if (request.complete || !hasBody(request)) {
    sendError(response, error, shape);
    return;
  }
  const declaredBytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  if (declaredBytes > SMALL_BODY_BYTES) response.setHeader('connection', 'close');
  const { headers, body } = writeError(error, shape);
  response.writeHead(error.status, headers);
  response.write(body);
  let left = MAX_DISCARDED_BYTES;
  request.on('data', (piece: Buffer) => {
    left -= piece.length;
    if (left < 0) request.destroy();
  });
  const end = (): void => void response.end();
  request.once('end', end);
  request.once('close', end);
  request.resume();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
