import { describe, expect, it } from 'vitest';
import { welcomePage } from '../../../src/frontend/gateway/welcome-page.js';

const content = { version: '1.2.3', statusAddress: '127.0.0.1:9091' };
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('the page at /', () => {
  it('is HTML for a browser, and loads, runs and frames nothing', () => {
    const { status, contentType, body, headers } = welcomePage(BROWSER, content);
    expect({ status, contentType }).toEqual({ status: 200, contentType: 'text/html; charset=utf-8' });
    expect(headers?.['content-security-policy']).toMatch(/^default-src 'none'; .*frame-ancestors 'none'/);
    expect(headers?.['vary']).toBe('accept');
    expect(body).toContain('<code>POST /v1/chat/completions</code>');
    expect(body).toContain('127.0.0.1:9091, path /');
    expect(body).not.toMatch(/<script|src=|href=/);
  });

  it('is text for curl, and JSON for who asks for it', () => {
    for (const accept of ['*/*', undefined]) {
      const { contentType, body } = welcomePage(accept, content);
      expect(contentType).toBe('text/plain; charset=utf-8');
      expect(body).toMatch(/^kv-accord frontend 1\.2\.3\n/);
      expect(body).toContain('GET /v1/models ');
      expect(body).toContain('Status page, by --http-listen: 127.0.0.1:9091, path /');
    }
    const json = JSON.parse(welcomePage('application/json', content).body) as Record<string, unknown>;
    expect(json).toMatchObject({ version: '1.2.3', status_page: '127.0.0.1:9091' });
    expect(json['endpoints']).toContainEqual({
      endpoint: 'GET /v1/models',
      what: 'the models that are served',
    });
  });

  it('names the page of a router elsewhere, as a link where it can be opened from here', () => {
    const routerPage = { url: 'http://10.0.0.2:9463/', router: '10.0.0.2:50060', isLocal: false };
    expect(welcomePage(BROWSER, { routerPage }).body).toContain(
      '<a href="http://10.0.0.2:9463/">http://10.0.0.2:9463/</a>',
    );
    expect(welcomePage(undefined, { routerPage }).body).toContain(
      'Status page of the router (10.0.0.2:50060), with what is routed here: http://10.0.0.2:9463/',
    );
    expect(JSON.parse(welcomePage('application/json', { routerPage }).body)).toMatchObject({
      status_page: 'http://10.0.0.2:9463/',
    });
    const local = { ...routerPage, url: 'http://127.0.0.1:9463/', isLocal: true };
    expect(welcomePage(BROWSER, { routerPage: local }).body).not.toContain('href=');
    expect(welcomePage(BROWSER, { routerPage: local }).body).toContain('on its machine alone');
  });

  it('has no status page where there is none', () => {
    expect(welcomePage(undefined, {}).body).toContain('There is no status page.');
    expect(welcomePage(undefined, {}).body).toMatch(/^kv-accord frontend\n/);
  });
});
