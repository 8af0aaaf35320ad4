import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { cleanUp } from './rpc-test-server.js';

// Certificates are made by a library in the test itself: prepared ones would
// expire one day, and an `openssl` command is not on every machine.
x509.cryptoProvider.set(webcrypto);

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const HOUR_MS = 3_600_000;

/** A certificate with its key, both as PEM. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

export interface IdentityOptions {
  readonly name?: string;
  /** Names and addresses; default those of this machine. */
  readonly hosts?: readonly string[];
  /** From now, in milliseconds. */
  readonly validFromMs?: number;
  readonly validToMs?: number;
}

/** A certificate authority that lives as long as the test. */
export class TestAuthority {
  readonly #keys: webcrypto.CryptoKeyPair;
  readonly #certificate: x509.X509Certificate;
  readonly #nowMs: number;

  private constructor(keys: webcrypto.CryptoKeyPair, certificate: x509.X509Certificate, nowMs: number) {
    this.#keys = keys;
    this.#certificate = certificate;
    this.#nowMs = nowMs;
  }

  static async create(name = 'test authority', nowMs: number = Date.now()): Promise<TestAuthority> {
    const keys = await makeKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: `CN=${name}`,
      keys,
      signingAlgorithm: ALGORITHM,
      notBefore: new Date(nowMs - 1_000 * HOUR_MS),
      notAfter: new Date(nowMs + 1_000 * HOUR_MS),
      extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
    });
    return new TestAuthority(keys, certificate, nowMs);
  }

  get pem(): string {
    return this.#certificate.toString('pem');
  }

  async issue(options: IdentityOptions = {}): Promise<Identity> {
    const { name = 'peer', hosts = ['localhost', '127.0.0.1', '::1'] } = options;
    const { validFromMs = -HOUR_MS, validToMs = HOUR_MS } = options;
    const keys = await makeKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      subject: `CN=${name}`,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHM,
      notBefore: new Date(this.#nowMs + validFromMs),
      notAfter: new Date(this.#nowMs + validToMs),
      extensions: [
        new x509.SubjectAlternativeNameExtension(
          hosts.map((host) => ({ type: /^[\d.]+$|:/.test(host) ? 'ip' : 'dns', value: host })),
        ),
      ],
    });
    return { cert: certificate.toString('pem'), key: await exportKey(keys.privateKey) };
  }
}

/** A folder with files that tests write and rewrite; it is removed after the test. */
export class TestFolder {
  readonly #path = mkdtempSync(join(tmpdir(), 'kv-accord-rpc-'));

  constructor() {
    cleanUp(() => rmSync(this.#path, { recursive: true, force: true }));
  }

  /** Writes a file and gives its path. */
  write(name: string, text: string): string {
    const path = this.path(name);
    writeFileSync(path, text);
    return path;
  }

  path(name: string): string {
    return join(this.#path, name);
  }

  /** Writes `NAME.crt` and `NAME.key`. */
  writeIdentity(name: string, identity: Identity): { readonly tlsCert: string; readonly tlsKey: string } {
    return {
      tlsCert: this.write(`${name}.crt`, identity.cert),
      tlsKey: this.write(`${name}.key`, identity.key),
    };
  }
}

async function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}
