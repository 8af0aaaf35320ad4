import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OpenAiError } from '../../../src/frontend/errors/openai-error.js';
import { boundaryOf, formField } from '../../../src/frontend/gateway/multipart.js';

async function formOf(fields: Record<string, string | Blob>): Promise<{ body: Buffer; boundary: string }> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  const request = new Request('http://x', { method: 'POST', body: form });
  const boundary = boundaryOf(request.headers.get('content-type') ?? '') ?? '';
  return { body: Buffer.from(await request.arrayBuffer()), boundary };
}

describe('a field of a form', () => {
  it('is read beside files, wherever it stands', async () => {
    const file = new Blob([Buffer.from('name="model"\r\n\r\nnot this\r\n--')]);
    const { body, boundary } = await formOf({ file, model: 'größe/tiny', language: 'en' });
    expect(formField(body, boundary, 'model')).toBe('größe/tiny');
    expect(formField(body, boundary, 'language')).toBe('en');
    expect(formField(body, boundary, 'nothing')).toBeUndefined();
  });

  it('is none where it is longer than a name may be', async () => {
    const { body, boundary } = await formOf({ model: 'x'.repeat(2_000) });
    expect(formField(body, boundary, 'model')).toBeUndefined();
  });

  it('is sought in any bytes without harm', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        try {
          formField(Buffer.concat([Buffer.from('--b\r\n'), bytes, Buffer.from('\r\n--b--')]), 'b', 'model');
        } catch (error) {
          expect(error).toBeInstanceOf(OpenAiError);
        }
      }),
    );
  });

  it('makes a body that is no form a bad request', () => {
    expect(() => formField(Buffer.from('{}'), 'b', 'model')).toThrow(OpenAiError);
  });
});

it.each([
  ['multipart/form-data; boundary=abc', 'abc'],
  ['Multipart/Form-Data; charset=utf-8; boundary="a b"', 'a b'],
  ['multipart/form-data', undefined],
  ['multipart/mixed; boundary=abc', undefined],
  [undefined, undefined],
])('the type %j has the boundary %j', (type, boundary) => {
  expect(boundaryOf(type)).toBe(boundary);
});
