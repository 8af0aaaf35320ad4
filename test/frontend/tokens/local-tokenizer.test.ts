import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import {
  DEFAULT_LOCAL_TOKENIZER_OPTIONS,
  LocalTokenizer,
} from '../../../src/frontend/tokens/local-tokenizer.js';
import { DEFAULT_PROMPT_LIMITS } from '../../../src/frontend/tokens/read-prompt.js';
import { TokenizerFolderError } from '../../../src/frontend/tokens/tokenizer-folder.js';
import { OpenThings } from '../../support/open-things.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { bundledThread } from './support/thread-url.js';
import { golden, plain, promptOf, readFixture, TOKENIZERS, tokenizerFolder } from './support/tokenizers.js';

const open = new OpenThings();
const never = new AbortController().signal;
let threadUrl: URL;
let logger: RecordingLogger;

beforeAll(async () => {
  threadUrl = await bundledThread();
});
afterEach(() => open.close());

async function openTokenizer(
  folder: string,
  options: Partial<typeof DEFAULT_LOCAL_TOKENIZER_OPTIONS> = {},
): Promise<LocalTokenizer> {
  logger = new RecordingLogger();
  const tokenizer = await LocalTokenizer.open(
    folder,
    { ...DEFAULT_LOCAL_TOKENIZER_OPTIONS, ...DEFAULT_PROMPT_LIMITS, ...options },
    { clock: systemClock, logger, threadUrl },
  );
  open.add(() => tokenizer.close());
  return tokenizer;
}

/** A folder of a test's own: a fixture with some files changed or, where undefined, left out. */
function folderWith(files: Readonly<Record<string, string | undefined>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tokenizer-'));
  open.add(() => rmSync(folder, { recursive: true }));
  const all = {
    'tokenizer.json': readFixture('chatml', 'tokenizer.json'),
    'tokenizer_config.json': readFixture('chatml', 'tokenizer_config.json'),
    ...files,
  };
  for (const [file, text] of Object.entries(all))
    if (text !== undefined) writeFileSync(join(folder, file), text);
  return folder;
}

