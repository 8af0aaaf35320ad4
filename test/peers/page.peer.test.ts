import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutControls } from '../../src/core/text/printable.js';
import { Browser } from './support/browser.js';
import { HOSTILE_NAME, HOSTILE_TEXT, ManyWorkers } from './support/many-workers.js';
import { lacks } from './support/peers.js';
import { picture } from './support/picture.js';
import { Program } from './support/program.js';
import { until } from './support/until.js';

const COUNT = Number(process.env['KV_ACCORD_PAGE_WORKERS'] ?? 1_000);
const OUT = 10;

// What runs in the page is text: the types of a browser are not those of this test.
const FIRST_PAINT = `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0`;
const LOADED_BYTES = `performance.getEntriesByType('resource')
  .filter(({ name }) => name.includes('/page/'))
  .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)`;
const ROWS_IN_SIGHT = `[...document.querySelectorAll('.rows .row')]
  .filter((row) => row.getBoundingClientRect().bottom <= innerHeight && row.getBoundingClientRect().top >= 0)
  .map((row) => row.textContent ?? '')`;
/** Scrolls from the first row to the last as a wheel would, and measures the frames between. */
const SCROLL_THROUGH = `(async () => {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const times = [];
  let last = await frame();
  for (;;) {
    const before = scrollY;
    scrollBy(0, 240);
    const now = await frame();
    times.push(now - last);
    last = now;
    if (scrollY === before) break;
  }
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.floor(share * (times.length - 1))] ?? 0;
  return { frames: times.length, medianMs: at(0.5), p95Ms: at(0.95) };
})()`;

/** Rows of workers that stand in the window, whole. */
function rowsInSight(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(ROWS_IN_SIGHT);
}

describe.skipIf(lacks('chromium'))(`the page over ${COUNT} workers of which ${OUT} are kept out`, () => {
  let workers: ManyWorkers;
  let browser: Browser;
  beforeAll(async () => {
    workers = await ManyWorkers.start(COUNT, OUT);
    browser = await Browser.start();
  });
  afterAll(async () => {
    await browser?.close();
    await workers?.close();
  });

  it('has an amber headline, and all that are kept out on the first screen', async () => {
    const page = await browser.open(workers.url);
    await page.waitForSelector(`.headline.warn >> text=${OUT} of ${COUNT} workers`);
    await expect
      .poll(async () => (await rowsInSight(page)).filter((row) => row.includes('dissenting')))
      .toHaveLength(OUT);
    expect(await page.locator('.verdict').first().textContent()).toContain('Attention');
    await picture(page, 'fleet-1000');
    await page.close();
  });

  it('shows hostile names as text, and does nothing that they say', async () => {
    const page = await browser.open(`${workers.url}#/fleet?shown=dissenting`);
    const row = page.locator('.rows .row', { hasText: '<img src=x onerror=alert(1)>' });
    await row.waitFor();
    expect(await row.textContent()).toContain(HOSTILE_NAME);
    await row.click();
    await page.waitForSelector('.headline h2 >> text=onerror');
    // From evidence and warnings of its report.
    await page.waitForSelector('.advice');
    const shown = withoutControls(HOSTILE_TEXT);
    expect(await page.locator('.advice', { hasText: shown }).count()).toBe(1);
    expect(await page.locator('code', { hasText: shown }).count()).toBeGreaterThan(0);
    await page.goto(`${workers.url}#/timeline`);
    await page.waitForSelector('.timeline');
    await page.goto(`${workers.url}#/topology`);
    await page.waitForSelector('.host svg');
    expect(await page.locator('img, #app script, [onload], [onerror]').count()).toBe(0);
    await page.close();
  });

  it('holds no more rows than are in sight, and scrolls smoothly to the last', async () => {
    const page = await browser.open(workers.url);
    await page.waitForSelector('.rows .row');
    const drawn = await page.locator('.rows .row').count();
    expect(drawn).toBeLessThan(100);
    const figures = await page.evaluate<{ frames: number; medianMs: number; p95Ms: number }>(SCROLL_THROUGH);
    await expect
      .poll(() => page.locator('.rows .row').last().getAttribute('aria-rowindex'))
      .toBe(String(COUNT + 1));
    const paint = await page.evaluate<number>(FIRST_PAINT);
    const bytes = await page.evaluate<number>(LOADED_BYTES);
    expect(bytes).toBeLessThan(200_000);
    console.log(
      `page: first paint ${Math.round(paint)} ms; ${bytes} bytes; ${drawn} rows drawn; scrolling through ${COUNT}: ` +
        `${figures.frames} frames, median ${figures.medianMs.toFixed(1)} ms, 95 % below ${figures.p95Ms.toFixed(1)} ms`,
    );
    await page.close();
  });

  it('can be used with keys alone', async () => {
    const page = await browser.open(workers.url);
    await page.waitForSelector('.rows .row');
    await page.keyboard.press('/');
    await page.keyboard.type('worker-777');
    await expect.poll(() => page.locator('.rows .row').count()).toBe(1);
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.headline h2 >> text=worker-777');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.rows .row');
    for (const [key, found] of [
      ['2', '.empty'],
      ['3', '.empty'],
      ['4', '.host'],
      ['5', '.timeline'],
      ['1', '.rows'],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForSelector(found);
    }
    await page.keyboard.press('?');
    await page.waitForSelector('dialog[open]');
    await page.close();
  });

  it('works in the dark and on a narrow screen, where nothing is wider than the screen', async () => {
    for (const view of ['fleet', 'routing', 'index', 'topology', 'timeline']) {
      const page = await browser.open(`${workers.url}#/${view}`, {
        width: 390,
        height: 844,
        scheme: 'dark',
      });
      await page.waitForSelector('.tabs');
      await page.waitForTimeout(300);
      expect([view, await page.evaluate<number>('document.documentElement.scrollWidth')]).toEqual([
        view,
        390,
      ]);
      if (view === 'fleet') await picture(page, 'fleet-narrow-dark');
      await page.close();
    }
  });

  it('draws machines with their GPUs and links', async () => {
    const page = await browser.open(`${workers.url}#/topology?text=node-247`, { scheme: 'dark' });
    await page.waitForSelector('.bus >> text=NV18: each with each');
    expect(await page.locator('.gpu').count()).toBe(8);
    await page.close();
  });

  it('is a table where scripts do not run', async () => {
    const plain = await Browser.start({ runsScripts: false });
    try {
      const page = await plain.open(workers.url);
      // It asks again every few seconds, so that each look is tried again.
      await page.waitForSelector(`.headline.warn >> text=${OUT} of ${COUNT} workers`);
      await expect.poll(() => page.locator('td.bad', { hasText: 'dissenting' }).count()).toBe(OUT);
      await expect.poll(() => page.locator('td', { hasText: HOSTILE_NAME }).count()).toBeGreaterThan(0);
      await picture(page, 'without-scripts');
    } finally {
      await plain.close();
    }
  });

  it('breaks no rule of its policy, and no script fails', () => {
    expect(browser.problems).toEqual([]);
  });
});

