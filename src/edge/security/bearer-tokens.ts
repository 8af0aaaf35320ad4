import { createHash, timingSafeEqual } from 'node:crypto';
import { SecurityError } from './security-error.js';

/** Fewest characters of a token: 16 random ones of base64 have 96 bits. */
const MIN_TOKEN_CHARS = 16;
/** Most characters: it has to fit into the metadata of a call beside other things. */
const MAX_TOKEN_CHARS = 4_096;
/** Most tokens of one file; a rotation needs two. */
const MAX_TOKENS = 8;

/** What a bearer token is made of (RFC 6750, 2.1: `b68token`). */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Tokens that are accepted; the first is the one that is sent. */
export type Tokens = readonly [string, ...string[]];

/**
 * Reads a token file: one token a line, blank lines and lines that begin with
 * `#` left out. The first is what clients send; all of them are accepted, so
 * that a new token can be spread before the old one goes. Throws a
 * `SecurityError` that never quotes a token.
 */
export function readTokens(path: string, text: string): Tokens {
  const lines = text.split(/\r?\n/);
  const tokens: string[] = [];
  for (const [at, line] of lines.entries()) {
    const token = line.trim();
    if (token === '' || token.startsWith('#')) continue;
    const problem = findTokenProblem(token);
    if (problem !== undefined) {
      throw new SecurityError('bad_token', '--token-file', `${path}: line ${at + 1} ${problem}`);
    }
    tokens.push(token);
  }
  const [first, ...others] = tokens;
  if (first === undefined) {
    const message = `${path}: has no token; one line of at least ${MIN_TOKEN_CHARS} characters is expected`;
    throw new SecurityError('bad_token', '--token-file', message);
  }
  if (tokens.length > MAX_TOKENS) {
    const message = `${path}: has ${tokens.length} tokens, at most ${MAX_TOKENS} are taken`;
    throw new SecurityError('bad_token', '--token-file', message);
  }
  return [first, ...others];
}

function findTokenProblem(token: string): string | undefined {
  if (token.length < MIN_TOKEN_CHARS)
    return `has ${token.length} characters, at least ${MIN_TOKEN_CHARS} are needed`;
  if (token.length > MAX_TOKEN_CHARS)
    return `has ${token.length} characters, at most ${MAX_TOKEN_CHARS} are taken`;
  if (!TOKEN.test(token))
    return 'has characters that a bearer token cannot have (allowed: A-Z a-z 0-9 - . _ ~ + / =)';
  return undefined;
}

/**
 * Whether `presented` is one of `accepted`. The time that it takes shows
 * nothing of how much was right: digests of equal length are compared, each
 * with every token.
 */
export function isAcceptedToken(presented: string, accepted: Tokens): boolean {
  const asked = digest(presented);
  let isAccepted = false;
  for (const token of accepted) {
    if (timingSafeEqual(asked, digest(token))) isAccepted = true;
  }
  return isAccepted;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
