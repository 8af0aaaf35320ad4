/** The whole look of the page: nothing is loaded from anywhere. */
export const STYLE = `
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1b2430; --faint: #667080; --line: #dfe3e8; --code: #f1f3f6;
  --bad: #c8323c; --good: #1a7f4b; --warn: #a66a00; --bad-soft: #fdecec; --good-soft: #e6f6ed; --warn-soft: #fdf3e0;
  --a: #3367d6; --b: #e0762f; --c: #12938a; --d: #8a56c9; --rest: #b6bec9; }
@media (prefers-color-scheme: dark) { :root { --page: #0f141a; --card: #171e26; --ink: #e4e9ef; --faint: #94a0ae; --line: #2a333e; --code: #10161d;
  --bad: #ff7b80; --good: #4fc98a; --warn: #e5a93c; --bad-soft: #38191d; --good-soft: #12301f; --warn-soft: #33270f;
  --a: #6f9bff; --b: #f29a5b; --c: #3fc4ba; --d: #b58bf0; --rest: #4b5764; } }
* { box-sizing: border-box; }
body { background: var(--page); color: var(--ink); font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; margin: 0 auto; max-width: 74rem; overflow-wrap: break-word; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .5rem 0 .3rem; text-wrap: balance; }
h1::first-letter { text-transform: uppercase; }
h2 { font-size: 1.05rem; margin: 0 0 .8rem; } h3 { font-size: .95rem; margin: 1.4rem 0 .4rem; } p { margin: .4rem 0; }
.product { color: var(--faint); display: flex; flex-wrap: wrap; gap: .2rem 1rem; justify-content: space-between; font-size: .85rem; }
.verdict { border-radius: .8rem; padding: 1.3rem 1.5rem; margin: .8rem 0 1.2rem; border: 1px solid; }
.verdict.bad { background: var(--bad-soft); border-color: var(--bad); } .verdict.good { background: var(--good-soft); border-color: var(--good); } .verdict.warn { background: var(--warn-soft); border-color: var(--warn); }
.badge { border-radius: 1rem; color: var(--card); display: inline-block; font-size: .75rem; font-weight: 700; letter-spacing: .06em; padding: .15rem .7rem; }
.bad .badge { background: var(--bad); } .good .badge { background: var(--good); } .warn .badge { background: var(--warn); }
.pill { border: 1px solid var(--line); border-radius: 1rem; color: var(--faint); display: inline-block; font-size: .8rem; font-weight: 400; padding: .05rem .6rem; }
.verdict .pill { border-color: currentColor; }
.grid { display: grid; gap: 1.2rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 29rem), 1fr)); margin-bottom: 1.2rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .8rem; margin: 0; min-width: 0; padding: 1.2rem 1.4rem; }
.column { display: flex; flex-direction: column; gap: 1.2rem; min-width: 0; } main > section { margin-bottom: 1.2rem; }
.advice { font-size: 1.15rem; font-weight: 600; } .faint, figcaption, footer { color: var(--faint); } small, .place { font-size: .85rem; }
.place { color: var(--a); overflow-wrap: anywhere; } ul.clues { list-style: none; margin: 0; padding: 0; }
ul.clues li { border-left: 3px solid var(--good); margin: 0 0 .9rem; padding-left: .8rem; } ul.clues.against li { border-color: var(--warn); }
code, pre { font: .83rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre, .raw { background: var(--code); border-radius: .5rem; margin: .5rem 0; overflow-x: auto; padding: .6rem .8rem; } .raw { display: block; overflow-wrap: anywhere; padding: .3rem .6rem; color: var(--faint); }
.commands { overflow-wrap: anywhere; white-space: pre-wrap; } .commands .row + .row { margin-top: .45rem; } .row { display: block; min-height: 1.25em; } .plus { background: var(--good-soft); color: var(--good); } .minus { background: var(--bad-soft); color: var(--bad); } .hunk { color: var(--faint); }
.scroll { overflow-x: auto; } details .scroll { max-height: 20rem; overflow: auto; } table { border-collapse: collapse; font-size: .88rem; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .8rem .35rem 0; text-align: left; vertical-align: top; } th { color: var(--faint); font-weight: 600; white-space: nowrap; }
td { overflow-wrap: break-word; } td:last-child { overflow-wrap: anywhere; min-width: 6rem; } td.number:last-child { min-width: 0; } td.number, th.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; } tr:last-child td { border-bottom: 0; }
.tiles { display: flex; flex-wrap: wrap; gap: .7rem; margin-bottom: 1rem; } .tile { background: var(--code); border-radius: .6rem; flex: 1 1 9rem; padding: .5rem .8rem; }
.tile b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; } .tile span { color: var(--faint); font-size: .8rem; }
figure { margin: 0 0 1rem; min-width: 0; } figcaption { font-size: .85rem; margin-bottom: .3rem; } figcaption b { color: var(--ink); }
svg { display: block; height: auto; max-width: 40rem; overflow: visible; width: 100%; } svg text { fill: var(--ink); font-size: 12px; } svg .faint { fill: var(--faint); font-size: 11px; } svg .strong { font-weight: 600; } svg .end { text-anchor: end; }
svg .grid { fill: none; stroke: var(--line); stroke-width: 1; } svg .line { fill: none; stroke-width: 2; }
.size-0, .tone-decisions { fill: var(--a); } .size-1, .tone-running { fill: var(--b); } .size-2, .tone-free { fill: var(--c); } .size-3 { fill: var(--d); }
.tone-sign { fill: var(--bad); } .tone-plain { fill: var(--rest); } .line.tone-cached { stroke: var(--c); } .tone-rest { fill: var(--rest); }
details { margin: .4rem 0; } summary { color: var(--faint); cursor: pointer; font-size: .85rem; } details.cause { border-top: 1px solid var(--line); padding: .7rem 0; } details.cause:first-of-type { border-top: 0; }
details.cause > summary { color: var(--ink); font-size: 1rem; font-weight: 600; } dl.steps { margin: 0; } dl.steps dt { margin-top: .6rem; } dl.steps dd { margin: 0; } dl.steps code { font-weight: 600; }
footer { font-size: .85rem; margin-top: 1.5rem; }
@media print { body { max-width: none; padding: 0; } section { break-inside: avoid; } }
`;
