import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ANSWER_HEADERS } from '../../../../src/frontend/picker/wire/names.js';
import { readMessage } from '../../../../src/frontend/picker/wire/wire.js';
import { ProcessingRequest } from '../../../../src/gen/envoy/service/ext_proc/v3/external_processor.js';

const written = (message: Parameters<typeof ProcessingRequest.fromPartial>[0]): Buffer =>
  Buffer.from(ProcessingRequest.encode(ProcessingRequest.fromPartial(message)).finish());

const text = fc.string({ maxLength: 20 });
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const header = fc.record({ key: text.map((key) => `k${key}`), value: text, rawValue: bytes });
const head = fc.record({
  headers: fc.record({ headers: fc.array(header, { maxLength: 8 }) }),
  endOfStream: fc.boolean(),
});
const body = fc.record({ body: bytes, endOfStream: fc.boolean() });
const metadata = fc.option(
  fc.record({ filterMetadata: fc.constant({ 'envoy.lb': { 'x-endpoint': '10.0.0.1:8000' } }) }),
  { nil: undefined },
);

describe('a message of a gateway', () => {
  it('has the bodies and the ends that the generated code finds in it, and no metadata, which heads have', () => {
    const $case = fc.constantFrom('requestBody' as const, 'responseBody' as const);
    fc.assert(
      fc.property($case, body, metadata, fc.boolean(), (name, value, metadataContext, observabilityMode) => {
        const sent = written({ request: { $case: name, value }, metadataContext, observabilityMode });
        const read = readMessage(sent);
        const generated = ProcessingRequest.decode(sent);
        expect(read).toEqual({ ...generated, metadataContext: undefined });
      }),
    );
  });

  it('has the metadata and the headers that the generated code finds in it, by lower-case name, several of one name joined', () => {
    fc.assert(
      fc.property(head, metadata, (value, metadataContext) => {
        const sent = written({
          request: { $case: 'requestHeaders', value },
          metadataContext,
          protocolConfig: { requestBodyMode: 4, sendBodyWithoutWaitingForHeaderResponse: true },
        });
        const { request, protocolConfig, metadataContext: found } = readMessage(sent);
        expect(found).toEqual(metadataContext);
        const expected: Record<string, string> = Object.create(null);
        for (const { key, value: plain, rawValue } of value.headers.headers) {
          const name = Buffer.from(key).toString('latin1').toLowerCase();
          const said = rawValue.length > 0 ? rawValue.toString('latin1') : plain;
          expected[name] = expected[name] === undefined ? said : `${expected[name]}, ${said}`;
        }
        expect(request).toEqual({
          $case: 'requestHeaders',
          value: { headers: expected, endOfStream: value.endOfStream },
        });
        expect(protocolConfig).toEqual(ProcessingRequest.decode(sent).protocolConfig);
      }),
    );
  });

  it('of an answer has those headers alone that are looked at', () => {
    const names = [...ANSWER_HEADERS, 'date', 'x-request-id'];
    const headers = names.map((key) => ({ key, rawValue: Buffer.from('200') }));
    const { request } = readMessage(
      written({ request: { $case: 'responseHeaders', value: { headers: { headers } } } }),
    );
    const shown = request?.$case === 'responseHeaders' ? request.value.headers : {};
    expect(new Set(Object.keys(shown))).toEqual(ANSWER_HEADERS);
  });

  it('keeps the first of the fields that stand once, and a thousand headers at most', () => {
    const header = (key: string, at: number) => ({ key, rawValue: Buffer.from(String(at)) });
    const headers = [header('content-type', 1), header('Content-Type', 2)];
    for (let at = 0; at < 2_000; at += 1) headers.push(header(`x-${at}`, at));
    const { request } = readMessage(
      written({ request: { $case: 'requestHeaders', value: { headers: { headers } } } }),
    );
    const shown = request?.$case === 'requestHeaders' ? request.value.headers : {};
    expect(shown['content-type']).toBe('1');
    expect(Object.keys(shown)).toHaveLength(999);
  });

  it('with fields of newer gateways is read without them', () => {
    const sent = written({
      request: { $case: 'requestBody', value: { body: Buffer.from('x'), endOfStream: true } },
    });
    // Field 9, a map of attributes, and field 100, a number.
    const newer = Buffer.concat([Buffer.from([0x4a, 2, 1, 2]), sent, Buffer.from([0xa0, 0x06, 7])]);
    expect(readMessage(newer)).toEqual(readMessage(sent));
  });

  it('is read or refused, whatever is in it', () => {
    fc.assert(
      fc.property(head, fc.uint8Array({ minLength: 1, maxLength: 8 }), fc.nat(), (value, junk, place) => {
        const sent = written({ request: { $case: 'requestHeaders', value } });
        const at = place % (sent.length + 1);
        const broken = Buffer.concat([sent.subarray(0, at), junk, sent.subarray(at)]);
        try {
          const { request } = readMessage(broken);
          if (request?.$case === 'requestHeaders') expect(request.value.headers).toBeTypeOf('object');
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
    );
  });

  it.each([
    ['a length beyond its end', [0x22, 0x05, 0x0a]],
    ['a body beyond its own end', [0x22, 0x02, 0x0a, 0x05, 1, 2, 3, 4, 5]],
    ['an endless number', [0x50, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
    ['a field that no message has', [0x07]],
  ])('with %s is refused', (_, sent) => {
    expect(() => readMessage(Buffer.from(sent))).toThrow();
  });
});
