const WHAT = 'The weather of a place.';
const SCHEMA = { type: 'object', properties: { place: { type: 'string' } } };

/** One conversation of an agent in the body of each API, `turns` exchanges long; every third one has called a tool. */
export const AGENT_BODIES: readonly ((
  name: string,
  turns: number,
) => readonly [path: string, body: object])[] = [
  (name, turns) => [
    '/v1/chat/completions',
    {
      max_tokens: 1,
      messages: turnsOf(turns).flatMap((text, at) => [
        ...(at === 0
          ? [{ role: 'system', content: `You are ${name}.` }]
          : [{ role: 'assistant', content: 'ok' }]),
        { role: 'user', content: text },
      ]),
    },
  ],
  (name, turns) => [
    '/v1/responses',
    {
      // SGLang takes two off it.
      max_output_tokens: 3,
      instructions: `You are ${name}.`,
      tools: [{ type: 'function', name: 'weather', description: WHAT, parameters: SCHEMA }],
      input: turnsOf(turns).flatMap((text, at) => [
        { role: 'user', content: [{ type: 'input_text', text }] },
        ...(at + 1 < turns
          ? [
              { type: 'function_call', call_id: `c${at}`, name: 'weather', arguments: '{"place":"Ulm"}' },
              { type: 'function_call_output', call_id: `c${at}`, output: 'sun' },
            ]
          : []),
      ]),
    },
  ],
  (name, turns) => [
    '/v1/messages',
    {
      max_tokens: 1,
      system: [{ type: 'text', text: `You are ${name}.` }],
      tools: [{ name: 'weather', description: WHAT, input_schema: SCHEMA }],
      messages: turnsOf(turns).flatMap<object>((text, at) =>
        at === 0
          ? [{ role: 'user', content: text }]
          : [
              {
                role: 'assistant',
                content: [{ type: 'tool_use', id: `c${at}`, name: 'weather', input: { place: 'Ulm' } }],
              },
              {
                role: 'user',
                content: [
                  { type: 'tool_result', tool_use_id: `c${at}`, content: 'sun' },
                  { type: 'text', text },
                ],
              },
            ],
      ),
    },
  ],
];

const turnsOf = (turns: number): string[] =>
  Array.from({ length: turns }, (_, at) => `question ${at} about the weather of the day after tomorrow`);

/** Tokens that an engine took from its cache, in the words of each API. */
export function cachedOf(usage: Record<string, never>): number {
  const {
    prompt_tokens_details: chat,
    input_tokens_details: response,
    cache_read_input_tokens: message,
  } = usage;
  return Number(message ?? (chat ?? response ?? { cached_tokens: 0 })['cached_tokens'] ?? 0);
}

/** The same of the text of an answer or a stream; 0 where it says nothing. */
export function cachedTokensOf(answer: string): number {
  const found = [...answer.matchAll(/"(?:cached_tokens|cache_read_input_tokens)"\s*:\s*(\d+)/g)];
  return Math.max(0, ...found.map(([, tokens]) => Number(tokens)));
}
