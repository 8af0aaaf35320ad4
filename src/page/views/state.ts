import { computed, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { applyDelta } from '../../core/view/apply-delta.js';
import type {
  ViewDelta,
  ViewDocument,
  ViewHoldingRow,
  ViewLoadRow,
  ViewWorker,
} from '../../core/view/view-document.js';
import { store, stored } from '../browser/stored.js';
import { follow, type StreamState } from '../browser/stream.js';
import { cleanTexts } from '../model/clean-texts.js';
import { byId, LoadHistory } from '../model/loads.js';
import { type Place, placeHash, readPlace, type ViewName } from '../model/place.js';

/** What the server says; undefined before its first answer. */
export const view: Signal<ViewDocument | undefined> = signal(undefined);

/** How the connection is doing. */
export const connection: Signal<StreamState> = signal({ type: 'connecting' });

/** Where the reader is. */
export const place: Signal<Place> = signal(readPlace(location.hash));

/** Counts up with every sample of the loads. */
export const sampleCount: Signal<number> = signal(0);

/** Rates and small curves. */
export const history: LoadHistory = new LoadHistory();

/** Workers by their id. */
export const workersById: ReadonlySignal<ReadonlyMap<number, ViewWorker>> = computed(
  () => new Map(view.value?.workers.map((worker) => [worker.id, worker])),
);

const loadRows = computed(() => view.value?.loads);
/** Numbers of workers by id. */
export const loadsById: ReadonlySignal<ReadonlyMap<number, ViewLoadRow>> = computed(() =>
  byId(loadRows.value ?? []),
);

const holdingRows = computed(() => view.value?.holdings);
/** What caches hold, by id. */
export const holdingsById: ReadonlySignal<ReadonlyMap<number, ViewHoldingRow>> = computed(() =>
  byId(holdingRows.value ?? []),
);

/** `auto`, `light` or `dark`. */
export const theme: Signal<string> = signal(stored('theme') || 'auto');

/** Goes to a place, as a link would. */
export function go(name: ViewName, parameters: Readonly<Record<string, string>> = {}): void {
  location.hash = placeHash(name, parameters);
}

/** Changes parameters of the place, without a step for the browser's Back. */
export function change(parameters: Readonly<Record<string, string>>): void {
  const { view: name, parameters: before } = place.value;
  window.history.replaceState(null, '', placeHash(name, { ...before, ...parameters }));
  place.value = readPlace(location.hash);
}

/** Takes another theme and keeps it. */
export function setTheme(name: string): void {
  theme.value = name;
  store('theme', name === 'auto' ? '' : name);
  showTheme();
}

/** Says the theme to the style sheet. */
export function showTheme(): void {
  if (theme.value === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme.value;
}

let stop = (): void => {};

/** Follows the server; called again with another token, it begins again. */
export function connect(): void {
  stop();
  stop = follow('view', {
    onStart: () => {},
    onState: (state) => {
      if (state.type === 'live' && connection.value.type === 'live') return;
      connection.value = state;
    },
    onWhole: (answer) => take(answer as ViewDocument),
    onEvent: ({ name, data }) => {
      if (name === 'snapshot') take(cleanTexts(JSON.parse(data) as ViewDocument));
      if (name === 'delta' && view.value !== undefined) {
        const after = applyDelta(view.value, cleanTexts(JSON.parse(data) as ViewDelta));
        // What does not follow means that something was missed: the next stream begins with everything.
        if (after === undefined) restart();
        else take(after);
      }
    },
  });
}

/** Before a stream of which something was missed is asked for again, in milliseconds: never in a tight circle. */
const RESTART_MS = 1_000;

function restart(): void {
  stop();
  setTimeout(connect, RESTART_MS);
}

function take(document: ViewDocument): void {
  if (view.value?.processId !== document.processId) history.clear();
  view.value = document;
  if (history.take(document.atMs, loadsById.value)) sampleCount.value += 1;
}
