import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { readPlace } from '../model/place.js';
import { FleetView } from './fleet.js';
import { Help } from './help.js';
import { IndexView } from './index-view.js';
import { RoutingView } from './routing.js';
import { Shell, TABS } from './shell.js';
import { SignIn } from './sign-in.js';
import { change, connect, connection, go, place, view } from './state.js';
import { TimelineView } from './timeline.js';
import { TopologyView } from './topology.js';
import { WorkerView } from './worker.js';

/** How old the page of the server may get while there is nothing better, in milliseconds. */
const RELOAD_MS = 5_000;

/** The whole page. */
export function App(): JSX.Element | null {
  const [isHelp, setHelp] = useState(false);
  const hasData = view.value !== undefined;
  const state = connection.value;
  useEffect(() => {
    const onHash = (): void => {
      steps += 1;
      place.value = readPlace(location.hash);
      scrollTo(0, 0);
    };
    addEventListener('hashchange', onHash);
    const onKey = (event: KeyboardEvent): void => onShortcut(event, () => setHelp((is) => !is));
    addEventListener('keydown', onKey);
    return () => {
      removeEventListener('hashchange', onHash);
      removeEventListener('keydown', onKey);
    };
  }, []);
  const isAsked = state.type === 'refused';
  useEffect(() => {
    // What the server rendered stands until there is something better.
    if (hasData || isAsked) document.getElementById('plain')?.remove();
  }, [hasData, isAsked]);
  useEffect(() => {
    // Nothing came yet: what the server rendered must not grow old.
    if (hasData || state.type !== 'waiting') return;
    const timer = setTimeout(() => location.reload(), RELOAD_MS);
    return () => clearTimeout(timer);
  }, [hasData, state.type]);
  if (isAsked) return <SignIn problem={state.problem} onToken={connect} />;
  if (view.value === undefined) return null;
  return (
    <>
      <Shell onHelp={() => setHelp(!isHelp)} />
      <main class="main">
        <Current />
      </main>
      <footer class="foot">
        <a href="metrics">metrics</a> · <a href="readyz?verbose">readyz</a> ·{' '}
        <a href="api/v1/openapi.json">API</a> · <a href="api/v1/view">this view as JSON</a>
      </footer>
      {isHelp ? <Help onClose={() => setHelp(false)} /> : null}
    </>
  );
}

function Current(): JSX.Element | null {
  const document = view.value;
  if (document === undefined) return null;
  const { view: name, parameters } = place.value;
  switch (name) {
    case 'worker':
      return <WorkerView document={document} target={parameters['target'] ?? ''} />;
    case 'routing':
      return <RoutingView document={document} />;
    case 'index':
      return <IndexView document={document} />;
    case 'topology':
      return <TopologyView document={document} />;
    case 'timeline':
      return <TimelineView document={document} />;
    default:
      return <FleetView document={document} />;
  }
}

/** Views that were gone to on this page: before the first one, Back would leave it. */
let steps = 0;

function leaveWorker(): void {
  if (steps > 0) history.back();
  else go('fleet');
}

/** Keys that work everywhere but in a field. */
function onShortcut(event: KeyboardEvent, toggleHelp: () => void): void {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isField = target instanceof HTMLElement && target.closest('input, select, textarea') !== null;
  if (key === 'Escape') {
    if (isField && target instanceof HTMLElement) target.blur();
    else if (place.value.view === 'worker') leaveWorker();
    else change({ text: '', shown: '', kind: '' });
    return;
  }
  if (isField) return;
  const tab = TABS[Number(key) - 1];
  if (tab !== undefined) go(tab[0]);
  else if (key === '?') toggleHelp();
  else if (key === '/') {
    const search = document.getElementById('search');
    if (search === null) return;
    search.focus();
    event.preventDefault();
  } else if (key === 'j' || key === 'ArrowDown') {
    // From anywhere into the list; in the list its own keys take over.
    if (target !== document.body) return;
    document.querySelector<HTMLElement>('.rows [tabindex="0"]')?.focus();
    event.preventDefault();
  }
}
