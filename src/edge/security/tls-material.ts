import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { messageOf } from '../platform/describe-error.js';
import { SecurityError } from './security-error.js';

/** TLS 1.2 at least: 1.0 and 1.1 are deprecated (RFC 8996). Said here so that Node's own default does not decide. */
const MIN_VERSION = 'TLSv1.2';

/** Certificates and key that were read and found usable. */
export interface TlsMaterial {
  readonly options: SecureContextOptions;
  readonly context: SecureContext;
  /** When our own certificate ends, in wall-clock milliseconds; undefined without one. */
  readonly expiresAtMs: number | undefined;
}

/** A PEM text and the file that it came from. */
export interface PemFile {
  readonly path: string;
  readonly text: string;
}

/** The files of one TLS setting; certificate and key come together or not at all. */
export interface TlsFiles {
  readonly pair?: { readonly cert: PemFile; readonly key: PemFile } | undefined;
  readonly ca?: PemFile | undefined;
}

/** Makes material of files, or throws a `SecurityError` that names the file and what is wrong with it. */
export function readTlsMaterial(files: TlsFiles, nowMs: number): TlsMaterial {
  const options: SecureContextOptions = { minVersion: MIN_VERSION };
  let expiresAtMs: number | undefined;
  if (files.ca !== undefined) options.ca = readAuthorities(files.ca, '--tls-ca', nowMs);
  if (files.pair !== undefined) {
    expiresAtMs = checkPair(files.pair.cert, files.pair.key, nowMs);
    options.cert = files.pair.cert.text;
    options.key = files.pair.key.text;
  }
  try {
    return { options, context: createSecureContext(options), expiresAtMs };
  } catch (error) {
    const { field, path } = files.pair
      ? { field: '--tls-cert', path: files.pair.cert.path }
      : { field: '--tls-ca', path: files.ca?.path };
    throw new SecurityError('unusable', field, `${path}: cannot be used for TLS (${messageOf(error)})`);
  }
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** Most certificates of one bundle; the public web's whole root store has about 150. */
const MAX_CERTIFICATES = 1_000;

function readCertificates(file: PemFile, field: string): X509Certificate[] {
  const blocks = file.text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) {
    const has = file.text.trim() === '' ? 'is empty' : 'has no "-----BEGIN CERTIFICATE-----" block';
    throw new SecurityError('not_pem', field, `${file.path}: ${has}; a PEM certificate is expected`);
  }
  if (blocks.length > MAX_CERTIFICATES) {
    const message = `${file.path}: has ${blocks.length} certificates, at most ${MAX_CERTIFICATES} are taken`;
    throw new SecurityError('not_pem', field, message);
  }
  return blocks.map((block, at) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      const message = `${file.path}: certificate ${at + 1} cannot be read (${messageOf(error)})`;
      throw new SecurityError('not_pem', field, message);
    }
  });
}

/**
 * The authorities of a PEM file, whose setting is `field`. A bundle is good
 * while one of its certificates is: old and new stand side by side during a
 * change of CA. Throws a `SecurityError`.
 */
export function readAuthorities(file: PemFile, field: string, nowMs: number): string {
  const certificates = readCertificates(file, field);
  if (certificates.every((certificate) => Date.parse(certificate.validTo) <= nowMs)) {
    const last = certificates.at(-1)?.validTo;
    throw new SecurityError('expired', field, `${file.path}: every certificate has expired (${last})`);
  }
  return file.text;
}

function checkPair(cert: PemFile, key: PemFile, nowMs: number): number {
  const own = readCertificates(cert, '--tls-cert')[0] as X509Certificate;
  const privateKey = readKey(key);
  if (!own.checkPrivateKey(privateKey)) {
    const message = `${cert.path}: does not belong to the key in --tls-key ${key.path}; both come from one issue`;
    throw new SecurityError('pair_mismatch', '--tls-cert', message);
  }
  const [fromMs, toMs] = [Date.parse(own.validFrom), Date.parse(own.validTo)];
  if (toMs <= nowMs) {
    throw new SecurityError('expired', '--tls-cert', `${cert.path}: expired on ${iso(toMs)}; renew it`);
  }
  if (fromMs > nowMs) {
    const message = `${cert.path}: is valid only from ${iso(fromMs)} on, and it is ${iso(nowMs)} now; is the clock right?`;
    throw new SecurityError('not_yet_valid', '--tls-cert', message);
  }
  return toMs;
}

function readKey(file: PemFile) {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(file.text)) {
    const message = `${file.path}: is encrypted with a passphrase; an unencrypted key is expected`;
    throw new SecurityError('not_pem', '--tls-key', message);
  }
  try {
    return createPrivateKey(file.text);
  } catch {
    // OpenSSL's words say nothing to a person here, and must not quote a key.
    const has = file.text.trim() === '' ? 'is empty' : 'has no private key that can be read';
    throw new SecurityError('not_pem', '--tls-key', `${file.path}: ${has}; a PEM private key is expected`);
  }
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
