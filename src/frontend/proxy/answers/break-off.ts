import type { ServerResponse } from 'node:http';

/**
 * Ends an answer so that its client sees that it is not whole. Closing is
 * enough where the length or the chunks show the end; where the end of the
 * connection is the end of the body (HTTP/1.0), only a reset shows it. `hasLength`
 * says whether its head had a length.
 */
export function breakOff(response: ServerResponse, hasLength: boolean): void {
  const { socket } = response;
  if (socket !== null && response.headersSent && !hasLength && !response.chunkedEncoding) {
    try {
      // Node ends the connection in order before it resets it (`destroySoon`): the client
      // would see an end like any other first, and one that does not read would hold it open.
      socket.destroySoon = () => socket.destroy();
      socket.resetAndDestroy();
      return;
    } catch {
      // Not a plain TCP connection: TLS has its own notice of the end, which destroying leaves out.
    }
  }
  response.destroy();
}
