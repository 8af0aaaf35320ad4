import { StreamRefusals } from '../../src/edge/platform/streams/stream-refusals.js';

/** For tests in which nothing may fail on what a peer sends: what does is thrown on, and ends the test. */
export function strictRefusals(): StreamRefusals {
  const refuse = (fields: object): never => {
    throw 'error' in fields ? fields.error : new Error('a fault without an error');
  };
  return new StreamRefusals({
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: refuse } as never,
  });
}
