import { OpenAiError } from '../errors/openai-error.js';

/** What a request of OpenAI's Responses goes on from. */
export interface Continued {
  readonly id: string;
  /** Where engines list such things. */
  readonly collection: string;
  /** The field that names it. */
  readonly param: string;
}

type Body = Readonly<Record<string, unknown>>;

/**
 * What a request goes on from, which one worker alone keeps; undefined for one
 * that stands for itself. Throws an `OpenAiError` for what cannot be served:
 * `background`, whose answer another request would fetch after this one is over,
 * from an engine that may be gone.
 */
export function continuedFrom(body: Body): Continued | undefined {
  if (body['background'] === true)
    throw new OpenAiError(
      400,
      'background is not served here: a response that runs on by itself would be lost with its worker. Ask for it as a stream, or without background.',
      { param: 'background', code: 'unsupported_parameter' },
    );
  const previous = body['previous_response_id'];
  if (previous !== undefined && previous !== null)
    return {
      id: idOf(previous, 'previous_response_id'),
      collection: '/v1/responses',
      param: 'previous_response_id',
    };
  const conversation = body['conversation'];
  if (conversation === undefined || conversation === null) return undefined;
  const id = typeof conversation === 'object' ? (conversation as Body)['id'] : conversation;
  return { id: idOf(id, 'conversation'), collection: '/v1/conversations', param: 'conversation' };
}

function idOf(value: unknown, param: string): string {
  if (typeof value === 'string') return value;
  throw new OpenAiError(400, `The ${param} must be a string.`, { param });
}
