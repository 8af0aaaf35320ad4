import { hash } from 'node:crypto';
import type { ApiKeyProblem } from '../errors/gateway-errors.js';

/** Fewest characters of a key: 16 random ones of base64 have 96 bits. */
const MIN_KEY_CHARS = 16;
/** Most characters: it stands in a header beside others. */
const MAX_KEY_CHARS = 1_024;
/** Most keys of one file. */
const MAX_KEYS = 10_000;

/** What a bearer token is made of (RFC 6750, 2.1: `b68token`). */
const KEY = /^[A-Za-z0-9\-._~+/]+=*$/;

/** A file of keys that cannot be used, and why; never with a key in it. */
export class ApiKeysError extends Error {
  override readonly name = 'ApiKeysError';
}

/**
 * Reads a file of API keys: one key a line, blank lines and lines that begin
 * with `#` left out. Throws an `ApiKeysError`.
 */
export function readApiKeys(text: string): string[] {
  const keys: string[] = [];
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    const key = line.trim();
    if (key === '' || key.startsWith('#')) continue;
    const problem = findKeyProblem(key);
    if (problem !== undefined) throw new ApiKeysError(`line ${at + 1} ${problem}`);
    keys.push(key);
  }
  if (keys.length === 0)
    throw new ApiKeysError(`has no key; one line of at least ${MIN_KEY_CHARS} characters is expected`);
  if (keys.length > MAX_KEYS)
    throw new ApiKeysError(`has ${keys.length} keys, at most ${MAX_KEYS} are taken`);
  return keys;
}

function findKeyProblem(key: string): string | undefined {
  if (key.length < MIN_KEY_CHARS) return `has ${key.length} characters, at least ${MIN_KEY_CHARS} are needed`;
  if (key.length > MAX_KEY_CHARS) return `has ${key.length} characters, at most ${MAX_KEY_CHARS} are taken`;
  if (!KEY.test(key))
    return 'has characters that a bearer token cannot have (allowed: A-Z a-z 0-9 - . _ ~ + / =)';
  return undefined;
}

/**
 * The keys that are accepted, as digests alone. They are looked up by a digest
 * with a secret of this process in it: whatever a caller measures of the time
 * that a look-up takes reveals nothing of a key, since nobody outside can know
 * which digest a guess has. The cost is the same for one key and for thousands.
 */
export class ApiKeys {
  readonly #digests: ReadonlySet<string>;
  readonly #secret: string;

  /** `secret`: what nobody outside this process knows. */
  constructor(keys: readonly string[], secret: string) {
    this.#secret = secret;
    this.#digests = new Set(keys.map((key) => this.#digest(key)));
  }

  /** What is wrong with an `Authorization` header; undefined for one with a key. */
  findProblem(authorization: string | undefined): ApiKeyProblem | undefined {
    if (authorization === undefined) return 'missing';
    const key = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
    if (key === undefined) return 'missing';
    return key.length <= MAX_KEY_CHARS && this.#digests.has(this.#digest(key)) ? undefined : 'wrong';
  }

  #digest(key: string): string {
    return hash('sha256', `${this.#secret}${key}`, 'base64');
  }
}
