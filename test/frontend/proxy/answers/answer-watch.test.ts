import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Usage } from '../../../../src/fleet/router/routing.js';
import { AnswerWatch } from '../../../../src/frontend/proxy/answers/answer-watch.js';

/** Watches `text`, split before each of `offsets`. */
function watch(text: string, isEventStream: boolean, offsets: readonly number[] = []): AnswerWatch {
  const made = new AnswerWatch(isEventStream);
  const bytes = Buffer.from(text);
  let from = 0;
  for (const cut of [...offsets.filter((at) => at < bytes.length).sort((a, b) => a - b), bytes.length]) {
    if (cut > from) made.add(bytes.subarray(from, cut));
    from = Math.max(from, cut);
  }
  return made;
}

function usageOf(text: string): Usage | undefined {
  return watch(text, false).usage;
}

describe('usage', () => {
  it.each<[string, unknown, Usage]>([
    [
      'of vLLM without details',
      { prompt_tokens: 5, total_tokens: 7, completion_tokens: 2, prompt_tokens_details: null },
      { promptTokens: 5, cachedTokens: undefined, outputTokens: 2 },
    ],
    [
      'of vLLM with details',
      {
        prompt_tokens: 36,
        total_tokens: 40,
        completion_tokens: 4,
        prompt_tokens_details: { cached_tokens: 32 },
      },
      { promptTokens: 36, cachedTokens: 32, outputTokens: 4 },
    ],
    [
      'of a response',
      {
        input_tokens: 36,
        input_tokens_details: { cached_tokens: 32, cache_write_tokens: 0, cached_tokens_per_turn: [32] },
        output_tokens: 4,
        total_tokens: 40,
      },
      { promptTokens: 36, cachedTokens: 32, outputTokens: 4 },
    ],
    [
      'of a message, which counts apart what was read and written',
      { input_tokens: 5, output_tokens: 1, cache_creation_input_tokens: 96, cache_read_input_tokens: 160 },
      { promptTokens: 261, cachedTokens: 160, outputTokens: 1 },
    ],
    [
      'of a message without a word of the cache',
      { input_tokens: 16, output_tokens: 0 },
      { promptTokens: 16, cachedTokens: undefined, outputTokens: 0 },
    ],
    [
      'of SGLang with its cache report',
      {
        prompt_tokens: 36,
        total_tokens: 40,
        completion_tokens: 4,
        prompt_tokens_details: { cached_tokens: 0 },
        reasoning_tokens: 0,
      },
      { promptTokens: 36, cachedTokens: 0, outputTokens: 4 },
    ],
    ['of embeddings', { prompt_tokens: 3, total_tokens: 3 }, { promptTokens: 3, cachedTokens: undefined }],
  ])('is read: %s', (_, usage, expected) => {
    for (const indent of [0, 2])
      expect(usageOf(JSON.stringify({ id: 'x', choices: [], usage, more: [1] }, undefined, indent))).toEqual(
        expected,
      );
  });

  it.each([
    ['null', '{"usage":null}'],
    ['a number', '{"usage":7}'],
    ['without prompt tokens', '{"usage":{"total_tokens":7}}'],
    ['with a negative number', '{"usage":{"prompt_tokens":-7}}'],
    ['with a fraction', '{"usage":{"prompt_tokens":7.5}}'],
    ['with a text', '{"usage":{"prompt_tokens":"7"}}'],
    ['that does not end', '{"usage":{"prompt_tokens":7'],
    ['that is not JSON', '{"usage":{prompt_tokens:7}}'],
    ['within a text', JSON.stringify({ content: '"usage":{"prompt_tokens":7}' })],
    ['that is the text', '{"content":"usage"}'],
    ['that is too long', `{"usage":{"x":"${'y'.repeat(10_000)}","prompt_tokens":7}}`],
  ])('is not made up: %s', (_, text) => {
    for (const offsets of [[], Array.from({ length: text.length }, (__, at) => at)])
      expect(watch(text, false, offsets).usage).toBeUndefined();
  });

  it('is the last one of a stream that reports it with every event, wherever the pieces are cut', () => {
    const events = Array.from(
      { length: 5 },
      (_, i) =>
        `data: {"choices":[{"delta":{"content":"\\"usage\\"}"}}],"usage":{"prompt_tokens":${i},"a":"}"}}\n\n`,
    );
    const text = `${events.join('')}data: {"usage":null}\n\ndata: [DONE]\n\n`;
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length }), { maxLength: 60 }), (offsets) => {
        const watched = watch(text, true, offsets);
        expect(watched.usage).toEqual({ promptTokens: 4, cachedTokens: undefined });
        expect(watched.events).toBe(7);
      }),
    );
  });

  it('keeps nothing of what has gone by, however long it is', () => {
    const watched = new AnswerWatch(true);
    const piece = Buffer.from(`data: ${'x"usage'.repeat(9_000)}\n\n`);
    for (let i = 0; i < 2_000; i += 1) watched.add(piece);
    expect(watched.events).toBe(2_000);
    expect(watched.usage).toBeUndefined();
  });
});

describe('an answer that repeats the key of its usage', () => {
  /** Bytes that are read one by one, which is what costs time. */
  function bytesRead(pieces: readonly Buffer[]): number {
    let count = 0;
    const answer = new AnswerWatch(false);
    for (const piece of pieces) {
      const counting = new Proxy(piece, {
        get(target, name) {
          if (typeof name === 'string' && /^\d+$/.test(name)) count += 1;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      answer.add(counting);
    }
    return count;
  }

  it.each(['"usage":{', '"usage":{"a":{', '"usage": '])('is read once, byte for byte (%s)', (unit) => {
    const text = Buffer.from(unit.repeat(20_000));
    // Each byte is read one time for the end of an object, and some to find where it begins.
    expect(bytesRead([text])).toBeLessThan(2 * text.length);
  });

  it('still has the last usage behind it', () => {
    const text = `${'"usage":{'.repeat(10_000)}"usage":{}${' '.repeat(5_000)}{"usage":{"prompt_tokens":7}}`;
    expect(usageOf(text)?.promptTokens).toBe(7);
  });
});

describe('events', () => {
  it.each([
    ['line feeds', 'data: 1\n\ndata: 2\n\n', 2],
    ['carriage returns before them', 'data: 1\r\n\r\ndata: 2\r\n\r\n', 2],
    ['more lines in one event', 'event: a\ndata: 1\ndata: 2\n\n', 1],
    ['empty lines between', '\n\n\ndata: 1\n\n\n\n\ndata: 2\n\n', 2],
    ['a last one that is not whole', 'data: 1\n\ndata: 2\n', 1],
  ])('are counted by the empty lines after them: %s', (_, text, count) => {
    for (const offsets of [[], Array.from({ length: text.length }, (__, at) => at)])
      expect(watch(text, true, offsets).events).toBe(count);
  });

  it('are not counted in an answer that is none of them', () => {
    expect(watch('{\n\n"a": 1\n\n}', false).events).toBe(0);
  });
});
