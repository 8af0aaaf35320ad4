import { beforeAll, describe, expect, it } from 'vitest';
import { loadSecurity, type SecurityOptions } from '../../../src/edge/security/load-security.js';
import {
  checkExposure,
  createPlaintextSecurity,
  type Security,
} from '../../../src/edge/security/security.js';
import { SecurityError } from '../../../src/edge/security/security-error.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { type Identity, TestAuthority } from '../rpc/certificates.js';
import { address, cleanUp } from '../rpc/rpc-test-server.js';

/** What the fake clock's wall says at its start. */
const NOW_MS = new FakeClock().wallMs();
const HOUR_MS = 3_600_000;

/** Files in memory. */
class Files {
  readonly texts = new Map<string, string>();
  readonly readFile = async (path: string): Promise<Buffer> => {
    const text = this.texts.get(path);
    if (text === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    return Buffer.from(text);
  };

  writePair(identity: Identity): void {
    this.texts.set('/tls/tls.crt', identity.cert);
    this.texts.set('/tls/tls.key', identity.key);
  }
}

const PAIR = { tlsCert: '/tls/tls.crt', tlsKey: '/tls/tls.key' };

async function load(options: SecurityOptions, files: Files) {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const security = await loadSecurity(options, { clock, logger, readFile: files.readFile });
  cleanUp(() => {
    security.close();
    if (clock.pendingTimers > 0) throw new Error(`${clock.pendingTimers} timers stay`);
  });
  return { security, clock, logger };
}

async function problemOf(options: SecurityOptions, files: Files = new Files()): Promise<SecurityError> {
  const clock = new FakeClock();
  const error: unknown = await loadSecurity(options, {
    clock,
    logger: new RecordingLogger(),
    readFile: files.readFile,
  }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(SecurityError);
  await clock.advanceMs(0);
  expect(clock.pendingTimers, 'nothing is left running').toBe(0);
  return error as SecurityError;
}

const bearer = (token: string): string => `Bearer ${token}`;

const TOKEN = 'a-token-that-is-long-enough';

let authority: TestAuthority;
let pair: Identity;
beforeAll(async () => {
  authority = await TestAuthority.create('authority', NOW_MS);
  pair = await authority.issue();
});

describe('loading TLS files', () => {
  const cases: {
    says: string;
    options: SecurityOptions;
    files?: () => Promise<Record<string, string>>;
    code: string;
    message: string | RegExp;
  }[] = [
    {
      says: 'a certificate without its key',
      options: { tlsCert: '/tls/tls.crt' },
      code: 'options_conflict',
      message: '--tls-cert /tls/tls.crt: needs the key that belongs to it; set --tls-key',
    },
    {
      says: 'client certificates without an authority',
      options: { ...PAIR, tlsClientAuth: 'require' },
      code: 'options_conflict',
      message: '--tls-client-auth require: needs to know who signs the clients; set --tls-ca',
    },
    {
      says: 'both TLS and plaintext',
      options: { ...PAIR, insecure: true },
      code: 'options_conflict',
      message: '--insecure says plaintext and --tls-cert says TLS; keep one of them',
    },
    {
      says: 'a file that is not there',
      options: PAIR,
      code: 'unreadable',
      message: '--tls-cert /tls/tls.crt: does not exist',
    },
    {
      says: 'a key where the certificate should be',
      options: PAIR,
      files: async () => ({ '/tls/tls.crt': pair.key, '/tls/tls.key': pair.key }),
      code: 'not_pem',
      message:
        '--tls-cert /tls/tls.crt: has no "-----BEGIN CERTIFICATE-----" block; a PEM certificate is expected',
    },
    {
      says: 'an empty key',
      options: PAIR,
      files: async () => ({ '/tls/tls.crt': pair.cert, '/tls/tls.key': '\n' }),
      code: 'not_pem',
      message: '--tls-key /tls/tls.key: is empty; a PEM private key is expected',
    },
    {
      says: 'an encrypted key',
      options: PAIR,
      files: async () => ({
        '/tls/tls.crt': pair.cert,
        '/tls/tls.key': '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII=\n-----END ENCRYPTED PRIVATE KEY-----\n',
      }),
      code: 'not_pem',
      message: /^--tls-key \/tls\/tls.key: is encrypted with a passphrase/,
    },
    {
      says: 'a damaged certificate',
      options: PAIR,
      files: async () => ({
        '/tls/tls.crt': pair.cert.replace(/[A-Za-z0-9+/]{40}\n/, '\n'),
        '/tls/tls.key': pair.key,
      }),
      code: 'not_pem',
      message: /^--tls-cert \/tls\/tls.crt: certificate 1 cannot be read \(/,
    },
    {
      says: 'a key of another certificate',
      options: PAIR,
      files: async () => ({ '/tls/tls.crt': pair.cert, '/tls/tls.key': (await authority.issue()).key }),
      code: 'pair_mismatch',
      message: /^--tls-cert \/tls\/tls.crt: does not belong to the key in --tls-key \/tls\/tls.key/,
    },
    {
      says: 'an expired certificate',
      options: PAIR,
      files: async () => {
        const old = await authority.issue({ validFromMs: -2 * HOUR_MS, validToMs: -HOUR_MS });
        return { '/tls/tls.crt': old.cert, '/tls/tls.key': old.key };
      },
      code: 'expired',
      message: '--tls-cert /tls/tls.crt: expired on 2025-12-31T23:00:00.000Z; renew it',
    },
    {
      says: 'a certificate of tomorrow',
      options: PAIR,
      files: async () => {
        const early = await authority.issue({ validFromMs: HOUR_MS, validToMs: 2 * HOUR_MS });
        return { '/tls/tls.crt': early.cert, '/tls/tls.key': early.key };
      },
      code: 'not_yet_valid',
      message: /^--tls-cert .* is valid only from 2026-01-01T01:00:00.000Z on, and it is 2026-01-01T00:00:00/,
    },
    {
      says: 'an authority file that is something else',
      options: { tlsCa: '/tls/ca.crt' },
      files: async () => ({ '/tls/ca.crt': 'hello' }),
      code: 'not_pem',
      message: /^--tls-ca \/tls\/ca.crt: has no "-----BEGIN CERTIFICATE-----" block/,
    },
  ];
  for (const { says, options, files, code, message } of cases) {
    it(`refuses ${says}, in one line`, async () => {
      const given = new Files();
      for (const [path, text] of Object.entries((await files?.()) ?? {})) given.texts.set(path, text);
      const error = await problemOf(options, given);
      expect(error.code).toBe(code);
      expect(error.message).toMatch(message instanceof RegExp ? message : exactly(message));
      expect(error.message).not.toContain('\n');
    });
  }

  it('takes a bundle of authorities while one of them is valid', async () => {
    const files = new Files();
    const gone = await TestAuthority.create('gone', NOW_MS - 2_000 * HOUR_MS);
    files.texts.set('/tls/ca.crt', `${gone.pem}\n${authority.pem}`);
    const { security } = await load({ tlsCa: '/tls/ca.crt' }, files);
    expect(security.transport).toBe('tls');
    files.texts.set('/tls/ca.crt', gone.pem);
    expect((await problemOf({ tlsCa: '/tls/ca.crt' }, files)).code).toBe('expired');
  });
});

describe('rotation', () => {
  it('takes a new pair up, and says so once', async () => {
    const files = new Files();
    files.writePair(pair);
    const { security, clock, logger } = await load(PAIR, files);
    const before = security.secureContext();
    await clock.advanceMs(10_000);
    expect(security.secureContext()).toBe(before);
    files.writePair(await authority.issue());
    await clock.advanceMs(10_000);
    expect(security.secureContext()).not.toBe(before);
    expect(logger.messages()).toEqual(['Took up new TLS certificates']);
  });

  it('keeps a half-written pair out and the old pair in, and takes it up when it is whole', async () => {
    const files = new Files();
    files.writePair(pair);
    const { security, clock, logger } = await load(PAIR, files);
    const before = security.secureContext();
    const next = await authority.issue();
    files.texts.set('/tls/tls.crt', next.cert);
    await clock.advanceMs(60_000);
    expect(security.secureContext()).toBe(before);
    expect(logger.messages()).toEqual([
      'The TLS certificates in the files cannot be used; those before stay',
    ]);
    expect(logger.lines[0]?.fields['error']).toMatchObject({ code: 'pair_mismatch' });
    files.texts.set('/tls/tls.key', next.key);
    await clock.advanceMs(10_000);
    expect(security.secureContext()).not.toBe(before);
    expect(logger.messages('info')).toEqual(['Took up new TLS certificates']);
  });

  it('says nothing of a pair that is whole a moment later', async () => {
    const files = new Files();
    files.writePair(pair);
    const { clock, logger } = await load(PAIR, files);
    const next = await authority.issue();
    files.texts.set('/tls/tls.crt', next.cert);
    // Until the change has been seen and found wanting.
    await clock.advanceMs(2_500);
    files.texts.set('/tls/tls.key', next.key);
    await clock.advanceMs(10_000);
    expect(logger.messages()).toEqual(['Took up new TLS certificates']);
  });

  it('takes up a certificate when the clock reaches its first day', async () => {
    const files = new Files();
    files.writePair(pair);
    const { security, clock, logger } = await load(PAIR, files);
    const before = security.secureContext();
    files.writePair(await authority.issue({ validFromMs: 60_000 }));
    await clock.advanceMs(50_000);
    expect(security.secureContext()).toBe(before);
    await clock.advanceMs(15_000);
    expect(security.secureContext()).not.toBe(before);
    expect(logger.messages()).toEqual([
      'The TLS certificates in the files cannot be used; those before stay',
      'Took up new TLS certificates',
    ]);
  });

  it('keeps the old pair while the files are gone', async () => {
    const files = new Files();
    files.writePair(pair);
    const { security, clock, logger } = await load(PAIR, files);
    const before = security.secureContext();
    files.texts.clear();
    await clock.advanceMs(60_000);
    expect(security.secureContext()).toBe(before);
    expect(logger.messages()).toEqual([
      'The TLS certificates in the files cannot be used; those before stay',
    ]);
    expect(logger.lines[0]?.fields['error']).toMatchObject({ code: 'unreadable' });
    files.writePair(await authority.issue());
    await clock.advanceMs(10_000);
    expect(security.secureContext()).not.toBe(before);
  });
});

describe('bearer tokens', () => {
  async function loadTokens(text: string): Promise<{ security: Security; clock: FakeClock; files: Files }> {
    const files = new Files();
    files.texts.set('/token', text);
    return { ...(await load({ tokenFile: '/token' }, files)), files };
  }

  it('are asked of every caller', async () => {
    const { security } = await loadTokens(`${TOKEN}\n`);
    expect(security.bearerToken()).toBe(TOKEN);
    expect(security.findCallerProblem(bearer(TOKEN), false)).toBeUndefined();
    expect(security.findCallerProblem(bearer(`${TOKEN}x`), false)).toBe(
      'the token is not one that this server accepts',
    );
    expect(security.findCallerProblem(bearer(''), false)).toBe(
      'the metadata "authorization" is not the word Bearer, a space and a token',
    );
    // As several values of one call arrive.
    expect(security.findCallerProblem(`${bearer(TOKEN)}, ${bearer(TOKEN)}`, false)).toBe(
      'the metadata "authorization" is not the word Bearer, a space and a token',
    );
    expect(security.findCallerProblem(undefined, false)).toBe(
      'this server wants a token in the metadata "authorization"',
    );
  });

  it('may be several in a file: the first is sent, all are accepted', async () => {
    const { security } = await loadTokens(`# new\n${TOKEN}-2\n\n# old\n${TOKEN}\n`);
    expect(security.bearerToken()).toBe(`${TOKEN}-2`);
    expect(security.findCallerProblem(bearer(TOKEN), false)).toBeUndefined();
    expect(security.findCallerProblem(bearer(`${TOKEN}-2`), false)).toBeUndefined();
  });

  it('are read again when the file changes', async () => {
    const { security, clock, files } = await loadTokens(TOKEN);
    files.texts.set('/token', `${TOKEN}-2`);
    await clock.advanceMs(10_000);
    expect(security.bearerToken()).toBe(`${TOKEN}-2`);
    expect(security.findCallerProblem(bearer(TOKEN), false)).toBeDefined();
  });

  it('give way to a verified certificate only where certificates are requested', async () => {
    const files = new Files();
    files.writePair(pair);
    files.texts.set('/tls/ca.crt', authority.pem);
    files.texts.set('/token', TOKEN);
    const options = { ...PAIR, tlsCa: '/tls/ca.crt', tokenFile: '/token' };
    const requested = await load({ ...options, tlsClientAuth: 'request' }, files);
    expect(requested.security.findCallerProblem(undefined, true)).toBeUndefined();
    expect(requested.security.findCallerProblem(undefined, false)).toBeDefined();
    const required = await load({ ...options, tlsClientAuth: 'require' }, files);
    expect(required.security.findCallerProblem(undefined, true)).toBeDefined();
  });

  for (const [says, text, message] of [
    ['a short token', 'secret', '--token-file /token: line 1 has 6 characters, at least 16 are needed'],
    [
      'an empty file',
      '# nothing\n\n',
      '--token-file /token: has no token; one line of at least 16 characters is expected',
    ],
    [
      'a token with spaces',
      'correct horse battery staple',
      '--token-file /token: line 1 has characters that a bearer token cannot have (allowed: A-Z a-z 0-9 - . _ ~ + / =)',
    ],
  ] as const) {
    it(`refuses ${says} and does not quote it`, async () => {
      const files = new Files();
      files.texts.set('/token', text);
      const error = await problemOf({ tokenFile: '/token' }, files);
      expect(error.code).toBe('bad_token');
      expect(error.message).toBe(message);
    });
  }
});

describe('exposure', () => {
  const plaintext = createPlaintextSecurity();

  for (const listen of ['127.0.0.1:50061', '[::1]:50061', 'localhost:50061', 'unix:/run/kv-accord.sock']) {
    it(`lets plaintext be served on ${listen}`, () => {
      expect(checkExposure(address(listen), plaintext)).toBeUndefined();
    });
  }

  for (const listen of ['0.0.0.0:50061', '[::]:50061', '192.0.2.1:50061', 'worker-1:50061']) {
    it(`refuses plaintext on ${listen} unless it is allowed explicitly`, () => {
      expect(checkExposure(address(listen), plaintext)).toBe(
        `--listen ${listen}: other machines could reach it, and it would be plaintext; ` +
          'set --tls-cert and --tls-key, or say --insecure, or listen on 127.0.0.1',
      );
      const insisted = createPlaintextSecurity({ allowsPlaintext: true });
      expect(checkExposure(address(listen), insisted)).toBeUndefined();
    });
  }

  it('refuses to serve TLS without a certificate', async () => {
    const files = new Files();
    files.texts.set('/tls/ca.crt', authority.pem);
    const { security } = await load({ tlsCa: '/tls/ca.crt' }, files);
    expect(checkExposure(address('0.0.0.0:1'), security)).toBe(
      '--listen 0.0.0.0:1: there is a --tls-ca but nothing to serve TLS with; set --tls-cert and --tls-key',
    );
  });
});

function exactly(text: string): RegExp {
  return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}
