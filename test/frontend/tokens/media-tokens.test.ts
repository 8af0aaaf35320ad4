import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import type { Prompt, PromptTokens } from '../../../src/frontend/tokens/prompt-tokens.js';
import { createTokenSource } from '../../../src/frontend/tokens/token-source.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { type Answer, FakeEngine, VLLM_MODELS } from './support/fake-engine.js';
import { bundledThread } from './support/thread-url.js';
import { groupOf, tokenizerFolder } from './support/tokenizers.js';

const open = new OpenThings();
afterEach(() => open.close());

type Body = Readonly<Record<string, unknown>>;

const RENDER = '/v1/chat/completions/render';
const PIXEL = 'data:image/png;base64,AAAA';
const INLINE = { type: 'image_url', image_url: { url: PIXEL } };
const LINKED = { type: 'image_url', image_url: { url: 'https://elsewhere.test/a.png' } };
const features = {
  mm_hashes: { image: ['abc'] },
  mm_placeholders: { image: [{ offset: 2, length: 3 }] },
};

const chatOf = (...parts: readonly unknown[]): Body => ({
  messages: [
    { role: 'system', content: 'be kind' },
    { role: 'user', content: [{ type: 'text', text: 'look' }, ...parts] },
  ],
});

/** One token for each character of all texts, as an engine that knows no images would have it. */
function tokenize(body: Body): { readonly json: { readonly tokens: readonly number[] } } {
  const texts: string[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    else if (typeof value === 'object' && value !== null)
      for (const [key, item] of Object.entries(value))
        if (typeof item !== 'string') walk(item);
        else if (key === 'text' || key === 'content') texts.push(item);
  };
  walk(body['messages'] ?? body['input']);
  return { json: { tokens: [...texts.join('|')].map((char) => char.charCodeAt(0)) } };
}

/** An engine that renders texts as they are, and answers this to images. */
function renders(answer: Answer): (body: Body) => Answer {
  return (body) =>
    JSON.stringify(body).includes('"image_url"')
      ? answer
      : { json: { token_ids: tokenize(body).json.tokens } };
}

async function ask(
  answers: FakeEngine['answers'],
  body: Body,
  {
    kind = 'chat',
    tokenizer = 'engine',
  }: Partial<Pick<Prompt, 'kind'>> & { tokenizer?: 'engine' | { folder: string } } = {},
): Promise<{ readonly made: PromptTokens; readonly engine: FakeEngine }> {
  const engine = await FakeEngine.start({ '/v1/models': VLLM_MODELS, ...answers });
  open.add(() => engine.stop());
  const source = await createTokenSource(
    { tokenizer, engineTimeoutMs: 10_000 },
    { clock: systemClock, logger: new RecordingLogger(), threadUrl: await bundledThread() },
  );
  open.add(() => source.close());
  const made = await source.tokensOf(
    { kind, body },
    'tiny',
    groupOf(engine.url),
    new AbortController().signal,
  );
  return { made, engine };
}

/** The characters of tokens that `tokenize` made. */
const textOf = ({ tokens }: PromptTokens): string => String.fromCharCode(...(tokens ?? []));

