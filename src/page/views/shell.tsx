import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { countOf } from '../../core/text/lists.js';
import { clockTime } from '../model/format.js';
import { placeHash, type ViewName } from '../model/place.js';
import { Tone } from './parts.js';
import { connection, place, setTheme, theme, view } from './state.js';

/** The views that have a tab, in the order of their keys 1 to 5. */
export const TABS: readonly (readonly [name: ViewName, title: string])[] = [
  ['fleet', 'Fleet'],
  ['routing', 'Routing'],
  ['index', 'Index'],
  ['topology', 'GPUs and links'],
  ['timeline', 'Timeline'],
];

/** Lines of the headline before the rest is folded. */
const HEADLINE_LINES = 4;

/** What stands above every view: the process, the connection, the headline, the tabs. */
export function Shell({ onHelp }: { readonly onHelp: () => void }): JSX.Element {
  const document = view.value;
  const { view: current } = place.value;
  return (
    <>
      <header class="top">
        <h1>{document?.process.title ?? 'kv-accord'}</h1>
        <span class="dim">{document?.process.productVersion}</span>
        <Connection />
        <label class="theme">
          <span class="hidden">Theme</span>
          <select value={theme.value} onChange={(event) => setTheme(event.currentTarget.value)}>
            <option value="auto">Theme: as the system</option>
            <option value="light">Theme: light</option>
            <option value="dark">Theme: dark</option>
          </select>
        </label>
        <button type="button" class="quiet" onClick={onHelp} aria-keyshortcuts="?">
          Keys <kbd>?</kbd>
        </button>
      </header>
      <Headline />
      <nav class="tabs" aria-label="Views">
        {TABS.map(([name, title], at) => (
          <a
            key={name}
            href={placeHash(name)}
            aria-current={current === name || (current === 'worker' && name === 'fleet') ? 'page' : undefined}
            aria-keyshortcuts={String(at + 1)}
          >
            {title}
          </a>
        ))}
      </nav>
    </>
  );
}

function Connection(): JSX.Element {
  const state = connection.value;
  const at = view.value?.atMs;
  const last = at === undefined ? '' : `; shown as of ${clockTime(at)}`;
  return (
    <span class="connection" role="status">
      {state.type === 'live' ? (
        <Tone tone="good" text="live" />
      ) : state.type === 'polling' ? (
        <Tone tone="good" text="asked every 5 s: too many pages are open for a stream" />
      ) : state.type === 'connecting' ? (
        <Tone tone="plain" text={`connecting${last}`} />
      ) : (
        <Tone
          tone="bad"
          text={`not live: ${state.problem}${last}${state.type === 'waiting' ? '; tried again' : ''}`}
        />
      )}
    </span>
  );
}

const WORDS = { good: 'All well', warn: 'Attention', bad: 'Act now', plain: '' } as const;

function Headline(): JSX.Element | null {
  const document = view.value;
  const [isOpen, setOpen] = useState(false);
  const tone = document?.headline.tone ?? 'plain';
  const title = document?.process.title ?? 'kv-accord';
  useEffect(() => {
    // So that a tab in the background shows it too.
    window.document.title = tone === 'good' || tone === 'plain' ? title : `${WORDS[tone]}: ${title}`;
  }, [tone, title]);
  if (document === undefined) return null;
  const lines = document.headline.text.split('\n');
  const shown = isOpen ? lines : lines.slice(0, HEADLINE_LINES);
  const out = document.models.reduce((sum, model) => sum + model.keptOutCount, 0);
  return (
    <section class={`headline ${tone}`} aria-live="polite" aria-label="State of the fleet">
      <strong class="verdict">
        <Tone tone={tone} text={WORDS[tone]} />
      </strong>
      <div class="lines">
        {shown.map((line, at) => (
          <p key={at}>{line}</p>
        ))}
        {lines.length > HEADLINE_LINES ? (
          <button type="button" class="link" onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Show less' : `Show ${countOf(lines.length - HEADLINE_LINES, 'more line')}`}
          </button>
        ) : null}
      </div>
      {out > 0 ? (
        <a class="act" href={placeHash('fleet', { shown: 'kept out' })}>
          {out === 1 ? 'Show the worker kept out' : `Show the ${out} kept out`}
        </a>
      ) : null}
    </section>
  );
}
