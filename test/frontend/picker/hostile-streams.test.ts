import { describe, expect, it } from 'vitest';
import { turns } from '../../support/turns.js';
import { PickerHarness } from './picker-harness.js';

const ASKED = { model: 'tiny', prompt: 'one two three' };
const INVALID_ARGUMENT = 3;

/** `streamResetBurst` of `http2.createServer` came with it. */
const [MAJOR = 0, MINOR = 0] = process.versions.node.split('.').map(Number);
const TAKES_RESETS = MAJOR > 22 || (MAJOR === 22 && MINOR >= 10);

describe('a gateway that does not keep to the protocol', () => {
  it.each([
    ['a body before any headers', (s: ReturnType<PickerHarness['open']>) => s.body(ASKED)],
    ['headers twice', (s: ReturnType<PickerHarness['open']>) => s.head().head()],
    [
      'trailers first',
      (s: ReturnType<PickerHarness['open']>) =>
        s.send({ $case: 'requestTrailers', value: { trailers: { headers: [] } } }),
    ],
    ['a message without a request', (s: ReturnType<PickerHarness['open']>) => s.send(undefined)],
  ])('with %s gets an error, and nothing is left', async (_, play) => {
    const harness = await new PickerHarness().start();
    const stream = play(harness.open());
    expect(await stream.ended()).toBe(INVALID_ARGUMENT);
    expect(harness.picker.openRequests).toBe(0);
    expect(harness.unreleased).toBe(0);
  });

  it('that shows an answer to no request is answered as if it had asked', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().answerHead().answerBody('{}');
    const answers = await stream.until(2);
    expect(answers.map(({ response }) => response?.$case)).toEqual(['responseHeaders', 'responseBody']);
    stream.call.end();
    expect(await stream.ended()).toBe(0);
    expect(harness.picker.openRequests).toBe(0);
  });

  it('with an endless body gets 413 at the limit, and is read no further', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head();
    const piece = Buffer.alloc(16 * 1024, 0x20);
    for (let at = 0; at < 64; at += 1)
      stream.send({ $case: 'requestBody', value: { body: piece, endOfStream: false } });
    expect(await stream.ended()).toBe(0);
    expect(stream.refusal).toMatchObject({ status: 413, body: { error: { code: 'request_too_large' } } });
    expect(harness.picker.openRequests).toBe(0);
  });

  it('with a body of endless empty pieces gets 413', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head();
    const empty = Buffer.alloc(0);
    for (let at = 0; at < 65_600 && stream.status === undefined; at += 1) {
      stream.send({ $case: 'requestBody', value: { body: empty, endOfStream: false } });
      if (at % 1_000 === 0) await turns();
    }
    expect(await stream.ended()).toBe(0);
    expect(stream.refusal?.status).toBe(413);
  });

  it('that never ends a body gets 408 after two minutes', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head();
    stream.send({ $case: 'requestBody', value: { body: Buffer.from('{'), endOfStream: false } });
    const first = harness.open();
    first.head({ ':method': 'GET' }, { endOfStream: true });
    await first.until(1);
    await harness.clock.advanceMs(121_000);
    expect(await stream.ended()).toBe(0);
    expect(stream.refusal?.status).toBe(408);
    expect(harness.picker.openRequests).toBe(1);
    await harness.clock.advanceMs(3_600_000);
    await first.ended();
    expect(harness.unreleased).toBe(0);
    expect(harness.clock.pendingTimers).toBe(0);
  });

  it('that opens thousands of streams and leaves has nothing reserved, and beyond the bound gets 503', async () => {
    const harness = await new PickerHarness({ maxRequests: 1_500 }).start();
    const streams = Array.from({ length: 2_000 }, () => harness.open().head().body(ASKED));
    await Promise.all(streams.map((stream) => stream.until(1)));
    expect(streams.filter(({ refusal }) => refusal?.status === 503).length).toBeGreaterThanOrEqual(500);
    expect(harness.unreleased).toBe(harness.picker.openRequests);
    for (const { call } of streams) call.cancel();
    await Promise.all(streams.map((stream) => stream.ended()));
    await expect.poll(() => harness.picker.openRequests, { timeout: 20_000 }).toBe(0);
    expect(harness.unreleased).toBe(0);
    expect(await harness.metric('kv_accord_epp_reserved_requests')).toBe(0);
  });

  it('that leaves while an endpoint is being chosen has it released when it is', async () => {
    const harness = await new PickerHarness().start();
    let open = (): void => undefined;
    harness.gate = new Promise((resolve) => {
      open = resolve;
    });
    const stream = harness.open().head().body(ASKED);
    await expect.poll(() => harness.picker.openRequests, { timeout: 20_000 }).toBe(1);
    stream.call.cancel();
    await stream.ended();
    await expect.poll(() => harness.picker.openRequests, { timeout: 20_000 }).toBe(0);
    open();
    await expect.poll(() => harness.reserved.length, { timeout: 20_000 }).toBe(1);
    await expect.poll(() => harness.unreleased, { timeout: 20_000 }).toBe(0);
  });

  it('that reads nothing is read no further, and what it is owed is bounded', async () => {
    const harness = await new PickerHarness().start();
    const stream = harness.open().head().body(ASKED);
    await stream.until(2);
    stream.call.pause();
    stream.answerHead();
    const piece = 'x'.repeat(256 * 1024);
    let isFull = false;
    for (let at = 0; at < 400 && !isFull; at += 1) {
      const value = { body: Buffer.from(piece), endOfStream: false };
      isFull = !stream.call.write({
        request: { $case: 'responseBody', value },
        metadataContext: undefined,
        observabilityMode: false,
        protocolConfig: undefined,
      });
      await turns();
    }
    // Its own transport is full: 100 MB were never taken.
    expect(isFull).toBe(true);
    stream.call.resume();
    stream.call.cancel();
    await stream.ended();
    await expect.poll(() => harness.unreleased, { timeout: 20_000 }).toBe(0);
  });

  it.skipIf(!TAKES_RESETS)('that resets every stream, as Envoy does, keeps its connection', async () => {
    const harness = await new PickerHarness().start();
    for (let round = 0; round < 20; round += 1) {
      const streams = Array.from({ length: 100 }, () => harness.open().head().body(ASKED));
      await Promise.all(streams.map((stream) => stream.until(1)));
      expect(streams.every(({ answers }) => answers.length > 0)).toBe(true);
      for (const { call } of streams) call.cancel();
      await Promise.all(streams.map((stream) => stream.ended()));
    }
    const last = harness.open().head().body(ASKED);
    expect((await last.until(2)).length).toBe(2);
    last.call.cancel();
  });
});