describe.skipIf(lacks('chromium'))('the page of a server that wants a token', () => {
  it('asks for it, refuses a wrong one, and shows the fleet with the right one', async () => {
    const workers = await ManyWorkers.start(3, 1, 's3cret');
    const browser = await Browser.start();
    try {
      const page = await browser.open(workers.url);
      await page.waitForSelector('.sign-in >> text=a bearer token must be shown here');
      expect(await page.content()).not.toContain('worker-0');
      await page.fill('input[name=token]', 'wrong');
      await page.click('button[type=submit]');
      await page.waitForSelector('.sign-in');
      await page.fill('input[name=token]', 's3cret');
      await page.click('button[type=submit]');
      await page.waitForSelector('.rows .row >> text=worker-0');
      // The browser names what was refused; nothing else went wrong.
      expect(browser.problems.filter((problem) => !problem.includes('401'))).toEqual([]);
    } finally {
      await browser.close();
      await workers.close();
    }
  });
});

const VIEWS_OF_DEMO = [
  ['fleet', '.rows .row >> text=dissenting', 'light'],
  ['worker?target=worker-a', 'text=Evidence', 'light'],
  ['routing', '.decision', 'dark'],
  ['index', 'text=By worker and tier', 'light'],
  ['topology', '.host svg', 'light'],
  ['timeline', '.timeline >> text=gate open', 'dark'],
] as const;

describe.skipIf(lacks('chromium'))('the page of the demo', () => {
  let demo: Program;
  beforeAll(() => {
    const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
    const command = [process.execPath, main, 'demo', '--keep', '--scenario', 'racks'];
    demo = new Program({ name: 'demo', command });
  });
  afterAll(async () => {
    await demo?.stop();
  });

  it('shows every view with what happens in it', async () => {
    const url = await until(
      'the demo to be kept',
      () => /http:\/\/127\.0\.0\.1:\d+\/$/m.exec(demo.log)?.[0],
      {
        timeoutMs: 180_000,
        needs: [demo],
      },
    );
    const browser = await Browser.start();
    try {
      for (const [name, found, scheme] of VIEWS_OF_DEMO) {
        const page = await browser.open(`${url}#/${name}`, { scheme, height: 1_000 });
        await page.waitForSelector(found);
        // Charts are drawn in the frame after.
        await page.waitForTimeout(500);
        await picture(page, `${name.replace(/\?.*/, '')}-${scheme}`);
        await page.close();
      }
      expect(browser.problems).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
