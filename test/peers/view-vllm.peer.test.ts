import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ViewDocument, ViewEntry } from '../../src/core/view/view-document.js';
import { ViewClient } from '../support/event-source.js';
import { borrowVllm, type LentProgram } from './support/borrow-engine.js';
import { Browser } from './support/browser.js';
import { type Served, type ServedFrontend, startFrontend, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { picture } from './support/picture.js';
import { completeReport } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { startVllm, type Vllm } from './support/vllm.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Requests of the load, with `AT_A_TIME` at a time. */
const LOAD = Number(process.env['KV_ACCORD_VIEW_REQUESTS'] ?? 40);
const AT_A_TIME = 4;

/** Token ids that differ from conversation to conversation from the first block on. */
function promptOf(conversation: number): number[] {
  const head = [...String(1_000 + conversation)].map((digit) => 10 + Number(digit));
  return [...head, ...Array.from({ length: 300 }, (_, at) => 20 + (at % 50))];
}

describe.skipIf(lacks('vllm'))('the view of a frontend over two real vLLMs', () => {
  const stops: (() => Promise<unknown> | unknown)[] = [];
  let sound: Vllm<LentProgram>;
  let other: Vllm;
  let sidecars: readonly Served[];
  let frontend: ServedFrontend;
  let client: ViewClient;
  /** Opened first, and never loaded again: what it shows came by itself. */
  let open: { readonly browser: Browser; readonly page: Page } | undefined;

  beforeAll(async () => {
    [sound, other] = await Promise.all([
      borrowVllm({ blockSize: 32 }),
      startVllm({ model: tinyModel('tiny'), blockSize: 64 }),
    ]);
    stops.push(
      () => sound.program.stop(),
      () => other.program.stop(),
    );
    sidecars = await Promise.all(
      [sound.url, other.url].map((url, at) => startSidecar(`worker-${at}`, '--engine', url)),
    );
    for (const sidecar of sidecars) {
      stops.push(() => sidecar.program.stop());
      await completeReport(sidecar);
    }
    frontend = await startFrontend('frontend', sidecars, '--eject-time', '1s');
    stops.push(() => frontend.program.stop());
    client = await ViewClient.open(`http://127.0.0.1:${frontend.httpPort}/api/v1/view/events`);
    stops.push(() => client.close());
    if (lacks('chromium')) return;
    const browser = await Browser.start();
    stops.push(() => browser.close());
    open = { browser, page: await browser.open(`http://127.0.0.1:${frontend.httpPort}/`, { height: 800 }) };
  });

  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  const viewOf = (): ViewDocument => client.document as ViewDocument;
  const entry = (kind: ViewEntry['kind']): ViewEntry | undefined =>
    viewOf().timeline.find((one) => one.kind === kind);
  const shown = (kind: ViewEntry['kind']): Promise<unknown> =>
    until(`${kind} on the timeline`, async () => entry(kind) !== undefined, { needs: [frontend.program] });

  const pageOf = (): Page => {
    if (open === undefined) throw new Error('no browser was started');
    return open.page;
  };

  /** Requests of so many conversations. */
  async function load(requests: number, conversations = 5): Promise<void> {
    const openAi = new OpenAI({ baseURL: `${frontend.url}/v1`, apiKey: 'none', maxRetries: 0 });
    let left = requests;
    const lane = async (): Promise<void> => {
      for (; left > 0; ) {
        left -= 1;
        const prompt = promptOf(left % conversations);
        await openAi.completions.create({ model: 'tiny', prompt, max_tokens: 4 });
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  }

  it('has their conflict, with what to do', async () => {
    await shown('conflict');
    expect(entry('conflict')).toMatchObject({ tone: 'bad', group: 'tiny' });
    expect(entry('conflict')?.text).toContain('disagree on the KV block size');
    expect(entry('conflict')?.todo).not.toBe('');
    expect(viewOf().headline.tone).toBe('bad');
  });

  it.skipIf(lacks('chromium'))('has a red headline for it in a browser', async () => {
    const page = pageOf();
    await page.waitForSelector('.headline.bad >> text=disagree on the KV block size');
    await page.locator('.rows .row', { hasText: 'worker-1' }).waitFor();
    await picture(page, 'vllm-conflict');
  });

  it('has the restart that ends it, the epoch and the open gate', async () => {
    const { ports } = other;
    await other.program.stop();
    other = await startVllm({ model: tinyModel('tiny'), blockSize: 32, ports });
    await shown('gate_open');
    expect(entry('epoch')?.text).toContain('Auto-configured KV block size to 32');
    await shown('restarted');
    expect(entry('restarted')?.text).toContain('Worker worker-1');
  });

  it('shows the load: requests, tokens and first tokens of both, and decisions with both candidates', async () => {
    await until('the frontend to be ready', async () => viewOf().models[0]?.isReady === true, {
      needs: [frontend.program],
    });
    await load(LOAD);
    const decided = (): number =>
      viewOf().routing[0]?.buckets.reduce((total, bucket) => total + bucket.decisions, 0) ?? 0;
    const isShown = (): boolean => decided() === LOAD && viewOf().decisions.at(-1)?.isOver === true;
    await until('the last decision to be over', isShown, { needs: [frontend.program] });
    const { loads, decisions } = viewOf();
    expect(loads).toHaveLength(2);
    for (const row of loads) for (const at of [4, 5, 6, 7, 8]) expect(row[at]).toBeGreaterThan(0);
    expect(decisions.at(-1)).toMatchObject({ candidateCount: 2, routingMode: expect.any(String) });
    expect(decisions.at(-1)?.firstTokenMs ?? decisions.at(-1)?.outputTokens).toBeGreaterThan(0);
  });

  it('has the ejection of one that ended under load, though no request failed, and its return', async () => {
    const { ports } = other;
    // Prompts that no cache holds go to both, and its sidecar asks it every few seconds alone.
    const running = load(LOAD, LOAD);
    await other.program.kill();
    await running;
    await load(4 * AT_A_TIME, LOAD);
    await shown('ejected');
    expect(entry('ejected')).toMatchObject({ tone: 'bad', group: 'tiny' });
    expect(entry('ejected')?.text).toContain('worker-1');
    expect(entry('ejected')?.todo).not.toBe('');
    other = await startVllm({ model: tinyModel('tiny'), blockSize: 32, ports });

    await until(
      'its return',
      () =>
        viewOf().timeline.filter(({ kind }) => kind === 'restarted').length === 2 &&
        viewOf().workers.every(({ requests }) => requests === 'yes'),
      { needs: [frontend.program, other.program] },
    );
    await load(LOAD);
  });

  it.skipIf(lacks('chromium'))('has all of it in a browser that was open all the while', async () => {
    const page = pageOf();
    await page.waitForSelector('.headline.good');
    await page.keyboard.press('2');
    await page.waitForSelector('.decision');
    await picture(page, 'vllm-routing');
    await page.keyboard.press('5');
    for (const text of ['disagree on the KV block size', 'gate open', 'restarted', 'is ejected'])
      await page.locator('.timeline', { hasText: text }).first().waitFor();
    await picture(page, 'vllm-timeline');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto(
      `${page.url().replace(/#.*/, '')}#/worker?target=${encodeURIComponent(`127.0.0.1:${sidecars[1]?.grpcPort}`)}`,
    );
    await page.waitForSelector('text=Evidence');
    await picture(page, 'vllm-worker-dark');
    expect(open?.browser.problems).toEqual([]);
  });

  it('is what kv-accord top prints', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      MAIN,
      'top',
      `127.0.0.1:${frontend.grpcPort}`,
      '--once',
    ]);
    expect(stdout).toContain('tiny: gate open');
    for (const name of ['worker-0', 'worker-1']) expect(stdout).toContain(name);
  });
});
