import { describe, expect, it } from 'vitest';
import { decisionHeaders, forwardedHeaders, passedHeaders } from '../../../src/frontend/proxy/headers.js';
import { RecordedRoute } from './proxy-harness.js';

const { decision } = new RecordedRoute('a:1');
const CALLER = { address: '10.1.2.3', isEncrypted: true };

function forwarded(
  headers: Record<string, string>,
  more: Partial<typeof decision> = {},
): Map<string, string> {
  const flat = forwardedHeaders(
    headers,
    CALLER,
    { passesAuthorization: true },
    { ...decision, ...more },
    true,
  );
  return new Map(
    Array.from({ length: flat.length / 2 }, (_, n) => [flat[2 * n] ?? '', flat[2 * n + 1] ?? '']),
  );
}

const raw = (...pairs: readonly string[]): Buffer[] => pairs.map((text) => Buffer.from(text, 'latin1'));

describe('what a worker gets', () => {
  it('has nothing that was said of the connection of the client', () => {
    const names = [
      'connection',
      'keep-alive',
      'proxy-authorization',
      'proxy-connection',
      'te',
      'trailer',
      'transfer-encoding',
      'upgrade',
      'http2-settings',
      'content-length',
      'host',
      'expect',
      'x-data-parallel-rank',
    ];
    const got = forwarded({ ...Object.fromEntries(names.map((name) => [name, 'x'])), 'x-kept': 'y' });
    expect(names.filter((name) => got.has(name))).toEqual([]);
    expect(got.get('x-kept')).toBe('y');
  });

  it('has no key of a client where it may have none, whichever header it stands in', () => {
    const keys = { authorization: 'Bearer secret', 'x-api-key': 'secret' };
    for (const [passesAuthorization, mayHaveKeys] of [
      [false, true],
      [true, false],
    ] as const) {
      const flat = forwardedHeaders(keys, CALLER, { passesAuthorization }, decision, mayHaveKeys);
      expect(flat.join(' ')).not.toContain('secret');
    }
    expect(forwarded(keys).get('x-api-key')).toBe('secret');
  });

  it('has the word of nobody else about where blocks are fetched, while this process says it', () => {
    const asked = { 'x-kv-cache-source-host-port': 'evil:1', 'x-kv-accord-cache-source-tokens': '9' };
    const options = { passesAuthorization: true };
    const source = { hostPort: 'b:8000', tokens: 192 };
    expect(forwarded(asked).get('x-kv-cache-source-host-port')).toBe('evil:1');
    const none = forwardedHeaders(asked, CALLER, options, decision, true, 'none');
    expect(none.join(' ')).not.toContain('cache-source');
    const named = forwardedHeaders(asked, CALLER, options, decision, true, source).join(' ');
    expect(named).toContain('x-kv-cache-source-host-port b:8000 x-kv-accord-cache-source-tokens 192');
    expect(named).not.toContain('evil');
  });

  it('has none of what Connection names, however that is spelled', () => {
    const got = forwarded({ connection: 'close, X-One ,x-two', 'x-one': '1', 'x-two': '2', 'x-three': '3' });
    expect([got.has('x-one'), got.has('x-two'), got.has('x-three')]).toEqual([false, false, true]);
  });

  it('has every proxy on the way, this one last', () => {
    const got = forwarded({
      via: '1.0 first',
      'x-forwarded-for': '192.0.2.1',
      'x-forwarded-proto': 'http',
      host: 'gateway.example',
    });
    expect(got.get('via')).toBe('1.0 first, 1.1 kv-accord');
    expect(got.get('x-forwarded-for')).toBe('192.0.2.1, 10.1.2.3');
    expect(got.get('x-forwarded-proto')).toBe('http');
    expect(got.get('x-forwarded-host')).toBe('gateway.example');
    expect(forwarded({}).get('x-forwarded-proto')).toBe('https');
  });

  it('is asked for no compression, which would hold events back', () => {
    expect(forwarded({ 'accept-encoding': 'gzip, br' }).get('accept-encoding')).toBe('identity');
  });

  it('has the key of the caller only where it is meant for the worker', () => {
    const headers = { authorization: 'Bearer key' };
    expect(forwarded(headers).get('authorization')).toBe('Bearer key');
    expect(forwardedHeaders(headers, CALLER, { passesAuthorization: false }, decision, true)).not.toContain(
      'Bearer key',
    );
    for (const passesAuthorization of [true, false]) {
      const keyed = { passesAuthorization, engineApiKey: 'engine-key' };
      const sent = forwardedHeaders(headers, CALLER, keyed, decision, true);
      expect(sent).toContain('Bearer engine-key');
      expect(sent).not.toContain('Bearer key');
    }
  });

  it('has no key at all where the worker may have none', () => {
    const headers = { authorization: 'Bearer key', 'x-kept': 'y' };
    for (const keyed of [{ passesAuthorization: true }, { passesAuthorization: true, engineApiKey: 'k' }]) {
      const sent = forwardedHeaders(headers, CALLER, keyed, decision, false);
      expect(sent).not.toContain('authorization');
      expect(sent).toContain('x-kept');
    }
  });

  it('has the rank where there are several', () => {
    expect(forwarded({}, { rank: 2, rankCount: 4 }).get('x-data-parallel-rank')).toBe('2');
    expect(forwarded({}, { rank: 0, rankCount: 4 }).get('x-data-parallel-rank')).toBe('0');
  });
});

describe('what a client gets', () => {
  it('has nothing that was said of the connection of the worker, nor what Connection names', () => {
    const { headers } = passedHeaders(
      raw(
        'X-One',
        '1',
        'Connection',
        'x-one, keep-alive',
        'Keep-Alive',
        'timeout=5',
        'X-Two',
        '2',
        'Trailer',
        'x',
        'Upgrade',
        'h2c',
      ),
    );
    expect(headers).toEqual(['X-Two', '2']);
  });

  it('does not say which origins the worker would let ask: that is decided here', () => {
    const headers = raw(
      'Access-Control-Allow-Origin',
      '*',
      'access-control-expose-headers',
      'x-a',
      'X-A',
      '1',
    );
    expect(passedHeaders(headers).headers).toEqual(['X-A', '1']);
  });

  it('keeps order, spelling, bytes and what comes more than once', () => {
    const pairs = ['sEt-cookie', 'a=1', 'X-B', 'gr\u00fcn', 'Set-Cookie', 'b=2'];
    expect(passedHeaders(raw(...pairs)).headers).toEqual(pairs);
  });

  it('has no length beside chunks', () => {
    const found = passedHeaders(raw('Content-Length', '5', 'Transfer-Encoding', 'chunked'));
    expect(found).toMatchObject({ headers: [], hasLength: false });
  });

  it.each([
    ['text/event-stream', true],
    ['text/event-stream; charset=utf-8', true],
    ['Text/Event-Stream', true],
    ['application/json', false],
    ['text/event-streams', false],
  ])('is known for a stream by its type: %s', (type, isEventStream) => {
    expect(passedHeaders(raw('Content-Type', type)).isEventStream).toBe(isEventStream);
  });

  it('is not looked into where it is compressed', () => {
    expect(passedHeaders(raw('Content-Encoding', 'gzip')).isPlain).toBe(false);
  });

  it('learns how its request was routed', () => {
    expect(decisionHeaders(decision)).toEqual([
      'x-kv-accord-worker',
      'worker-of-a:1',
      'x-kv-accord-worker-address',
      decision.target,
      'x-kv-accord-cached-blocks',
      '1',
      'x-kv-accord-routing-mode',
      'exact',
    ]);
  });
});
