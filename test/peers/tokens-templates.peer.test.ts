import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { templateKwargs } from '../../src/frontend/tokens/ask-forms.js';
import { templateMessages, templateTools } from '../../src/frontend/tokens/chat-messages.js';
import { ChatTemplates } from '../../src/frontend/tokens/chat-template.js';
import { contentFormatOf } from '../../src/frontend/tokens/content-format.js';
import { parseTemplate } from '../../src/frontend/tokens/jinja/parse-template.js';
import { specialTokensOf } from '../../src/frontend/tokens/special-tokens.js';
import { TextTokenizer } from '../../src/frontend/tokens/text-tokenizer.js';
import { CHAT_REQUESTS } from './support/chat-requests.js';
import { lacks, peerPath } from './support/peers.js';

/** Each template is rendered with so many of the tokenizers, by turns: their special tokens are all that it sees of them. */
const TOKENIZERS_PER_TEMPLATE = 3;
const LIMIT_MS = 20 * 60_000;

interface Reference {
  readonly text?: string;
  readonly tokens?: readonly number[];
  readonly error?: string | undefined;
}

/** What transformers makes of the requests, in their order. */
async function referencesOf(folder: string, requests: readonly object[]): Promise<Reference[]> {
  const script = new URL('support/chat-reference.py', import.meta.url).pathname;
  const child = spawn(peerPath('chat-templates', 'bin', 'python'), [script, folder], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.end(requests.map((request) => `${JSON.stringify(request)}\n`).join(''));
  let output = '';
  for await (const piece of child.stdout.setEncoding('utf8')) output += piece;
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Reference);
}

describe.skipIf(lacks('chat-templates'))('real templates with real tokenizers', () => {
  it('give the very tokens of transformers, or none', { timeout: LIMIT_MS }, async () => {
    const folder = peerPath('chat-templates');
    const read = (...path: string[]): string => readFileSync(peerPath('chat-templates', ...path), 'utf8');
    const templates = readdirSync(`${folder}/templates`);
    const tokenizers = readdirSync(`${folder}/tokenizers`);
    expect([templates.length, tokenizers.length]).toEqual([70, 11]);

    const requests: object[] = [];
    const made: { readonly where: string; readonly made: Reference }[] = [];
    const loaded = new Map<
      string,
      { readonly tokenizer: TextTokenizer; readonly special: Record<string, string> }
    >();
    for (const name of tokenizers) {
      const config: unknown = JSON.parse(read('tokenizers', name, 'tokenizer_config.json'));
      const tokenizer: unknown = JSON.parse(read('tokenizers', name, 'tokenizer.json'));
      loaded.set(name, {
        tokenizer: new TextTokenizer({ tokenizer, config }, { maxRememberedBytes: 16 * 1024 * 1024 }),
        special: specialTokensOf(config),
      });
    }
    for (const [at, template] of templates.entries()) {
      const source = read('templates', template);
      for (let i = 0; i < TOKENIZERS_PER_TEMPLATE; i += 1) {
        const name = tokenizers[(at * TOKENIZERS_PER_TEMPLATE + i) % tokenizers.length] as string;
        const { tokenizer, special } = loaded.get(name) as {
          tokenizer: TextTokenizer;
          special: Record<string, string>;
        };
        const chat = attempt(() => new ChatTemplates({ default: source }, special, Date.now));
        const format = attempt(() => contentFormatOf(parseTemplate(source)));
        for (const [title, body] of Object.entries(CHAT_REQUESTS)) {
          const { add_generation_prompt: isAdding = true, continue_final_message: isContinuing = false } =
            body;
          requests.push({
            template,
            tokenizer: name,
            messages: templateMessages(
              body['messages'] as Record<string, unknown>[],
              format.value ?? 'string',
            ),
            tools: body['tools'] === undefined ? null : templateTools(body['tools']),
            kwargs: {
              ...templateKwargs(body),
              add_generation_prompt: isAdding,
              continue_final_message: isContinuing,
            },
          });
          const result = attempt(() => {
            if (chat.value === undefined) throw new Error(chat.error);
            const { text, reason } = chat.value.render(body);
            if (text === undefined) throw new Error(`not made here: ${reason}`);
            return { text, tokens: [...tokenizer.encode(text, false)] };
          });
          made.push({
            where: `${template}, ${name}, ${title}`,
            made: result.value ?? { error: result.error },
          });
        }
      }
    }

    const references = await referencesOf(folder, requests);
    expect(references).toHaveLength(requests.length);
    const counts = { exact: 0, declined: 0, refusedByBoth: 0, onlyHere: 0 };
    const declined = new Map<string, number>();
    const wrong: string[] = [];
    for (const [i, { where, made: here }] of made.entries()) {
      const reference = references[i] as Reference;
      if (here.tokens === undefined) {
        if (reference.tokens === undefined) counts.refusedByBoth += 1;
        else {
          counts.declined += 1;
          const why = `${where.split(',')[0]}: ${here.error}`;
          declined.set(why, (declined.get(why) ?? 0) + 1);
        }
      } else if (reference.tokens === undefined) {
        counts.onlyHere += 1;
        wrong.push(`${where}: transformers refuses: ${reference.error}`);
      } else if (here.text !== reference.text)
        wrong.push(`${where}: ${differenceOf(here.text ?? '', reference.text ?? '')}`);
      else if (here.tokens.join() !== reference.tokens.join())
        wrong.push(`${where}: the tokens of the same text differ`);
      else counts.exact += 1;
    }
    console.log(`${requests.length} requests: ${JSON.stringify({ ...counts, wrong: wrong.length })}`);
    console.log([...declined].map(([why, count]) => `${count} x ${why}`).join('\n'));
    expect(wrong).toEqual([]);
    expect(counts.exact).toBeGreaterThan(requests.length * 0.5);
  });
});

function attempt<Made>(make: () => Made): { readonly value?: Made; readonly error?: string } {
  try {
    return { value: make() };
  } catch (error) {
    return { error: String(error).slice(0, 200) };
  }
}

function differenceOf(here: string, there: string): string {
  let at = 0;
  while (at < here.length && here[at] === there[at]) at += 1;
  const part = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 20), at + 40));
  return `${part(here)} here, ${part(there)} there`;
}
