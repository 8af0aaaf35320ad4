import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import type { CatalogueGroup } from '../../../src/fleet/catalogue/catalogue.js';
import type { TokenSource } from '../../../src/frontend/tokens/prompt-tokens.js';
import { createTokenSource } from '../../../src/frontend/tokens/token-source.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { FakeEngine, VLLM_MODELS } from './support/fake-engine.js';
import { bundledThread } from './support/thread-url.js';
import { golden, groupOf, plain, tokenizerFolder } from './support/tokenizers.js';

const open = new OpenThings();
const never = new AbortController().signal;
const TRUTHS = golden('chatml');
const CHAT = TRUTHS.find(({ request }) => 'messages' in request) as (typeof TRUTHS)[number];
let threadUrl: URL;
let logger: RecordingLogger;

beforeAll(async () => {
  threadUrl = await bundledThread();
});
afterEach(() => open.close());

async function sourceOf(tokenizer: 'engine' | { readonly folder: string }): Promise<TokenSource> {
  logger = new RecordingLogger();
  const source = await createTokenSource(
    { tokenizer, engineTimeoutMs: 10_000 },
    { clock: systemClock, logger, threadUrl },
  );
  open.add(() => source.close());
  return source;
}

async function engineThatSays(tokens: readonly number[] | undefined): Promise<FakeEngine> {
  const engine = await FakeEngine.start({
    '/v1/models': VLLM_MODELS,
    ...(tokens === undefined ? {} : { '/tokenize': { json: { tokens } } }),
  });
  open.add(() => engine.stop());
  return engine;
}

async function ask(
  source: TokenSource,
  body: Readonly<Record<string, unknown>>,
  group: CatalogueGroup,
): Promise<number[] | string> {
  const kind = 'messages' in body ? 'chat' : 'completion';
  return plain(await source.tokensOf({ kind, body }, 'tiny', group, never));
}

describe('the source of tokens', () => {
  it('takes token ids as they are, asking nobody', async () => {
    const source = await sourceOf('engine');
    expect(await ask(source, { prompt: [3, 1, 2] }, groupOf('http://127.0.0.1:1'))).toEqual([3, 1, 2]);
    expect(await ask(source, { prompt: ['a', 'b'] }, groupOf())).toBe('several_prompts');
    expect(await ask(source, { prompt: 'a' }, groupOf())).toBe('no_tokenizer');
    expect(await ask(source, { prompt: 'a' }, groupOf('http://127.0.0.1:1'))).toBe('failed');
  });

  it('with a folder makes the tokens here where no engine can be asked, and says so once', async () => {
    const engine = await engineThatSays(undefined);
    const source = await sourceOf({ folder: tokenizerFolder('chatml') });
    for (let i = 0; i < 3; i += 1)
      expect(await ask(source, CHAT.request, groupOf(engine.url))).toEqual(CHAT.tokens);
    await expect.poll(() => logger.messages('info')).toHaveLength(1);
    expect(await ask(source, CHAT.request, groupOf({}))).toEqual(CHAT.tokens);
    expect(await ask(source, { ...CHAT.request, chat_template: 'x' }, groupOf({}))).toBe('no_tokenizer');
    expect(logger.messages('warn')).toEqual([]);
  });

  it('with a folder whose tokens differ uses the engine, and says where they part', async () => {
    const engine = await engineThatSays([1, 2, 3]);
    const source = await sourceOf({ folder: tokenizerFolder('chatml') });
    const group = groupOf(engine.url);
    expect(await ask(source, CHAT.request, group)).toEqual([1, 2, 3]);
    await expect.poll(() => logger.messages('warn')).toHaveLength(1);
    expect(logger.lines.find(({ level }) => level === 'warn')?.fields).toMatchObject({
      probe: 'text',
      position: 0,
      engines: 1,
    });
    expect(await ask(source, CHAT.request, group)).toEqual([1, 2, 3]);
  });

  it('with a folder asks the engine for what it would not be sure of', async () => {
    const engine = await FakeEngine.start({
      '/v1/models': VLLM_MODELS,
      // Agrees on nothing that the check asks: it takes no prompt but one.
      '/tokenize': ({ chat_template: template }) =>
        template === undefined ? { status: 400, json: {} } : { json: { tokens: [9] } },
    });
    open.add(() => engine.stop());
    const source = await sourceOf({ folder: tokenizerFolder('chatml') });
    const group = groupOf(engine.url);
    await ask(source, CHAT.request, group);
    await expect.poll(() => logger.messages('info')).toHaveLength(1);
    expect(await ask(source, CHAT.request, group)).toEqual(CHAT.tokens);
    expect(await ask(source, { ...CHAT.request, chat_template: 'x' }, group)).toEqual([9]);
  });
});
