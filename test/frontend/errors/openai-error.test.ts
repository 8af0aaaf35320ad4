import { describe, expect, it } from 'vitest';
import { notRoutedError, OpenAiError } from '../../../src/frontend/errors/openai-error.js';

describe('an error in the shape of OpenAI', () => {
  it('has all four fields, with null for those that say nothing', () => {
    const error = new OpenAiError(400, 'Not JSON.');
    expect(JSON.parse(error.body)).toEqual({
      error: { message: 'Not JSON.', type: 'invalid_request_error', param: null, code: null },
    });
    expect(error.headers).toEqual({
      'content-type': 'application/json',
      'content-length': String(error.body.length),
    });
  });

  it('counts its length in bytes', () => {
    const error = new OpenAiError(404, 'The model `größe` does not exist.');
    expect(error.headers['content-length']).toBe(String(Buffer.byteLength(error.body)));
  });

  it('is of the server from 500 on', () => {
    expect(new OpenAiError(502, 'The worker broke off.').type).toBe('server_error');
  });

  it('says when nothing is routed why, and that another try is worth it', () => {
    const error = notRoutedError({
      code: 'gate_shut',
      reasons: [{ code: 'waiting_for_workers', text: 'waiting for 1 of 2 workers' }],
    });
    expect(error.status).toBe(503);
    expect(error.headers['retry-after']).toBe('2');
    expect(JSON.parse(error.body).error).toEqual({
      message: 'No request is routed until the workers of this model agree. Waiting for 1 of 2 workers.',
      type: 'server_error',
      param: null,
      code: 'gate_shut',
    });
  });

  it('quotes a few reasons and counts the rest', () => {
    const reasons = Array.from({ length: 8 }, (_, at) => ({
      code: 'waiting_for_workers' as const,
      text: `worker ${at} is silent`,
    }));
    expect(notRoutedError({ code: 'gate_shut', reasons }).message).toMatch(
      /Worker 4 is silent\. And 3 more\.$/,
    );
  });
});
