import { describe, expect, it } from 'vitest';
import { pathOf, Routes } from '../../../src/frontend/gateway/routes.js';

function makeRoutes(): Routes {
  const routes = new Routes();
  const handler = (): void => {};
  routes.add('POST', '/v1/chat', handler);
  routes.add('GET', '/v1/models', handler);
  routes.add('GET', '/v1/models/*', handler);
  routes.add('POST', '/v1/responses/*/cancel', handler);
  routes.add('GET', '/v1/responses/*', handler);
  routes.add('DELETE', '/v1/responses/*', handler);
  return routes;
}

describe('a route', () => {
  it('is found by method and path, whatever the query', () => {
    expect(makeRoutes().find('POST', '/v1/chat?a=/v1/models')).toMatchObject({ kind: 'handler', rest: '' });
  });

  it('of GET holds for HEAD', () => {
    expect(makeRoutes().find('HEAD', '/v1/models').kind).toBe('handler');
  });

  it('may be asked with a host, encoded, and not in other letters or with another slash', () => {
    const routes = makeRoutes();
    expect(routes.find('POST', 'http://host:80/v1/chat').kind).toBe('handler');
    expect(routes.find('POST', '/v1/%63hat').kind).toBe('handler');
    for (const path of ['/V1/chat', '/v1/chat/', '//v1/chat', '']) {
      expect(routes.find('POST', path).kind).toBe('nothing');
    }
  });

  it('with a star takes names with slashes, encoded or not', () => {
    const routes = makeRoutes();
    expect(routes.find('GET', '/v1/models/a/b')).toMatchObject({ rest: 'a/b' });
    expect(routes.find('GET', '/v1/models/a%2Fb%20c')).toMatchObject({ rest: 'a/b c' });
    expect(routes.find('GET', '/v1/models/100%25')).toMatchObject({ rest: '100%' });
    expect(routes.find('GET', '/v1/models/a%2541')).toMatchObject({ rest: 'a%41' });
    expect(routes.find('GET', '/v1/models/').kind).toBe('nothing');
  });

  it('says which methods there are', () => {
    const routes = makeRoutes();
    expect(routes.find('PUT', '/v1/responses/r')).toEqual({
      kind: 'other_methods',
      allow: 'GET, HEAD, DELETE',
    });
    expect(routes.find('POST', '/v1/responses/r/cancel')).toMatchObject({ kind: 'handler', rest: 'r' });
    expect(routes.find('GET', '/v1/chat')).toEqual({ kind: 'other_methods', allow: 'POST' });
  });

  it('cannot be found for what is no encoding', () => {
    expect(makeRoutes().find('GET', '/v1/%zz').kind).toBe('unreadable');
    expect(makeRoutes().find('GET', '/v1/models/%ff').kind).toBe('unreadable');
  });
});

it('the path of a request line is what stands before its query', () => {
  expect(pathOf('/a?b#c')).toBe('/a');
  expect(pathOf('/a#c?b')).toBe('/a');
  expect(pathOf('https://host')).toBe('/');
  expect(pathOf('*')).toBe('*');
});
