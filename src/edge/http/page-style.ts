import { createHash } from 'node:crypto';

/**
 * How a page looks before, and without, the web app: it stands in the page
 * itself, so that the first paint waits for nothing. Its colours differ for those
 * who see no red or no green, too, and each stands beside a word.
 */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --bg: #f5f6f8; --panel: #fff; --ink: #1a1f26; --dim: #59636e; --line: #d5dbe1; --accent: #0a5ea8;
  --good: #11734f; --warn: #8f5a00; --bad: #8c0f1c; --good-bg: #e0f3f5; --warn-bg: #fdf0d0; --bad-bg: #fbdcdc; }
@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) { --bg: #0e1217; --panel: #161b22; --ink: #e4e9ee; --dim: #98a3af; --line: #2a323c; --accent: #6cb3f9;
  --good: #54d19b; --warn: #f1b83a; --bad: #f5706a; --good-bg: #0f2b2b; --warn-bg: #2e2410; --bad-bg: #331a19; } }
:root[data-theme=dark] { color-scheme: dark; --bg: #0e1217; --panel: #161b22; --ink: #e4e9ee; --dim: #98a3af; --line: #2a323c; --accent: #6cb3f9;
  --good: #54d19b; --warn: #f1b83a; --bad: #f5706a; --good-bg: #0f2b2b; --warn-bg: #2e2410; --bad-bg: #331a19; }
:root[data-theme=light] { color-scheme: light; }
* { box-sizing: border-box; }
body { background: var(--bg); color: var(--ink); font: 14px/1.45 system-ui, sans-serif; margin: 0; }
main.plain { margin: 0 auto; max-width: 90rem; padding: .75rem 1rem 2rem; }
h1 { font-size: 1rem; font-weight: 600; margin: .25rem 0 .75rem; } h2 { font-size: 1rem; margin: 1.75rem 0 .4rem; }
.headline { background: var(--panel); border: 1px solid var(--line); border-left: .4rem solid currentColor; border-radius: 4px; font-size: 1.05rem; font-weight: 600; margin: 0 0 1rem; overflow-wrap: anywhere; padding: .6rem .8rem; white-space: pre-line; }
.headline.good { background: var(--good-bg); } .headline.warn { background: var(--warn-bg); } .headline.bad { background: var(--bad-bg); }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.scroll { background: var(--panel); border: 1px solid var(--line); border-radius: 4px; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left; vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; } th { color: var(--dim); font-size: .85rem; font-weight: 600; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; unicode-bidi: isolate; } td:first-child { min-width: 9rem; }
a { color: var(--accent); } footer { color: var(--dim); font-size: .85rem; margin-top: 1.5rem; }
`;

/** As a content security policy names `PAGE_STYLE` in an element of its own. */
export const PAGE_STYLE_HASH: string = `'sha256-${createHash('sha256').update(PAGE_STYLE).digest('base64')}'`;