describe('a tokenizer of a folder', () => {
  for (const name of TOKENIZERS) {
    it(`makes the tokens that Hugging Face makes, with ${name}`, async () => {
      const tokenizer = await openTokenizer(tokenizerFolder(name));
      for (const { request, tokens } of golden(name)) {
        const made = await tokenizer.tokensOf(promptOf(request), never);
        expect({ request, tokens: plain(made) }).toEqual({ request, tokens });
      }
    });
  }

  it('gives no tokens where an engine may make others', async () => {
    const tokenizer = await openTokenizer(tokenizerFolder('chatml'));
    const user = [{ role: 'user', content: 'hello' }];
    const answer = async (body: Readonly<Record<string, unknown>>): Promise<unknown> =>
      plain(await tokenizer.tokensOf(promptOf(body), never));
    for (const body of [
      { prompt: 'hello', suffix: 'end' },
      { prompt: 'hello', truncate_prompt_tokens: 4 },
      { prompt: 'hello', add_special_tokens: 'yes' },
      { messages: user, chat_template: '{{ messages }}' },
      { messages: user, chat_template_kwargs: { tokenize: true } },
      { messages: user, chat_template_kwargs: { scale: 2 ** 60 } },
      { messages: user, input_ids: [1, 2] },
      { messages: user, kv_transfer_params: { prompt_token_ids: [1] } },
      { messages: [{ role: 'developer', content: 'Be brief.' }] },
      { messages: user, tools: [{ type: 'function', function: { name: 'f', parameters: { 7: 1, a: 2 } } }] },
    ])
      expect([body, await answer(body)]).toEqual([body, 'no_tokenizer']);
    expect(await answer({ messages: user, continue_final_message: true })).toBe('bad_prompt');
  });

  it('says that a template refused, and goes on', async () => {
    const tokenizer = await openTokenizer(tokenizerFolder('llama3'));
    const refused = promptOf({ messages: [{ role: 'ipython', content: '' }] });
    expect(plain(await tokenizer.tokensOf(refused, never))).toBe('failed');
    const [first] = golden('llama3');
    expect(plain(await tokenizer.tokensOf(promptOf({ prompt: first?.request['prompt'] }), never))).toEqual(
      first?.tokens,
    );
  });

  it('that has no template gives tokens for texts alone', async () => {
    const config = JSON.parse(readFixture('chatml', 'tokenizer_config.json'));
    delete config.chat_template;
    const tokenizer = await openTokenizer(folderWith({ 'tokenizer_config.json': JSON.stringify(config) }));
    expect(plain(await tokenizer.tokensOf(promptOf({ prompt: 'hi' }), never))).toHaveLength(2);
    const chat = promptOf({ messages: [{ role: 'user', content: 'hi' }] });
    expect(plain(await tokenizer.tokensOf(chat, never))).toBe('no_tokenizer');
  });

  it('is refused when a file is missing or broken, with its name', async () => {
    const refusal = async (files: Readonly<Record<string, string | undefined>>): Promise<string> => {
      const folder = folderWith(files);
      const error = await openTokenizer(folder).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(TokenizerFolderError);
      return (error as Error).message.replace(`${folder}/`, '');
    };
    expect(await refusal({ 'tokenizer.json': undefined })).toBe('tokenizer.json: does not exist');
    expect(await refusal({ 'tokenizer_config.json': undefined })).toBe(
      'tokenizer_config.json: does not exist',
    );
    expect(await refusal({ 'tokenizer.json': '{"model": ' })).toMatch(/^tokenizer\.json: .*JSON/);
    expect(await refusal({ 'tokenizer.json': '{}' })).toMatch(/^tokenizer\.json: /);
    expect(await refusal({ 'tokenizer_config.json': '[' })).toMatch(/^tokenizer_config\.json: is no JSON/);
    expect(await refusal({ 'tokenizer_config.json': '{"chat_template": 7}' })).toMatch(
      /^tokenizer_config\.json: its chat_template is neither/,
    );
    expect(await refusal({ 'chat_template.jinja': '{% for m in messages %}' })).toMatch(
      /^chat_template: the chat template "default" cannot be used/,
    );
    const single = JSON.parse(readFixture('chatml', 'tokenizer.json'));
    single.added_tokens[0].single_word = true;
    expect(await refusal({ 'tokenizer.json': JSON.stringify(single) })).toContain('single_word');
  });

  it('stops a template that does not end, and serves the next prompt', async () => {
    const config = {
      chat_template:
        "{% if messages[0].content == 'spin' %}{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}{% endif %}ok",
    };
    const tokenizer = await openTokenizer(folderWith({ 'tokenizer_config.json': JSON.stringify(config) }), {
      timeoutMs: 200,
    });
    const chat = (content: string): ReturnType<typeof promptOf> =>
      promptOf({ messages: [{ role: 'user', content }] });
    const spinning = tokenizer.tokensOf(chat('spin'), never);
    const next = tokenizer.tokensOf(chat('stop'), never);
    expect(plain(await spinning)).toBe('timeout');
    expect(plain(await next)).toHaveLength(2);
    expect(logger.messages('warn')).toHaveLength(1);
  });

  it('takes no more than its queue, and leaves out what was given up', async () => {
    const tokenizer = await openTokenizer(tokenizerFolder('chatml'), { maxWaiting: 2 });
    const aborting = new AbortController();
    const prompt = promptOf({ prompt: 'hello' });
    const [running, first, second, third] = [never, never, aborting.signal, never].map((signal) =>
      tokenizer.tokensOf(prompt, signal),
    );
    aborting.abort();
    expect(plain((await third) as never)).toBe('timeout');
    expect(plain((await second) as never)).toBe('timeout');
    expect(plain((await running) as never)).toEqual(plain((await first) as never));
  });
});
