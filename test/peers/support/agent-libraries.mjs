// What OpenAI's and Anthropic's own clients for Node make of a server: one JSON object on stdout, as agent-libraries.py.
//
//   node agent-libraries.mjs http://127.0.0.1:8000 MODEL TURNS FOLDER
//
// FOLDER has both packages.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [url, model, turnsText, folder] = process.argv.slice(2);
const require = createRequire(join(folder, 'package.json'));
const { default: OpenAI } = require('openai');
const { default: Anthropic } = require('@anthropic-ai/sdk');

const MAX = 8;
const SCHEMA = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
const one = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0, timeout: 60_000 });
const other = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0, timeout: 60_000 });

const turnsOf = (count) => Array.from({ length: count }, (_, at) => `Question ${at} about the weather?`);

function check(holds, what) {
  if (!holds) throw new Error(JSON.stringify(what).slice(0, 500));
}

async function all(stream) {
  const found = [];
  for await (const each of await stream) found.push(each);
  return found;
}

async function chat(count) {
  const asked = {
    model,
    max_tokens: MAX,
    tools: [{ type: 'function', function: { name: 'weather', parameters: SCHEMA } }],
    messages: turnsOf(count).flatMap((content, at) => [
      ...(at === 0
        ? []
        : [
            {
              role: 'assistant',
              content: null,
              tool_calls: [
                {
                  id: `c${at}`,
                  type: 'function',
                  function: { name: 'weather', arguments: '{"place":"Ulm"}' },
                },
              ],
            },
            { role: 'tool', tool_call_id: `c${at}`, content: 'sun' },
          ]),
      { role: 'user', content },
    ]),
  };
  const whole = await one.chat.completions.create(asked);
  check(whole.usage.prompt_tokens > 0, whole);
  const stream = { ...asked, stream: true, stream_options: { include_usage: true } };
  const chunks = await all(one.chat.completions.create(stream));
  check(chunks.at(-1).usage.prompt_tokens === whole.usage.prompt_tokens, chunks.at(-1));
}

async function responses(count) {
  const asked = {
    model,
    max_output_tokens: MAX,
    instructions: 'You know the weather.',
    tools: [{ type: 'function', name: 'weather', parameters: SCHEMA, strict: false }],
    input: turnsOf(count).flatMap((content, at) => [
      ...(at === 0
        ? []
        : [
            { type: 'function_call', call_id: `c${at}`, name: 'weather', arguments: '{"place":"Ulm"}' },
            { type: 'function_call_output', call_id: `c${at}`, output: 'sun' },
          ]),
      { role: 'user', content },
    ]),
  };
  const whole = await one.responses.create(asked);
  check(whole.object === 'response' && whole.usage.input_tokens > 0, whole);
  const types = (await all(one.responses.create({ ...asked, stream: true }))).map(({ type }) => type);
  check(types[0] === 'response.created' && /completed|incomplete/.test(types.at(-1)), types);
}

async function messages(count) {
  const asked = {
    model,
    max_tokens: MAX,
    system: 'You know the weather.',
    tools: [{ name: 'weather', input_schema: SCHEMA }],
    messages: turnsOf(count).flatMap((text, at) =>
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
  };
  const whole = await other.messages.create(asked);
  check(whole.type === 'message', whole);
  const final = await other.messages.stream(asked).finalMessage();
  check(final.usage.output_tokens > 0, final);
  const counted = await other.messages.countTokens({
    model,
    messages: asked.messages,
    tools: asked.tools,
    system: asked.system,
  });
  check(counted.input_tokens > 0, counted);
}

function unknown(ask, ErrorClass) {
  return async () => {
    const error = await ask().then(
      () => undefined,
      (reason) => reason,
    );
    check(error instanceof ErrorClass, String(error));
  };
}

const x = [{ role: 'user', content: 'x' }];
const CASES = {
  'OpenAI, chat': chat,
  'OpenAI, responses': responses,
  'Anthropic, messages': messages,
  'OpenAI, unknown model': unknown(
    () => one.chat.completions.create({ model: 'nothing', messages: x }),
    OpenAI.NotFoundError,
  ),
  'OpenAI, unknown model of a response': unknown(
    () => one.responses.create({ model: 'nothing', input: 'x' }),
    OpenAI.NotFoundError,
  ),
  'Anthropic, unknown model': unknown(
    () => other.messages.create({ model: 'nothing', messages: x, max_tokens: 1 }),
    Anthropic.NotFoundError,
  ),
};
const wrong = {};
for (const [name, run] of Object.entries(CASES)) {
  for (let count = 1; count <= Number(turnsText); count += 1) {
    try {
      await run(count);
    } catch (error) {
      wrong[`${name}, turn ${count}`] = String(error).slice(0, 600);
      break;
    }
  }
}
console.log(JSON.stringify({ wrong, cases: Object.keys(CASES) }));
