import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScan } from '../../../src/edge/platform/data/json-scan.js';
import type { PromptRequest } from '../../../src/engines/descriptor/token-endpoint.js';
import { VLLM } from '../../../src/engines/vllm/descriptor.js';
import { DEFAULT_PROMPT_LIMITS, readPrompt } from '../../../src/frontend/tokens/read-prompt.js';
import { TokenQuery } from '../../../src/frontend/tokens/token-query.js';

const MODEL = 'tiny';
const WORKER = { tokenizerFingerprint: 'f', instanceId: 'i' };

const endpoint = VLLM.tokenEndpoints.find(({ takesAll }) => takesAll);

/** What is asked for a body, out of its text and out of its values. */
function asked(text: string): readonly [string | undefined, string | undefined] {
  if (endpoint === undefined) throw new Error('vLLM has an endpoint that takes all');
  const bytes = Buffer.from(text);
  const scan = new JsonScan();
  scan.add(bytes);
  const prompt = readPrompt({ kind: 'chat', body: JSON.parse(text) }, DEFAULT_PROMPT_LIMITS) as PromptRequest;
  const [cut, made] = [new TokenQuery(prompt, MODEL, { bytes, scan }), new TokenQuery(prompt, MODEL)];
  return [cut.bodyFor(endpoint)?.toString(), made.bodyFor(endpoint)?.toString()];
}

const name = fc.oneof(
  fc.constantFrom('stream', 'temperature', 'max_tokens', 'tools', 'user', 'str\\u0065am', ''),
  fc
    .string()
    .filter((text) => text !== '__proto__')
    .map((text) => JSON.stringify(text).slice(1, -1)),
);
const space = fc.constantFrom('', ' ', '\n\t');
const member = fc
  .tuple(name, fc.oneof(fc.json({ maxDepth: 2 }), fc.constant('null')), space)
  .map(([key, value, around]) => `${around}"${key}"${around}:${around}${value}${around}`);

describe('a prompt that engines are asked about', () => {
  it('asks out of the text that came what it asks out of its values', () => {
    fc.assert(
      fc.property(fc.array(member, { maxLength: 6 }), fc.nat(6), (members, place) => {
        const own = [`"messages":[{"role":"user","content":"Who? \\"\\u00e9\\""}]`, `"model":"${MODEL}"`];
        const text = `{${[...members.slice(0, place), ...own, ...members.slice(place)].join(',')}}`;
        const [cut, made] = asked(text);
        expect(JSON.parse(cut ?? '')).toEqual(JSON.parse(made ?? ''));
      }),
    );
  });

  it('leaves numbers as they came, and does not copy what says how to answer', () => {
    const [cut, made] = asked(
      '{"stream":true, "messages":[{"role":"user","content":"a"}],"x":1.0,"model":"tiny","n":2}',
    );
    expect(cut).toBe('{"messages":[{"role":"user","content":"a"}],"x":1.0,"model":"tiny"}');
    expect(made).toBe('{"messages":[{"role":"user","content":"a"}],"x":1,"model":"tiny"}');
  });

  it('is another one in the memory of tokens when anything that counts is', () => {
    const keyOf = (text: string): string | undefined => {
      const bytes = Buffer.from(text);
      const scan = new JsonScan();
      scan.add(bytes);
      const prompt = readPrompt(
        { kind: 'chat', body: JSON.parse(text) },
        DEFAULT_PROMPT_LIMITS,
      ) as PromptRequest;
      return new TokenQuery(prompt, MODEL, { bytes, scan }).keyFor('g', WORKER);
    };
    const chat = (rest: string): string =>
      `{"messages":[{"role":"user","content":"a"}],"model":"tiny"${rest}}`;
    expect(keyOf(chat(',"temperature":1'))).toBe(keyOf(chat(',"temperature":0')));
    expect(keyOf(chat(',"tools":[]'))).not.toBe(keyOf(chat('')));
  });
});
