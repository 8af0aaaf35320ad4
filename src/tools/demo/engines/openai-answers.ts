import type { EngineRequest } from './openai-request.js';

/** What an engine says of a request at its end. */
export interface EngineUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** The answers to one request in vLLM's words: whole, or event by event. */
export class OpenAiAnswers {
  readonly #isChat: boolean;
  readonly #includesUsage: boolean;
  readonly #head: { readonly id: string; readonly created: number; readonly model: string };

  constructor(
    { kind, includesUsage }: Pick<EngineRequest, 'kind' | 'includesUsage'>,
    head: { readonly id: string; readonly created: number; readonly model: string },
  ) {
    this.#isChat = kind === 'chat';
    this.#includesUsage = includesUsage;
    this.#head = head;
  }

  /** The answer in one piece; `transfer` are the parameters for another engine. */
  whole(text: string, usage: EngineUsage, transfer?: unknown): string {
    const said = this.#isChat ? { message: { role: 'assistant', content: text } } : { text };
    return JSON.stringify({
      ...this.#head,
      object: this.#isChat ? 'chat.completion' : 'text_completion',
      choices: [{ index: 0, ...said, logprobs: null, finish_reason: 'length' }],
      usage: usageOf(usage),
      ...(transfer === undefined ? {} : { kv_transfer_params: transfer }),
    });
  }

  /** The event of one token. */
  token(text: string, isFirst: boolean, isLast: boolean): string {
    const role = isFirst ? { role: 'assistant' } : {};
    const said = this.#isChat ? { delta: { ...role, content: text } } : { text };
    const finish = isLast ? 'length' : null;
    return this.#event({ choices: [{ index: 0, ...said, logprobs: null, finish_reason: finish }] });
  }

  /** The events behind the last token. */
  end(usage: EngineUsage): string {
    const usageEvent = this.#includesUsage ? this.#event({ choices: [], usage: usageOf(usage) }) : '';
    return `${usageEvent}data: [DONE]\n\n`;
  }

  #event(fields: Readonly<Record<string, unknown>>): string {
    const object = this.#isChat ? 'chat.completion.chunk' : 'text_completion';
    return `data: ${JSON.stringify({ ...this.#head, object, ...fields })}\n\n`;
  }
}

/** As vLLM reports it with `--enable-prompt-tokens-details`. */
function usageOf({ promptTokens, cachedTokens, completionTokens }: EngineUsage): unknown {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  };
}
