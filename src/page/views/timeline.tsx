import type { JSX } from 'preact';
import type { ViewDocument, ViewEntry } from '../../core/view/view-document.js';
import { ago, clockTime, fullNumber } from '../model/format.js';
import { placeHash } from '../model/place.js';
import { KIND_GROUPS, kindGroupOf } from '../model/timeline-kinds.js';
import { Empty, Name, Tone } from './parts.js';
import { SearchField } from './search-field.js';
import { change, place, workersById } from './state.js';

/** Entries that are shown before the reader asks for more. */
const SHOWN = 200;

/** What happened, newest first. */
export function TimelineView({ document }: { readonly document: ViewDocument }): JSX.Element {
  const { parameters } = place.value;
  const kind = parameters['kind'] ?? '';
  const text = (parameters['text'] ?? '').toLowerCase();
  const isAll = parameters['all'] === 'yes';
  const entries = document.timeline
    .filter(
      (entry) =>
        (kind === '' || kindGroupOf(entry.kind) === kind) &&
        (text === '' ||
          `${entry.text} ${entry.worker} ${entry.group} ${entry.kind}`.toLowerCase().includes(text)),
    )
    .reverse();
  const counts = new Map<string, number>();
  for (const entry of document.timeline) {
    const group = kindGroupOf(entry.kind);
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return (
    <>
      <div class="toolbar" role="search">
        <SearchField placeholder="Search the timeline" label="Search the timeline" />
        <div class="chips" role="group" aria-label="By kind">
          <button type="button" class="chip" aria-pressed={kind === ''} onClick={() => change({ kind: '' })}>
            all <b>{document.timeline.length}</b>
          </button>
          {KIND_GROUPS.filter(({ name }) => counts.has(name)).map(({ name }) => (
            <button
              key={name}
              type="button"
              class="chip"
              aria-pressed={kind === name}
              onClick={() => change({ kind: kind === name ? '' : name })}
            >
              {name} <b>{counts.get(name)}</b>
            </button>
          ))}
        </div>
      </div>
      <Entries entries={isAll ? entries : entries.slice(0, SHOWN)} nowMs={document.atMs} />
      {entries.length > SHOWN && !isAll ? (
        <button type="button" class="link" onClick={() => change({ all: 'yes' })}>
          Show {fullNumber(entries.length - SHOWN)} older ones
        </button>
      ) : null}
      <p class="dim">Kept in memory since {since(document)}; the log of the process has all of it.</p>
    </>
  );
}

function since({ timeline, process }: ViewDocument): string {
  const first = timeline[0];
  return new Date(
    first?.kind === 'process_started' || first === undefined ? process.startedAtMs : first.atMs,
  ).toLocaleString('en-GB');
}

/** Some entries, as they stand. */
export function Entries({
  entries,
  nowMs,
}: {
  readonly entries: readonly ViewEntry[];
  readonly nowMs: number;
}): JSX.Element {
  if (entries.length === 0) return <Empty>Nothing of that kind has happened.</Empty>;
  return (
    <ol class="timeline">
      {entries.map((entry) => (
        <Entry key={entry.id} entry={entry} nowMs={nowMs} />
      ))}
    </ol>
  );
}

function Entry({ entry, nowMs }: { readonly entry: ViewEntry; readonly nowMs: number }): JSX.Element {
  const { kind, tone, worker, workerNumber, workerCount = 1, group, text, todo, atMs } = entry;
  const target = workerNumber === undefined ? undefined : workersById.value.get(workerNumber)?.target;
  return (
    <li class={tone}>
      <time dateTime={new Date(atMs).toISOString()} title={new Date(atMs).toLocaleString('en-GB')}>
        {clockTime(atMs)}
        <span class="dim">{ago(nowMs - atMs)}</span>
      </time>
      <span class="kind">
        <Tone tone={tone} text={kind.replaceAll('_', ' ')} />
      </span>
      <div class="what">
        <p class="about">
          {worker === '' ? null : target === undefined ? (
            <Name text={worker} />
          ) : (
            <a href={placeHash('worker', { target })}>
              <Name text={worker} />
            </a>
          )}
          {workerCount > 1 ? <span class="dim"> {fullNumber(workerCount)} workers</span> : null}
          {group === '' ? null : <bdi class="dim"> {group}</bdi>}
        </p>
        <p class="text">{text}</p>
        {todo === '' ? null : (
          <p class="todo">
            <b>To do:</b> {todo}
          </p>
        )}
      </div>
    </li>
  );
}
