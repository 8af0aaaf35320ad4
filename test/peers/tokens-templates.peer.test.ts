import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { templateKwargs } from '../../src/engines/descriptor/template-kwargs.js';
import { templateMessages, templateTools } from '../../src/frontend/tokens/chat-messages.js';
import { ChatTemplates } from '../../src/frontend/tokens/chat-template.js';
import { contentFormatOf } from '../../src/frontend/tokens/content-format.js';
import { InexactError } from '../../src/frontend/tokens/jinja/errors.js';
import { parseTemplate } from '../../src/frontend/tokens/jinja/parse-template.js';
import { specialTokensOf } from '../../src/frontend/tokens/special-tokens.js';
import { TextTokenizer } from '../../src/frontend/tokens/text-tokenizer.js';
import { CHAT_REQUESTS } from './support/chat-requests.js';
import { lacks, peerPath } from './support/peers.js';
import { scratchFolder } from './support/scratch.js';

/** Each template meets so many of the tokenizers, by turns; all that a template sees of one is its special tokens. */
const TOKENIZERS_PER_TEMPLATE = 4;
/** Two idle cores take about a tenth of it. */
const LIMIT_MS = 20 * 60_000;
/** Requests that are not made here; one that is made today must not be declined tomorrow. Half hold U+0085 and U+FEFF. */
const MAX_DECLINED = 572;

interface Reference {
  readonly text?: string;
  readonly tokens?: readonly number[];
  readonly error?: string;
}

/** What is made here; `isDeclined` where an engine would be asked instead. */
interface Made extends Reference {
  readonly where: string;
  readonly isDeclined: boolean;
}

type Body = Readonly<Record<string, unknown>>;

const folder = peerPath('chat-templates');
const read = (...path: string[]): string => readFileSync(join(folder, ...path), 'utf8');

/** Which templates each of the tokenizers meets. */
function pairsOf(templates: readonly string[], tokenizers: readonly string[]): Map<string, string[]> {
  const pairs = new Map<string, string[]>(tokenizers.map((name) => [name, []]));
  for (const [at, template] of templates.entries()) {
    for (let i = 0; i < TOKENIZERS_PER_TEMPLATE; i += 1) {
      const name = tokenizers[(at * TOKENIZERS_PER_TEMPLATE + i) % tokenizers.length] as string;
      pairs.get(name)?.push(template);
    }
  }
  return pairs;
}

/** A request as an engine gives it to `apply_chat_template`; undefined where it is not known how an engine does. */
function referenceRequest(template: string, tokenizer: string, body: Body): object | undefined {
  const format = attempt(() => contentFormatOf(parseTemplate(read('templates', template)))).value ?? 'string';
  const messages = templateMessages(body['messages'] as Body[], format);
  const tools = body['tools'] === undefined ? null : templateTools(body['tools']);
  if (messages === undefined || tools === undefined) return undefined;
  const { add_generation_prompt: isAdding = true, continue_final_message: isContinuing = false } = body;
  const kwargs = {
    ...templateKwargs(body),
    add_generation_prompt: isAdding,
    continue_final_message: isContinuing,
  };
  return { template, tokenizer, messages, tools, kwargs };
}

/** What transformers makes of the requests, in their order. Runs beside this process: both talk by files. */
async function referencesOf(requests: readonly object[]): Promise<Reference[]> {
  const script = new URL('support/chat-reference.py', import.meta.url).pathname;
  const [asked, answered, errors] = ['requests', 'results', 'errors'].map((name) =>
    join(scratchFolder(), `chat-${name}.txt`),
  ) as [string, string, string];
  writeFileSync(asked, requests.map((request) => `${JSON.stringify(request)}\n`).join(''));
  const files = [openSync(asked, 'r'), openSync(answered, 'w'), openSync(errors, 'w')];
  const child = spawn(peerPath('chat-templates', 'bin', 'python'), [script, folder], { stdio: files });
  for (const file of files) closeSync(file);
  onTestFinished(() => void child.kill('SIGKILL'));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`chat-reference.py ended with ${code}: ${readFileSync(errors, 'utf8')}`);
  return readFileSync(answered, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Reference);
}

