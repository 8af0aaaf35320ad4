import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, constants, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { quietenResets } from '../../../src/edge/rpc/quiet-resets.js';
import { OpenThings } from '../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

/** How a stream of a server ends whose peer resets it. */
async function resetWith(code: number): Promise<{ error: unknown; rstCode: number | undefined }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  open.add(() => {
    session.destroy();
    server.close();
  });
  const ended = new Promise<{ error: unknown; rstCode: number | undefined }>((resolve) => {
    server.once('stream', (stream: ServerHttp2Stream) => {
      let error: unknown;
      stream.on('error', (one) => {
        error = one;
      });
      stream.once('close', () => resolve({ error, rstCode: stream.rstCode }));
      stream.respond({ ':status': 200 });
    });
  });
  const request = session.request({ ':method': 'POST', ':path': '/' }, { endStream: false });
  request.on('error', () => undefined).once('response', () => request.close(code));
  return ended;
}

describe('streams that their peer resets', () => {
  it('end with one error for all, where Node says of them, and with their own code', async () => {
    let isSaid = false;
    subscribe('http2.server.stream.close', () => {
      isSaid = true;
    });
    quietenResets();
    quietenResets();
    const [first, second] = [
      await resetWith(constants.NGHTTP2_INTERNAL_ERROR),
      await resetWith(constants.NGHTTP2_REFUSED_STREAM),
    ];
    expect([first.rstCode, second.rstCode]).toEqual([
      constants.NGHTTP2_INTERNAL_ERROR,
      constants.NGHTTP2_REFUSED_STREAM,
    ]);
    expect(first.error).toBeInstanceOf(Error);
    expect(first.error === second.error).toBe(isSaid);
  });

  it('end without one where Node makes none', async () => {
    quietenResets();
    expect((await resetWith(constants.NGHTTP2_CANCEL)).error).toBeUndefined();
  });
});
