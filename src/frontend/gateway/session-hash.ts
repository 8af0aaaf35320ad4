import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject } from '../../edge/platform/data/json-object.js';

/** Where the name of a session is read: in a header, in a field of the body, or nowhere. */
export type SessionAffinity = 'header' | 'user' | 'off';

/**
 * Headers that name a session, the first that is there: vLLM's router and most agents (`x-session-id`), opencode
 * (`x-session-affinity`), SGLang's model gateway, Dynamo, Claude Code, Codex (both spellings).
 */
const HEADERS = [
  'x-session-id',
  'x-session-affinity',
  'x-smg-routing-key',
  'x-dynamo-session-id',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
] as const;

/**
 * Fields that name a conversation or a user, the first that is there: OpenAI's `prompt_cache_key`, then `user` and
 * `safety_identifier` that took its place; Anthropic's `metadata.user_id`.
 */
const FIELDS = ['prompt_cache_key', 'user', 'safety_identifier'] as const;

/** Characters of a name that count. */
const MAX_CHARS = 1_024;

/**
 * 32 bits of the name of a request's session, which say nothing of the name itself; undefined where it has none.
 * Requests with equal bits are given to the same worker where several are equally good.
 */
export function sessionHashOf(
  affinity: SessionAffinity,
  headers: IncomingHttpHeaders,
  body: unknown,
): number | undefined {
  if (affinity === 'off') return undefined;
  const name = affinity === 'header' ? nameInHeaders(headers) : nameInBody(body);
  if (name === undefined) return undefined;
  return Number.parseInt(hash('sha256', name.slice(0, MAX_CHARS), 'hex').slice(0, 8), 16);
}

function nameInHeaders(headers: IncomingHttpHeaders): string | undefined {
  for (const header of HEADERS) {
    const value = headers[header];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

function nameInBody(body: unknown): string | undefined {
  if (!isJsonObject(body)) return undefined;
  for (const field of FIELDS) if (isName(body[field])) return body[field];
  const { metadata } = body;
  const userId = isJsonObject(metadata) ? metadata['user_id'] : undefined;
  return isName(userId) ? userId : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
