import { describe, expect, it } from 'vitest';
import {
  connectionFailureIn,
  hostAndPort,
  NOT_CONNECTED,
  NOT_RESOLVED,
  peerAddressIn,
} from '../../../../../src/tools/doctor/logs/general/failed-connections.js';

describe('the address in an error of a connection', () => {
  it.each([
    ['http', 'minio:9000', 'Could not connect to the endpoint URL: "http://minio:9000/kv"'],
    ['http', 'minio:9000', 'cannot reach http://user:secret@minio:9000/kv'],
    ['https', 'api.example.org', 'error sending request for url (https://api.example.org/v1/models)'],
    ['', 'decode:8000', "HTTPConnectionPool(host='decode', port=8000): Max retries exceeded with url: /v1"],
    ['', '10.0.0.5:8002', "Connect call failed ('10.0.0.5', 8002)"],
    ['', '::1:8002', "Connect call failed ('::1', 8002, 0, 0)"],
    ['', 'redis:6379', 'Error 111 connecting to redis:6379. Connection refused.'],
    ['', '10.0.0.9:6379', 'controller.go:329] redis: dial tcp 10.0.0.9:6379: i/o timeout'],
    ['', '[fd00::7]:8000', 'dial tcp [fd00::7]:8000: connect: no route to host'],
    ['', '10.0.0.3:4222', 'nats: no servers available for connection (10.0.0.3:4222)'],
    ['', 'mooncake-master:50051', 'Connection refused: failed to connect to mooncake-master:50051'],
    ['', 'etcd.kv.svc:2379', 'Connection refused (etcd.kv.svc:2379)'],
  ])('is %s %s: %s', (scheme, place, error) => {
    const peer = peerAddressIn(error);
    expect(peer?.scheme).toBe(scheme);
    expect(peer && hostAndPort(peer)).toBe(place);
  });

  it('is the first that a client wrote, where there are several', () => {
    const error =
      "Client error to http://gen0:8002/v1/completions: Cannot connect to host gen0:8002 [Connect call failed ('10.0.0.5', 8002)]";
    expect(peerAddressIn(error)).toEqual({ scheme: 'http', host: 'gen0', port: '8002' });
  });

  it('is that of the request, where a router names both engines of a pair', () => {
    const error =
      'Transparent proxy request failed: prefill=http://p:8000, decode=http://d:8001, error=error sending request for url (http://d:8001/v1/completions): connection refused';
    expect(peerAddressIn(error)).toEqual({ scheme: 'http', host: 'd', port: '8001' });
  });

  it.each([
    '10:53:12 router.go:1152] Connection refused',
    'Connection refused at server.cc:2040',
    'request_id:12345 Connection refused',
    'dial tcp: lookup redis on 10.96.0.10: no such host',
    'Connection refused',
  ])('is none in %s', (error) => {
    expect(peerAddressIn(error)).toBeUndefined();
  });
});

describe('why a connection did not come about', () => {
  it.each([
    ['refused', 'Error 111 connecting to redis:6379. Connection refused.'],
    ['refused', 'tcp connect error: os error 111'],
    ['unresolved', 'socket.gaierror: [Errno -2] Name or service not known'],
    ['unresolved', 'dial tcp: lookup redis on 10.96.0.10:53: no such host'],
    ['silent', 'dial tcp 10.0.0.7:8000: i/o timeout'],
    ['unsaid', 'error sending request for url (http://10.0.0.5:30000/generate)'],
  ])('is %s: %s', (failure, error) => {
    expect(connectionFailureIn(error)).toBe(failure);
    expect(NOT_CONNECTED.test(error) || NOT_RESOLVED.test(error) || /os error 111/.test(error)).toBe(true);
  });

  it.each([
    'Max retries exceeded with url: /v1 (Caused by ResponseError(too many 503 error responses))',
    'the connection was closed by the client',
    'dial tcp 10.0.0.7:8000: operation was canceled',
  ])('is asked of none that an answer ended: %s', (error) => {
    expect(NOT_CONNECTED.test(error) || NOT_RESOLVED.test(error)).toBe(false);
  });
});
