import { describe, expect, it } from 'vitest';
import { judgeFailure } from '../../../src/frontend/picker/failed-answer.js';

const OWN = { 'x-envoy-upstream-service-time': '3' };
const UPSTREAM = 'upstream connect error or disconnect/reset before headers.';

describe('an answer with an error', () => {
  it.each([
    ['that an engine gave', 500, OWN, '{"error":"x"}', 'server_error'],
    [
      'that says what Envoy would say, of an engine',
      503,
      OWN,
      `${UPSTREAM} reset reason: overflow`,
      'server_error',
    ],
    ['of a gateway that shows no body', 503, {}, '', 'server_error'],
    ['of a gateway of another make', 502, {}, '<html>Bad Gateway', 'server_error'],
    [
      'after a connection that was lost',
      503,
      {},
      `${UPSTREAM} reset reason: connection termination`,
      'closed',
    ],
  ])('%s is a suspicion', (_, status, headers, text, kind) => {
    expect(judgeFailure(status, headers, text)).toMatchObject({
      by: 'worker',
      isSure: false,
      fault: { kind },
    });
  });

  it.each([
    `${UPSTREAM} reset reason: remote connection failure, transport failure reason: delayed connect error: Connection refused`,
    `${UPSTREAM} retried and the latest reset reason: remote connection failure, transport failure reason: x`,
    `${UPSTREAM} reset reason: connection timeout`,
  ])('of a connection that could not be made is no fault of any request: %s', (text) => {
    const judged = judgeFailure(503, {}, text);
    expect(judged).toMatchObject({ by: 'worker', isSure: true, fault: { kind: 'unreachable' } });
    expect(JSON.stringify(judged)).toMatch(
      /the gateway says: (?:remote connection failure|connection timeout)"/,
    );
  });

  it.each([
    ['a bound of its own', 503, { 'x-envoy-overloaded': 'true' }, `${UPSTREAM} reset reason: overflow`],
    ['a bound of its own, without the header', 503, {}, `${UPSTREAM} reset reason: overflow`],
    ['no endpoint', 503, {}, 'no healthy upstream'],
    ['its time-out', 504, {}, 'upstream request timeout'],
    ['its time-out, without a body', 504, {}, ''],
  ])('of the gateway, %s, says nothing of a worker', (_, status, headers, text) => {
    expect(judgeFailure(status, headers, text)).toEqual({ by: 'gateway' });
  });
});
