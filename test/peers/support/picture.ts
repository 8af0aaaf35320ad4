import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** A folder for pictures of the page; without it none are made. */
const PICTURES = process.env['KV_ACCORD_PAGE_PICTURES'];

/** What a window shows, as `name.webp` in `KV_ACCORD_PAGE_PICTURES`. WebP is a fifth of PNG. */
export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 82 });
  writeFileSync(join(PICTURES, `${name}.webp`), Buffer.from(data, 'base64'));
}
