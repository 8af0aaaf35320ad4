import type { IncomingMessage } from 'node:http';

/** Why a request is refused for its head alone, in every server of this program. */
export interface HeadProblem {
  readonly status: 400 | 417 | 431;
  readonly text: string;
}

/** What Node's parser says nothing of. */
export const BAD_EXPECT: HeadProblem = { status: 417, text: 'Of Expect only 100-continue is understood.' };

/**
 * Looks at what Node's parser lets pass or answers without a body: further
 * headers than are taken, which it would leave out in silence, two `Host`
 * headers, of which others may believe the second one, and none in HTTP/1.1
 * (RFC 9112, 3.2).
 */
export function findHeadProblem(
  { rawHeaders, httpVersion }: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>,
  maxHeaders: number,
): HeadProblem | undefined {
  if (rawHeaders.length > 2 * maxHeaders)
    return { status: 431, text: `There are more than ${maxHeaders} headers.` };
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  if (hosts > 1) return { status: 400, text: 'There is more than one Host header.' };
  if (hosts === 0 && httpVersion === '1.1') return { status: 400, text: 'There is no Host header.' };
  return undefined;
}
