import { cleanTexts } from '../model/clean-texts.js';
import { stored } from './stored.js';

/** The server wants to know who asks. */
export class AccessError extends Error {}

/** The server has as many streams as it takes. */
export class FullError extends Error {}

/** Longest wait for an answer, in milliseconds; a stream is watched for silence instead. */
const ANSWER_TIMEOUT_MS = 15_000;

/** Asks below `api/v1/`, with the token that the reader gave. The caller reads the body. */
export async function request(path: string, signal: AbortSignal, accept: string): Promise<Response> {
  const token = stored('token');
  const response = await fetch(`api/v1/${path}`, {
    signal,
    cache: 'no-store',
    credentials: 'same-origin',
    headers: { accept, ...(token === '' ? {} : { authorization: `Bearer ${token}` }) },
  });
  if (response.ok) return response;
  const message = await refusalOf(response);
  if (response.status === 503) throw new FullError(message);
  throw response.status === 401 || response.status === 403 ? new AccessError(message) : new Error(message);
}

/** A JSON answer, its texts fit to be shown. */
export async function askJson<Answer>(path: string): Promise<Answer> {
  const response = await request(path, AbortSignal.timeout(ANSWER_TIMEOUT_MS), 'application/json');
  return cleanTexts((await response.json()) as Answer);
}

/** What a refusal says: the status, and the server's own words where it has any. */
async function refusalOf(response: Response): Promise<string> {
  const said = `HTTP ${response.status}`;
  try {
    const { error } = cleanTexts((await response.json()) as { error?: { message?: string } });
    return error?.message === undefined ? said : `${said}: ${error.message}`;
  } catch {
    // A proxy in front answers HTML.
    return said;
  }
}

/** What anything that was thrown says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
