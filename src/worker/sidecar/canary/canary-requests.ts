import { tryParseJson } from '../../../edge/platform/data/bounded-json.js';
import { objectOf } from '../../../edge/platform/data/json-object.js';
import { engineOfKind } from '../../../engines/catalogue/engines.js';
import type { PromptPath, SmallPrompt } from '../../../engines/descriptor/prompt-path.js';
import { readTokenAnswer } from '../../../engines/descriptor/token-answer.js';
import type { TokenEndpoint } from '../../../engines/descriptor/token-endpoint.js';
import type { EngineKind } from '../../../gen/kvaccord/v1/capabilities.js';

/** Value of `user` in every request of the canary, by which an operator finds it in an engine's log. */
const CANARY_USER = 'kv-accord-canary';

/** The paths that an engine serves, the one that reports most of its cache first; empty for an engine that is not known. */
export function canaryPaths(engineKind: EngineKind): readonly PromptPath[] {
  return engineOfKind(engineKind)?.promptPaths ?? [];
}

/** The body that asks for one token. */
export function canaryBody(
  path: PromptPath,
  prompt: SmallPrompt,
  model: string,
): Readonly<Record<string, unknown>> {
  return path.body(prompt, model, CANARY_USER);
}

/** A request whose answer has the tokens of a chat message. */
interface Rendering {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly tokenField: TokenEndpoint['tokenField'];
}

/** Where an engine says which tokens a chat message becomes, in the order in which they are tried. */
export function renderAsks(engineKind: EngineKind, text: string, model: string): readonly Rendering[] {
  const messages = [{ role: 'user', content: text }];
  const request = { kind: 'chat', messages, body: { messages }, isPlain: true } as const;
  const endpoints = engineOfKind(engineKind)?.tokenEndpoints ?? [];
  return endpoints
    .filter(({ kinds }) => kinds.includes('chat'))
    .map((endpoint) => ({
      path: endpoint.path('chat'),
      body: endpoint.body(request, model),
      tokenField: endpoint.tokenField,
    }));
}

/** What an engine counted of one request. */
export interface CanaryCounts {
  readonly promptTokens: number | undefined;
  readonly cachedTokens: number | undefined;
}

/** Reads the counts of an answer: OpenAI's `usage`, or SGLang's `meta_info`. */
export function readCounts(body: string): CanaryCounts {
  const answer = objectOf(tryParseJson(body));
  const usage = objectOf(answer['usage']);
  const meta = objectOf(Array.isArray(answer['meta_info']) ? answer['meta_info'][0] : answer['meta_info']);
  return {
    promptTokens: count(usage['prompt_tokens']) ?? count(meta['prompt_tokens']),
    cachedTokens:
      count(objectOf(usage['prompt_tokens_details'])['cached_tokens']) ?? count(meta['cached_tokens']),
  };
}

/** Reads the tokens of a rendering; undefined when there are none, or more than `maxTokens`. */
export function readTokens(
  body: string,
  field: TokenEndpoint['tokenField'],
  maxTokens: number,
): readonly number[] | undefined {
  const tokens = readTokenAnswer(tryParseJson(body), field, maxTokens);
  return tokens === undefined || tokens.length === 0 ? undefined : [...tokens];
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= 0xffff_ffff
    ? value
    : undefined;
}
