import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AggregatorHarness } from '../support/aggregator-harness.js';
import { FakeSidecar } from '../support/fake-sidecar.js';
import { type PairReportSketch, pairWireReport } from '../support/pair-reports.js';
import { Browser } from './support/browser.js';
import { lacks } from './support/peers.js';
import { picture } from './support/picture.js';

const MIB = 1_048_576;
const WIDTH_OF_PAGE = 'document.documentElement.scrollWidth';

const opened: (() => Promise<unknown>)[] = [];

interface PairFleet {
  readonly url: string;
  readonly runner: AggregatorHarness['aggregator']['fleet']['runner'];
  targetOf(name: string): string;
}

/** An aggregator over a sidecar for each name. */
async function fleetOf(workers: Readonly<Record<string, PairReportSketch>>): Promise<PairFleet> {
  const sidecars = new Map<string, FakeSidecar>();
  for (const [name, sketch] of Object.entries(workers)) {
    const sidecar = await FakeSidecar.start({
      report: pairWireReport(name, sketch),
      checkSideChannel: () => '',
    });
    sidecars.set(name, sidecar);
    opened.push(() => sidecar.stop());
  }
  const addresses = [...sidecars.values()].map(({ address }) => address);
  const harness = await AggregatorHarness.start(addresses, { checksSideChannels: true });
  opened.push(() => harness.stop());
  await harness.untilView(
    ({ groups }) =>
      groups[0]?.members.filter(({ state }) => state !== 'discovered').length === addresses.length,
  );
  const { runner } = harness.aggregator.fleet;
  return {
    url: `http://${harness.addresses?.http.text}/`,
    runner,
    targetOf: (name) => sidecars.get(name)?.address ?? '',
  };
}

describe.skipIf(lacks('chromium'))('the pairs of prefill and decode on the page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await Browser.start();
  });
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it('are a matrix of two and two, with what differs, when one is tried again, and which is slow', async () => {
    const near = { node: 'node-0' };
    const fleet = await fleetOf({
      'prefill-0': near,
      'prefill-1': { node: 'node-1' },
      'decode-0': near,
      'decode-1': { node: 'node-1', dtype: 'float16' },
    });
    const [prefill, other, decode] = ['prefill-0', 'prefill-1', 'decode-0'].map(fleet.targetOf) as [
      string,
      string,
      string,
    ];
    for (let nth = 0; nth < 50; nth += 1)
      fleet.runner.transferDone('tiny', prefill, decode, { sizeBytes: MIB, durationMs: 10 });
    for (let nth = 0; nth < 3; nth += 1)
      fleet.runner.transferFailed('tiny', other, decode, 'the decode worker computed the prompt again');
    for (const scheme of ['light', 'dark'] as const) {
      const page = await browser.open(`${fleet.url}#/topology`, { scheme, height: 1_000 });
      const cells = page.locator('table.pairs td');
      await expect.poll(() => cells.count()).toBe(4);
      expect(await cells.allTextContents()).toEqual([
        expect.stringMatching(/can pair, slow.*same host, 10 ms\/MiB \(0\.1 GB\/s\)/),
        expect.stringContaining('cannot pair'),
        expect.stringMatching(/set aside, tried again in \d+ s/),
        expect.stringContaining('cannot pair'),
      ]);
      const rows = page.locator('section', { has: page.locator('table.pairs') }).locator('table:not(.pairs)');
      expect(await rows.textContent()).toMatch(/dtype: bfloat16 \(prefill-0.*?\) against float16 \(decode-1/);
      expect(await rows.textContent()).toContain('the decode worker computed the prompt again');
      expect(await rows.textContent()).toContain('6 GB/s');
      await picture(page, `pairs-${scheme}`);
      await page.close();
    }
    const narrow = await browser.open(`${fleet.url}#/topology`, { width: 390, height: 844 });
    await narrow.waitForSelector('table.pairs');
    expect(await narrow.evaluate<number>(WIDTH_OF_PAGE)).toBe(390);
    await narrow.close();
  });

  it('of 64 and 64 are counted, and those are listed that somebody may have to act on', async () => {
    const names = (role: string) => Array.from({ length: 64 }, (_, nth) => `${role}-${nth}`);
    const fleet = await fleetOf({
      ...Object.fromEntries(names('prefill').map((name) => [name, {}])),
      ...Object.fromEntries(
        names('decode').map((name) => [name, name === 'decode-63' ? { dtype: 'float16' } : {}]),
      ),
    });
    const page = await browser.open(`${fleet.url}#/topology`, { height: 1_000 });
    const section = page.locator('section', { hasText: 'Pairs of tiny' });
    await expect.poll(() => section.textContent(), { timeout: 20_000 }).toContain('4032 can pair');
    expect(await section.textContent()).toContain('64 cannot pair');
    expect(await section.locator('tbody tr').count()).toBe(64);
    expect(await page.locator('table.pairs').count()).toBe(0);
    await picture(page, 'pairs-64');
    await page.close();
  });

  it('are none of a model with one role, and the page says nothing of them', async () => {
    const fleet = await fleetOf({ 'prefill-0': {} });
    const page = await browser.open(`${fleet.url}#/topology`);
    await page.waitForSelector('.host');
    expect(await page.locator('section', { hasText: 'Pairs of' }).count()).toBe(0);
    await page.close();
  });

  it('break no rule of the policy, and no script fails', () => {
    expect(browser.problems).toEqual([]);
  });
});
