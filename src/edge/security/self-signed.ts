import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate and its key, PEM. */
export interface SelfSigned {
  readonly cert: string;
  readonly key: string;
}

export interface SelfSignedOptions {
  /** Name of the subject and of the issuer, which are one: printable ASCII, up to 64 characters. */
  readonly commonName: string;
  /** When it is made, on the wall clock. */
  readonly nowMs: number;
  /** 32 hexadecimal digits, other ones for each certificate. */
  readonly serial: string;
}

/** Ten years: it lives in memory, and ends with its process. */
const LIFETIME_MS = 3_650 * 24 * 3_600_000;

/** Clocks of others may be behind. */
const MARGIN_MS = 24 * 3_600_000;

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const UTC_TIME = 0x17;
const VERSION_TAG = 0xa0;

/** `ecdsa-with-SHA256` (1.2.840.10045.4.3.2), as an AlgorithmIdentifier. */
const ECDSA_WITH_SHA256 = der(SEQUENCE, der(OBJECT_ID, Buffer.from('2a8648ce3d040302', 'hex')));

/** `id-at-commonName` (2.5.4.3). */
const COMMON_NAME = der(OBJECT_ID, Buffer.from('550403', 'hex'));

/**
 * Makes a certificate that vouches for itself (RFC 5280, version 3 without
 * extensions, ECDSA over P-256): what encrypts a connection whose peer checks
 * no name, as gateways do with their Endpoint Pickers.
 */
export function createSelfSigned({ commonName, nowMs, serial }: SelfSignedOptions): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(commonName)))));
  const body = der(
    SEQUENCE,
    der(VERSION_TAG, der(INTEGER, Buffer.from([2]))),
    // Positive: its first bit is clear. Never empty.
    der(INTEGER, Buffer.from(`01${serial.slice(0, 30)}`, 'hex')),
    ECDSA_WITH_SHA256,
    name,
    der(SEQUENCE, utcTime(nowMs - MARGIN_MS), utcTime(nowMs + LIFETIME_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = der(BIT_STRING, Buffer.from([0]), sign('sha256', body, privateKey));
  return {
    cert: pem('CERTIFICATE', der(SEQUENCE, body, ECDSA_WITH_SHA256, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** One element of DER: tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const digits = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, 0x80 | digits.length, ...digits]), content]);
}

/** `YYMMDDHHMMSSZ`: years from 1950 to 2049. */
function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14);
  return der(UTC_TIME, Buffer.from(`${digits}Z`));
}

function pem(what: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${what}-----\n${lines.join('\n')}\n-----END ${what}-----\n`;
}
