import { describe, expect, it } from 'vitest';
import {
  ANTHROPIC_SHAPE,
  OPENAI_SHAPE,
  RESPONSES_SHAPE,
  writeError,
} from '../../../src/frontend/errors/api-shapes.js';
import { OpenAiError } from '../../../src/frontend/errors/openai-error.js';

const shut = new OpenAiError(503, 'The gate is shut: größe.', { code: 'gate_shut', retryAfterSeconds: 2 });

/** The data of the only event of a text. */
function dataOf(event: string): unknown {
  const data = /^(?:event: \w+\n)?data: (.*)\n\n$/.exec(event)?.[1];
  return JSON.parse(data ?? 'no event');
}

describe('a refusal', () => {
  it("of OpenAI's APIs is an object with four fields", () => {
    for (const shape of [OPENAI_SHAPE, RESPONSES_SHAPE])
      expect(writeError(shut, shape)).toMatchObject({ body: shut.body, headers: shut.headers });
  });

  it("of Anthropic's API has a type and a message, its own length, and says when to come again", () => {
    const { headers, body } = writeError(shut, ANTHROPIC_SHAPE);
    expect(JSON.parse(body)).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: 'The gate is shut: größe.' },
    });
    expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
    expect(headers['retry-after']).toBe('2');
  });

  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [404, 'not_found_error'],
    [405, 'invalid_request_error'],
    [413, 'request_too_large'],
    [500, 'api_error'],
    [502, 'api_error'],
    [504, 'timeout_error'],
  ])("with the status %i has Anthropic's type %s", (status, type) => {
    const { body } = writeError(new OpenAiError(status, 'No.'), ANTHROPIC_SHAPE);
    expect(JSON.parse(body).error.type).toBe(type);
  });
});

describe('the last event of a stream that breaks off', () => {
  const broke = new OpenAiError(502, 'The worker "a"\nbroke off.', { code: 'worker_closed' });

  it('of a chat has the object of a refusal', () => {
    expect(dataOf(OPENAI_SHAPE.streamEvent(broke))).toEqual(JSON.parse(broke.body));
  });

  it('of responses is the event error', () => {
    const event = RESPONSES_SHAPE.streamEvent(broke);
    expect(event.startsWith('event: error\n')).toBe(true);
    expect(dataOf(event)).toMatchObject({ type: 'error', code: 'worker_closed', message: broke.message });
  });

  it('of messages is the event error with the object of a refusal', () => {
    const event = ANTHROPIC_SHAPE.streamEvent(broke);
    expect(event.startsWith('event: error\n')).toBe(true);
    expect(dataOf(event)).toEqual({ type: 'error', error: { type: 'api_error', message: broke.message } });
  });
});
