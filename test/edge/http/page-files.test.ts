import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withoutControls } from '../../../src/core/text/printable.js';
import { PageFiles } from '../../../src/edge/http/page-files.js';
import { PAGE_STYLE_HASH } from '../../../src/edge/http/page-style.js';
import { renderSignIn, renderStatusPage, type StatusContent } from '../../../src/edge/http/status-page.js';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'page-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function built(script = 'run()'): Promise<PageFiles> {
  await writeFile(join(folder, 'app.js'), script);
  await writeFile(join(folder, 'app.css'), 'a{}');
  return new PageFiles(pathToFileURL(`${folder}/`));
}

describe('the files of the web app', () => {
  it('are served as they are, or compressed for those who take that', async () => {
    const files = await built();
    const plain = files.answer('/page/app.js', undefined);
    expect(plain?.contentType).toBe('text/javascript; charset=utf-8');
    expect(plain?.bytes?.toString()).toBe('run()');
    const compressed = files.answer('/page/app.js', 'gzip, br');
    expect(compressed?.headers?.['content-encoding']).toBe('gzip');
    expect(gunzipSync(compressed?.bytes ?? Buffer.alloc(0)).toString()).toBe('run()');
  });

  it('have an address that changes with them, and is relative to the page', async () => {
    const first = (await built()).address('app.js');
    expect(first).toMatch(/^page\/app\.js\?v=[0-9a-f]{16}$/);
    expect((await built('run(2)')).address('app.js')).not.toBe(first);
  });

  it('are no other files', async () => {
    const files = await built();
    for (const path of [
      '/page/',
      '/page/../package.json',
      '/page/licences.txt',
      '/page/__proto__',
      '/app.js',
    ])
      expect(files.answer(path, undefined)).toBeUndefined();
  });

  it('are missing where nothing was built', () => {
    const files = new PageFiles(pathToFileURL(`${folder}/`));
    expect(files.address('app.js')).toBeUndefined();
    expect(files.answer('/page/app.js', undefined)).toBeUndefined();
  });
});

const HOSTILE = '<script>alert(1)</script>"\u202egnp.exe\u2066\u200b\u001b[31m';
const content: StatusContent = {
  title: HOSTILE,
  headline: { text: HOSTILE, tone: 'warn' },
  facts: [[HOSTILE, HOSTILE]],
  tables: [
    {
      title: HOSTILE,
      note: HOSTILE,
      columns: [HOSTILE],
      rows: [[HOSTILE], [{ text: HOSTILE, tone: 'bad' }]],
    },
  ],
};
const app = { script: 'page/app.js?v=1', style: 'page/app.css?v=1' };

describe('the status page', () => {
  it('lets no script run but the one of this server, and no style but its own', () => {
    const policy = renderStatusPage(content, app).headers?.['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain(`style-src ${PAGE_STYLE_HASH} 'self'`);
    expect(policy).not.toContain('unsafe');
  });

  it('runs nothing at all where there is no web app', () => {
    const { body, headers } = renderStatusPage(content);
    expect(body).not.toContain('<script');
    expect(headers?.['content-security-policy']).not.toContain('script-src');
  });

  it('names nothing outside its server', () => {
    expect(renderStatusPage(content, app).body).not.toMatch(/https?:|(src|href)="\//);
  });

  it('shows names with markup and controls as text, with the web app and without', () => {
    for (const { body } of [
      renderStatusPage(content, app),
      renderStatusPage(content),
      renderSignIn(HOSTILE, HOSTILE, app),
    ]) {
      expect(body.match(/<script/g) ?? []).toHaveLength(body.includes('app.js') ? 1 : 0);
      expect(body).toContain('&lt;script&gt;alert(1)');
      expect(withoutControls(body)).toBe(body);
    }
  });

  it('asks again by itself where scripts do not run', () => {
    expect(renderStatusPage(content, app).body).toMatch(/<noscript><meta http-equiv="refresh"/);
    expect(renderStatusPage(content).body).toContain('\n<meta http-equiv="refresh"');
  });

  it('says to a stranger what is missing, and nothing of the fleet', () => {
    const { status, headers, body } = renderSignIn('kv-accord aggregator', 'a bearer token is missing', app);
    expect(status).toBe(401);
    expect(headers?.['www-authenticate']).toBe('Bearer');
    expect(body).toContain('a bearer token is missing');
  });
});
