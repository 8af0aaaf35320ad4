type Body = Readonly<Record<string, unknown>>;

/** An answer without what differs between any two: the time. */
export async function ownAnswer(url: string, body: Body): Promise<Body> {
  return withoutTime(await post(`${url}${CHAT}`, body, { 'x-request-id': ID }));
}

/** The answer to the same chat when it is rendered, generated from token ids, and derendered. */
export async function derenderedAnswer(url: string, body: Body): Promise<Body> {
  const rendered = await post(`${url}${CHAT}/render`, body);
  const generated = await post(`${url}/inference/v1/generate`, { ...rendered, request_id: ID });
  const tokens = rendered['token_ids'] as readonly number[];
  return withoutTime(
    await post(`${url}${CHAT}/derender`, {
      model: body['model'],
      chat_request: body,
      generate_response: { ...generated, request_id: `chatcmpl-${ID}` },
      prompt_tokens: tokens.length,
      prompt_token_ids: tokens,
    }),
  );
}

/** The fields in which two values differ, as `a.0.b`. */
export function differences(left: unknown, right: unknown, at = ''): readonly string[] {
  if (isObject(left) && isObject(right))
    return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((name) =>
      differences(left[name], right[name], at === '' ? name : `${at}.${name}`),
    );
  return left === right ? [] : [at];
}

const CHAT = '/v1/chat/completions';
const ID = 'one-request';

async function post(url: string, body: Body, headers: Record<string, string> = {}): Promise<Body> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} answered ${answer.status} ${text}`);
  return JSON.parse(text) as Body;
}

function withoutTime({ created, ...answer }: Body): Body {
  return answer;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
