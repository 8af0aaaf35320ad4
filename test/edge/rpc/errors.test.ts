import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemRandom } from '../../../src/edge/platform/random.js';
import {
  RPC_ERROR_CODES,
  RpcError,
  readPeerReason,
  toRpcError,
  toStatus,
} from '../../../src/edge/rpc/errors.js';
import { RecordingLogger } from '../../support/recording-logger.js';

/** What a client sees of a status. */
function received(error: RpcError): ServiceError {
  return Object.assign(new Error(error.message), toStatus(error));
}

describe('an error on the wire', () => {
  for (const code of RPC_ERROR_CODES) {
    it(`of code ${code} carries a status that is no success, and its reason`, () => {
      const seen = received(new RpcError(code, 'because'));
      expect(seen.code).not.toBe(status.OK);
      expect(seen.code).not.toBe(status.UNKNOWN);
      expect(seen.details).toBe('because');
      expect(readPeerReason(seen)).toEqual({ reason: code, metadata: {} });
    });
  }

  it('carries a finer reason and small facts', () => {
    const error = new RpcError('unavailable', 'not agreed', {
      reason: 'waiting_for_workers',
      metadata: { group: 'llama' },
    });
    expect(readPeerReason(received(error))).toEqual({
      reason: 'waiting_for_workers',
      metadata: { group: 'llama' },
    });
  });

  it('survives any text: grpc-js can encode it and it stays bounded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), (text) => {
        const { details } = toStatus(new RpcError('internal', text));
        expect(() => encodeURI(details)).not.toThrow();
        expect(details.length).toBeLessThanOrEqual(1_025);
      }),
    );
    // Half of a pair, and a pair that the cut goes through.
    expect(toStatus(new RpcError('internal', 'a\ud800b')).details).toBe('a\ufffdb');
    expect(() =>
      encodeURI(toStatus(new RpcError('internal', '\u{1f600}'.repeat(600))).details),
    ).not.toThrow();
  });
});

describe('an error of our own', () => {
  it('stays inside; the caller gets a number that the log has too', () => {
    const logger = new RecordingLogger();
    const error = toRpcError(new TypeError('x is undefined'), '/a/B', { logger, random: systemRandom });
    expect(error.code).toBe('internal');
    expect(error.message).not.toContain('undefined');
    expect(logger.lines).toMatchObject([
      { level: 'error', fields: { call: '/a/B', correlationId: error.metadata['correlation_id'] } },
    ]);
  });

  it('is passed on as it is when it was meant for the caller, and not logged', () => {
    const logger = new RecordingLogger();
    const meant = new RpcError('not_found', 'no such group');
    expect(toRpcError(meant, '/a/B', { logger, random: systemRandom })).toBe(meant);
    expect(logger.lines).toEqual([]);
  });
});

describe('reading the reason of a peer', () => {
  function withDetails(value: Buffer | undefined): ServiceError {
    const metadata = new Metadata();
    if (value !== undefined) metadata.set('grpc-status-details-bin', value);
    return Object.assign(new Error('x'), { code: status.UNAVAILABLE, details: 'x', metadata });
  }

  it('finds none where there is none', () => {
    expect(readPeerReason(withDetails(undefined))).toBeUndefined();
  });

  it('finds none in any bytes that are not ours, and never throws', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(readPeerReason(withDetails(Buffer.from(bytes)))).toBeUndefined();
      }),
    );
  });

  it('does not decode what is far too large', () => {
    expect(readPeerReason(withDetails(Buffer.alloc(17 * 1024)))).toBeUndefined();
  });
});
