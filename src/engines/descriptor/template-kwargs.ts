import { isJsonObject } from '../../edge/platform/data/json-object.js';
import { given } from './token-endpoint.js';

/** The variables that vLLM gives to a template beside messages and tools. */
export function templateKwargs(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const own = isJsonObject(body['chat_template_kwargs']) ? body['chat_template_kwargs'] : {};
  const kwargs: Record<string, unknown> = { ...own, ...given(body, ['documents', 'reasoning_effort']) };
  const effort = body['reasoning_effort'];
  if (effort !== undefined && effort !== null && !('enable_thinking' in own))
    kwargs['enable_thinking'] = effort !== 'none';
  return kwargs;
}
