import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  packAnswers,
  type WrittenAnswer,
  writeAnswer,
} from '../../../../src/frontend/picker/wire/write-answers.js';
import { ProcessingResponse } from '../../../../src/gen/envoy/service/ext_proc/v3/external_processor.js';

/** As grpc-js sends a serialised message: behind its length. */
function sent(message: WrittenAnswer): Buffer {
  const target = Buffer.alloc(5 + message.byteLength, 0xee);
  target[0] = 0;
  target.writeUInt32BE(message.byteLength, 1);
  message.copy(target, 5);
  return target;
}

const bytesOf = (message: ProcessingResponse): Buffer => sent(writeAnswer(message)).subarray(5);

function returned(size: number, endOfStream = true): ProcessingResponse {
  const value = { body: Buffer.alloc(size, 7), endOfStream };
  const bodyMutation = { mutation: { $case: 'streamedResponse' as const, value } };
  return ProcessingResponse.fromPartial({
    response: { $case: 'requestBody', value: { response: { bodyMutation } } },
  });
}

describe('an answer to a gateway', () => {
  const same = (message: ProcessingResponse): void => {
    const ours = ProcessingResponse.decode(bytesOf(message));
    expect(ours).toEqual(ProcessingResponse.decode(ProcessingResponse.encode(message).finish()));
  };

  it('that sends a piece of a body back is written as the generated code writes it', () => {
    const sizes = fc.oneof(fc.nat(300), fc.constantFrom(127, 128, 16_383, 16_384, 62_000));
    const $case = fc.constantFrom('requestBody' as const, 'responseBody' as const);
    fc.assert(
      fc.property($case, sizes, fc.boolean(), (name, size, endOfStream) => {
        const message = ProcessingResponse.fromPartial({
          response: {
            $case: name,
            value: {
              response: {
                bodyMutation: {
                  mutation: {
                    $case: 'streamedResponse',
                    value: { body: Buffer.alloc(size, 7), endOfStream },
                  },
                },
              },
            },
          },
        });
        expect(bytesOf(message).equals(ProcessingResponse.encode(message).finish())).toBe(true);
      }),
    );
  });

  it('that changes nothing, or headers, or refuses, says what the generated code says', () => {
    for (const $case of ['requestHeaders', 'responseHeaders', 'requestBody', 'responseBody'] as const) {
      same(ProcessingResponse.fromPartial({ response: { $case, value: {} } }));
      same(
        ProcessingResponse.fromPartial({
          response: {
            $case,
            value: { response: { headerMutation: { removeHeaders: ['x'] }, clearRouteCache: true } },
          },
          dynamicMetadata: { 'envoy.lb': { x: 'y' } },
        }),
      );
    }
    for (const $case of ['requestTrailers', 'responseTrailers'] as const)
      same(ProcessingResponse.fromPartial({ response: { $case, value: {} } }));
    same(
      ProcessingResponse.fromPartial({
        response: { $case: 'immediateResponse', value: { status: { code: 503 }, body: Buffer.from('no') } },
      }),
    );
  });
});

describe('several answers', () => {
  it('that go out together are as many messages as apart', () => {
    const unchanged = ProcessingResponse.fromPartial({ response: { $case: 'responseHeaders', value: {} } });
    const answer = fc.oneof(
      fc.constant(unchanged),
      fc.nat(300).map((size) => returned(size)),
    );
    fc.assert(
      fc.property(fc.array(answer, { minLength: 1, maxLength: 5 }), (answers) => {
        const together = sent(packAnswers(answers.map(writeAnswer)));
        const apart = Buffer.concat(answers.map((one) => sent(writeAnswer(one))));
        expect(together.equals(apart)).toBe(true);
      }),
    );
  });
});
