import { describe, expect, it } from 'vitest';
import { isEventEndpoint } from '../../../../src/worker/sidecar/kv-events/event-endpoint.js';

describe('an endpoint of KV events', () => {
  it.each([
    'tcp://127.0.0.1:5557',
    'tcp://engine-0.engines:5557',
    'tcp://[::1]:5557',
    '@tcp://*:5557',
    '@tcp://0.0.0.0:65535',
    'ipc:///tmp/kv.sock',
  ])('can be %s', (text) => expect(isEventEndpoint(text)).toBe(true));

  it.each([
    '',
    'tcp://',
    'tcp://host',
    'tcp://host:0',
    'tcp://host:65536',
    'tcp://host:1/path',
    'tcp://user@host:1',
    'tcp://a b:1',
    'tcp://*:5557',
    '@@tcp://host:1',
    'http://host:1',
    'inproc://x',
    'ipc://',
    'host:5557',
  ])('cannot be %j', (text) => expect(isEventEndpoint(text)).toBe(false));
});
