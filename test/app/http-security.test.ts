import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { httpSecurityOf } from '../../src/app/http-security.js';
import { loadSecurity } from '../../src/edge/security/load-security.js';
import { createPlaintextSecurity, type Security } from '../../src/edge/security/security.js';
import { FakeClock } from '../support/fake-clock.js';
import { RecordingLogger } from '../support/recording-logger.js';

let folder = '';
let security: Security | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kv-accord-'));
});
afterEach(async () => {
  security?.close();
  await rm(folder, { recursive: true });
});

const certificate = (name: string): URL => new URL(`../edge/http/certificates/${name}.pem`, import.meta.url);
const TOKEN = 'abcdefghijklmnopqrstuvwxyz';

describe('HTTP below the rules of gRPC', () => {
  test('is open where nothing is configured', () => {
    const { access, tls } = httpSecurityOf(createPlaintextSecurity(), { tlsClientAuth: 'none' });
    expect(access?.findCallerProblem(undefined, false)).toBeUndefined();
    expect(tls).toBeUndefined();
  });

  test('asks for the same token', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, TOKEN);
    security = await loadSecurity({ tokenFile }, { clock: new FakeClock(), logger: new RecordingLogger() });
    const { access } = httpSecurityOf(security, { tlsClientAuth: 'none' });
    expect(access?.findCallerProblem(`Bearer ${TOKEN}`, false)).toBeUndefined();
    for (const wrong of [undefined, '', `Bearer ${TOKEN}x`, TOKEN, 'Bearer \u00ff\u0000', `Basic ${TOKEN}`]) {
      expect(access?.findCallerProblem(wrong, false)).toEqual(expect.any(String));
    }
  });

  test('serves the same certificates, also after they have rotated', async () => {
    const [tlsCert, tlsKey] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const put = async (name: string): Promise<void> => {
      await copyFile(certificate(`${name}-cert`), tlsCert);
      await copyFile(certificate(`${name}-key`), tlsKey);
    };
    await put('first');
    const clock = realTime();
    security = await loadSecurity({ tlsCert, tlsKey }, { clock, logger: new RecordingLogger() });
    const { tls } = httpSecurityOf(security, { tlsClientAuth: 'request' });
    const first = tls?.current();
    expect(first).toMatchObject({ cert: expect.stringContaining('BEGIN CERTIFICATE') });
    expect(tls?.current()).toBe(first);
    expect(tls?.clientAuth).toBe('request');
    await put('second');
    // The files are real ones: their reading takes real time between the ticks of the fake clock.
    await vi.waitFor(async () => {
      await clock.advanceMs(60_000);
      expect(tls?.current()).not.toBe(first);
    });
    expect(String(tls?.current().cert)).toBe(await readFile(certificate('second-cert'), 'utf8'));
  });
});

/** A fake clock whose wall stands after the certificates were made. */
function realTime(): FakeClock {
  const clock = new FakeClock();
  clock.stepWallMs(365 * 24 * 3_600_000);
  return clock;
}