describe('a conversation with an image', () => {
  it('has the tokens and the media that the engine renders, without its pixels', async () => {
    const { made, engine } = await ask(
      { [RENDER]: { json: { token_ids: [1, 2, 8, 8, 8, 3], features } } },
      chatOf(INLINE),
    );
    expect(made).toEqual({
      tokens: Uint32Array.of(1, 2, 8, 8, 8, 3),
      media: [{ identifier: 'abc', offset: 2, length: 3 }],
    });
    expect(engine.asked.at(-1)).toMatchObject({ path: RENDER, body: { mm_payload: 'none' } });
    expect(engine.count('/tokenize')).toBe(0);
  });

  it.each<[string, FakeEngine['answers']]>([
    ['does not render', { '/tokenize': tokenize }],
    [
      'renders without saying which images they are',
      { [RENDER]: renders({ json: { token_ids: [1, 2], features: null } }) },
    ],
    [
      'says that images stand beyond the prompt',
      { [RENDER]: renders({ json: { token_ids: [1, 2], features } }) },
    ],
    ['fails to render it', { [RENDER]: renders({ status: 500, json: {} }) }],
  ])('has the tokens before its turn where the engine %s', async (_, answers) => {
    const { made } = await ask(answers, chatOf(INLINE));
    expect([made.reason, textOf(made)]).toEqual(['media_prefix', 'be kind|']);
  });

  it('is not rendered where the engine would load it from elsewhere', async () => {
    const rendering = renders({ json: { token_ids: [1, 2, 8, 8, 8, 3], features } });
    const { made, engine } = await ask({ [RENDER]: rendering }, chatOf(INLINE, LINKED));
    expect(engine.asked.filter(({ body }) => JSON.stringify(body).includes('elsewhere'))).toEqual([]);
    expect([made.reason, textOf(made)]).toEqual(['media_prefix', 'be kind|']);
  });

  it('is nothing that an engine would take where the engine refuses it', async () => {
    const { made, engine } = await ask(
      { '/tokenize': tokenize, [RENDER]: { status: 400, json: {} } },
      chatOf(INLINE),
    );
    expect([made.reason, engine.count('/tokenize')]).toEqual(['bad_prompt', 0]);
  });

  it('has no tokens where nobody makes any, or no word stands out', async () => {
    expect((await ask({}, chatOf(INLINE))).made).toEqual({ tokens: undefined, reason: 'media' });
    const same = { '/tokenize': { json: { tokens: [1, 2, 3] } } };
    expect((await ask(same, chatOf(INLINE))).made).toEqual({ tokens: undefined, reason: 'media' });
  });

  it('has the tokens before it where they are made here', async () => {
    const { made } = await ask({}, chatOf(INLINE), { tokenizer: { folder: tokenizerFolder('chatml') } });
    const { made: text } = await ask(
      {},
      { messages: [{ role: 'system', content: 'be kind' }], add_generation_prompt: false },
      { tokenizer: { folder: tokenizerFolder('chatml') } },
    );
    expect(made.reason).toBe('media_prefix');
    expect([...(made.tokens ?? [])].slice(0, text.tokens?.length)).toEqual([...(text.tokens ?? [])]);
  });
});

describe('an image in another API', () => {
  it('of Anthropic is rendered there, or has the tokens before what a tool gave', async () => {
    const body = {
      messages: [
        { role: 'user', content: 'first' },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c1',
              content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
            },
          ],
        },
      ],
    };
    const path = '/v1/messages/render';
    const rendered = await ask({ [path]: { json: { token_ids: [1, 2, 8, 8, 8, 3], features } } }, body, {
      kind: 'messages',
    });
    expect(rendered.made.reason).toBeUndefined();
    const { made } = await ask({ '/tokenize': tokenize }, body, { kind: 'messages' });
    expect([made.reason, textOf(made)]).toEqual(['media_prefix', 'first|']);
  });

  it('of Responses is rendered there, or has the tokens before its turn', async () => {
    const body = {
      input: [
        { role: 'user', content: 'first' },
        { role: 'user', content: [{ type: 'input_image', image_url: PIXEL }] },
      ],
    };
    const path = '/v1/responses/render';
    const rendered = await ask({ [path]: { json: { token_ids: [1, 2, 8, 8, 8, 3], features } } }, body, {
      kind: 'responses',
    });
    expect(rendered.made).toMatchObject({ media: [{ identifier: 'abc' }] });
    const { made } = await ask({ '/tokenize': tokenize }, body, { kind: 'responses' });
    expect([made.reason, textOf(made)]).toEqual(['media_prefix', 'first|']);
  });
});