/** What is made here of every request with those templates and that tokenizer. */
function madeWith(name: string, templates: readonly string[]): Made[] {
  const config: unknown = JSON.parse(read('tokenizers', name, 'tokenizer_config.json'));
  const file: unknown = JSON.parse(read('tokenizers', name, 'tokenizer.json'));
  const tokenizer = new TextTokenizer({ tokenizer: file, config }, { maxRememberedBytes: 16 * 1024 * 1024 });
  const special = specialTokensOf(config);
  return templates.flatMap((template) => {
    const chat = attempt(
      () => new ChatTemplates({ default: read('templates', template) }, special, Date.now),
    );
    return Object.entries(CHAT_REQUESTS).map(([title, body]): Made => {
      const where = `${template}, ${name}, ${title}`;
      if (chat.value === undefined) return { where, isDeclined: false, error: String(chat.error) };
      const { value: renderer } = chat;
      const rendered = attempt(() => renderer.render(body));
      if (rendered.value === undefined) return { where, isDeclined: false, error: String(rendered.error) };
      const { text, reason } = rendered.value;
      if (text === undefined) return { where, isDeclined: reason === 'unsure', error: reason };
      const tokens = attempt(() => [...tokenizer.encode(text, false)]);
      if (tokens.value === undefined)
        return { where, isDeclined: tokens.error instanceof InexactError, error: String(tokens.error) };
      return { where, isDeclined: false, text, tokens: tokens.value };
    });
  });
}

describe.skipIf(lacks('chat-templates'))('real templates with real tokenizers', () => {
  it('give the very tokens of transformers, or none', { timeout: LIMIT_MS }, async () => {
    const templates = readdirSync(join(folder, 'templates')).sort();
    const tokenizers = readdirSync(join(folder, 'tokenizers')).sort();
    expect([templates.length, tokenizers.length]).toEqual([70, 11]);
    const pairs = pairsOf(templates, tokenizers);

    const requests = [...pairs].flatMap(([name, some]) =>
      some.flatMap((template) =>
        Object.values(CHAT_REQUESTS).map((body) => referenceRequest(template, name, body)),
      ),
    );
    const known = requests.filter((request) => request !== undefined);
    const running = referencesOf(known);
    const made: Made[] = [];
    for (const [name, some] of pairs) {
      made.push(...madeWith(name, some));
      // The other process is seen to end, or to fail.
      await setImmediate();
    }
    const references = (await running).values();
    expect(made).toHaveLength(requests.length);

    const counts = { exact: 0, declined: 0, refusedByBoth: 0 };
    const declined = new Map<string, number>();
    const wrong: string[] = [];
    for (const [at, here] of made.entries()) {
      const there = requests[at] === undefined ? undefined : (references.next().value as Reference);
      if (here.isDeclined) {
        counts.declined += 1;
        const why = `${here.where.replace(/,.*,/, ',')}: ${here.error}`;
        declined.set(why, (declined.get(why) ?? 0) + 1);
      } else if (here.tokens === undefined && there?.tokens === undefined) counts.refusedByBoth += 1;
      else if (here.tokens?.join() === there?.tokens?.join() && here.text === there?.text) counts.exact += 1;
      else wrong.push(`${here.where}: ${differenceOf(here, there ?? {})}`);
    }
    console.log(`${made.length} requests: ${JSON.stringify({ ...counts, wrong: wrong.length })}`);
    console.log([...declined].map(([why, count]) => `${count} x ${why}`).join('\n'));
    expect(wrong).toEqual([]);
    expect(counts.exact + counts.declined + counts.refusedByBoth).toBe(requests.length);
    expect(counts.declined).toBeLessThanOrEqual(MAX_DECLINED);
  });
});

function attempt<Result>(make: () => Result): { readonly value?: Result; readonly error?: unknown } {
  try {
    return { value: make() };
  } catch (error) {
    return { error };
  }
}

/** That one alone refuses counts too: such a prompt would be routed by what no engine makes of it, or not at all. */
function differenceOf(here: Reference, there: Reference): string {
  if (there.tokens === undefined) return `only transformers refuses: ${there.error}`;
  if (here.tokens === undefined) return `only transformers renders: ${here.error}`;
  const [a, b] = [here.text ?? '', there.text ?? ''];
  if (a === b) return 'the tokens of the same text differ';
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const part = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 20), at + 40));
  return `${part(a)} here, ${part(b)} there`;
}
