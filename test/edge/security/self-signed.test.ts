import { X509Certificate } from 'node:crypto';
import { connect, createServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { createSelfSigned } from '../../../src/edge/security/self-signed.js';

const NOW_MS = Date.UTC(2026, 6, 1);

describe('a certificate that vouches for itself', () => {
  const made = createSelfSigned({ commonName: 'kv-accord epp', nowMs: NOW_MS, serial: 'f'.repeat(32) });
  const read = new X509Certificate(made.cert);

  it('has the name, a serial number above 0, and ten years from a day ago', () => {
    expect(read.subject).toBe('CN=kv-accord epp');
    expect(read.issuer).toBe(read.subject);
    expect(read.serialNumber).toBe(`01${'F'.repeat(30)}`);
    expect(Date.parse(read.validFrom)).toBe(NOW_MS - 24 * 3_600_000);
    expect(Date.parse(read.validTo)).toBe(NOW_MS + 3_650 * 24 * 3_600_000);
  });

  it('is signed by its own key', () => {
    expect(read.verify(read.publicKey)).toBe(true);
  });

  it('serves TLS, also to a peer that checks the chain against it', async () => {
    const now = createSelfSigned({ commonName: 'localhost', nowMs: Date.now(), serial: '0'.repeat(32) });
    const server = createServer({ cert: now.cert, key: now.key }, (socket) => socket.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const text = await new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', ca: now.cert, checkServerIdentity: () => undefined });
      socket.once('data', (data) => resolve(String(data)));
      socket.once('error', reject);
    });
    expect(text).toBe('hello');
    await new Promise((resolve) => server.close(resolve));
  });
});
