import { subscribe } from 'node:diagnostics_channel';
import { constants, type ServerHttp2Stream } from 'node:http2';

/** Codes for which Node makes no error. */
const IN_ORDER: ReadonlySet<number | undefined> = new Set([
  constants.NGHTTP2_NO_ERROR,
  constants.NGHTTP2_CANCEL,
]);

/** What every stream ends with that its peer has reset. */
const RESET = new Error('The peer has reset the stream.');

let isQuiet = false;

/**
 * Ends streams of HTTP/2 servers of this process that are reset with an error
 * that was made before. Node (22) makes one for each, with its stack: where a
 * peer resets all of its streams, as Envoy does, that is a twentieth of all
 * that a short request costs, and nobody reads it. An older Node has no such
 * channel, and goes on as it does.
 */
export function quietenResets(): void {
  if (isQuiet) return;
  isQuiet = true;
  // Node says so after it has ended the writing side, which takes an error of its own where the stream is destroyed before,
  // and before it destroys the stream.
  subscribe('http2.server.stream.close', (message) => {
    const { stream } = message as { readonly stream: ServerHttp2Stream };
    if (!IN_ORDER.has(stream.rstCode)) stream.destroy(RESET);
  });
}
