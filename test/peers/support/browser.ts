import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

/** Where Debian puts it, as `install/chromium.sh` expects it. */
const CHROMIUM: string = process.env['KV_ACCORD_CHROMIUM'] ?? '/usr/bin/chromium';

/** It asks nobody on the network, and shares nothing with another one. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** How a window is opened. */
export interface WindowOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
}

/** A real Chromium with a profile of its own, and what went wrong in its pages. */
export class Browser {
  readonly #context: BrowserContext;
  readonly #profile: string;
  /** Errors of scripts, refusals of the policy, and dialogs. */
  readonly problems: string[] = [];

  private constructor(context: BrowserContext, profile: string) {
    this.#context = context;
    this.#profile = profile;
  }

  /** Starts it; `runsScripts: false` as a reader who allows none. */
  static async start({ runsScripts = true }: { readonly runsScripts?: boolean } = {}): Promise<Browser> {
    const profile = await mkdtemp(join(tmpdir(), 'kv-accord-browser-'));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: CHROMIUM,
      headless: true,
      javaScriptEnabled: runsScripts,
      args: FLAGS,
    });
    return new Browser(context, profile);
  }

  async open(
    url: string,
    { width = 1440, height = 900, scheme = 'light' }: WindowOptions = {},
  ): Promise<Page> {
    const page = await this.#context.newPage();
    page.on('pageerror', (error) => this.problems.push(`error: ${error.message}`));
    page.on('dialog', (dialog) => {
      this.problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(`console: ${message.text()}`);
    });
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height });
    await page.goto(url);
    return page;
  }

  async close(): Promise<void> {
    await this.#context.close();
    await rm(this.#profile, { recursive: true, force: true });
  }
}
