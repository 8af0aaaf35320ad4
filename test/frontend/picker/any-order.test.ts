import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ProcessingRequest } from '../../../src/gen/envoy/service/ext_proc/v3/external_processor.js';
import { propertyRuns } from '../../support/property-runs.js';
import { mapOf, PickerHarness } from './picker-harness.js';

const bytes = fc.oneof(
  fc.constant(Buffer.from('{"model":"tiny","prompt":"a"}')),
  fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
);
const headers = fc
  .dictionary(
    fc.constantFrom(
      ':method',
      ':path',
      ':status',
      'content-type',
      'x-gateway-destination-endpoint-served',
      'x-y',
    ),
    fc.oneof(
      fc.constantFrom('POST', 'GET', '/v1/completions', '/v1/responses/%', '200', '503', 'application/json'),
      fc.string({ maxLength: 30 }),
    ),
  )
  .map(mapOf);
const head = fc.record({ headers, endOfStream: fc.boolean() });
const body = fc.record({ body: bytes, endOfStream: fc.boolean() });
const request = fc.oneof(
  head.map((value) => ({ $case: 'requestHeaders' as const, value })),
  body.map((value) => ({ $case: 'requestBody' as const, value })),
  headers.map((trailers) => ({ $case: 'requestTrailers' as const, value: { trailers } })),
  head.map((value) => ({ $case: 'responseHeaders' as const, value })),
  body.map((value) => ({ $case: 'responseBody' as const, value })),
  headers.map((trailers) => ({ $case: 'responseTrailers' as const, value: { trailers } })),
  fc.constant(undefined),
);
const metadata = fc.oneof(
  fc.constant(undefined),
  fc
    .dictionary(
      fc.constantFrom('envoy.lb', 'envoy.lb.subset_hint'),
      fc.dictionary(
        fc.constantFrom('x-gateway-destination-endpoint-served', 'x-gateway-destination-endpoint-subset'),
        fc.oneof(fc.constantFrom('10.0.0.2:8000', '10.0.0.1:8000,10.0.0.3:8000'), fc.jsonValue()),
      ),
    )
    .map((filterMetadata) => ({ filterMetadata })),
);
const message: fc.Arbitrary<ProcessingRequest> = fc.record({
  request,
  metadataContext: metadata,
  observabilityMode: fc.boolean(),
  protocolConfig: fc.oneof(
    fc.constant(undefined),
    fc.record({
      requestBodyMode: fc.integer({ min: 0, max: 7 }) as fc.Arbitrary<0>,
      responseBodyMode: fc.integer({ min: 0, max: 7 }) as fc.Arbitrary<0>,
      sendBodyWithoutWaitingForHeaderResponse: fc.boolean(),
    }),
  ),
});

it('messages of any kind in any order leave nothing open and nothing reserved, and no fault of our own', async () => {
  const harness = await new PickerHarness().start();
  await fc.assert(
    fc.asyncProperty(fc.array(message, { maxLength: 12 }), fc.boolean(), async (messages, isCut) => {
      const stream = harness.open();
      for (const one of messages) stream.call.write(one);
      if (isCut) stream.call.cancel();
      else stream.call.end();
      await stream.ended();
      const isLeft = async (): Promise<number> => {
        // Some streams end before they are seen to begin, without a sign.
        await harness.clock.advanceMs(10_000);
        return harness.picker.openRequests;
      };
      await expect.poll(isLeft, { timeout: 20_000, interval: 1 }).toBe(0);
      await expect.poll(() => harness.unreleased, { timeout: 20_000, interval: 1 }).toBe(0);
      for (const { released } of harness.reserved) expect(released).toBe(1);
    }),
    { numRuns: propertyRuns(150) },
  );
  expect(await harness.metric('kv_accord_epp_reserved_requests')).toBe(0);
  expect(harness.logger.lines).toEqual([]);
}, 120_000);
