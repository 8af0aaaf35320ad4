import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { createHttpGet } from '../../../../src/edge/platform/net/http-get.js';
import { OpenThings } from '../../../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

const pem = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../http/certificates/${name}`, import.meta.url)), 'utf8');

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.add(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const tlsServer = (): Server =>
  createServer({ cert: pem('first-cert.pem'), key: pem('first-key.pem') }, (_, response) => {
    response.end('ok');
  });

const get = (url: string, ca?: string) =>
  createHttpGet(ca === undefined ? {} : { ca: () => ca })(url, { signal: new AbortController().signal });

describe('an engine with a private authority', () => {
  it('is reached with its authority, by name and by address', async () => {
    const port = await listen(tlsServer());
    for (const host of ['localhost', '127.0.0.1'])
      expect(await get(`https://${host}:${port}/`, pem('ca.pem'))).toMatchObject({ status: 200, body: 'ok' });
  });

  it('names the flag where the authority is missing or another one', async () => {
    const port = await listen(tlsServer());
    for (const ca of [undefined, pem('stranger-cert.pem')])
      await expect(get(`https://localhost:${port}/`, ca)).rejects.toMatchObject({
        code: 'unreachable',
        message: expect.stringContaining('--engine-tls-ca'),
      });
  });

  it('says which scheme is right where TLS and plaintext meet', async () => {
    const tls = await listen(tlsServer());
    await expect(get(`http://127.0.0.1:${tls}/`)).rejects.toThrow('begins with https://');
    const plain = await listen(createHttpServer((_, response) => response.end('ok')));
    // OpenSSL's reason without its thread, code and line of source.
    await expect(get(`https://127.0.0.1:${plain}/`)).rejects.toThrow(
      /begins with http:\/\/ then \((?:wrong version number|packet length too long)\)$/,
    );
  });
});
