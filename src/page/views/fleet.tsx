import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ViewDocument, ViewModel } from '../../core/view/view-document.js';
import { STATE_ADVICE } from '../model/advice.js';
import { fullNumber } from '../model/format.js';
import { loadOf } from '../model/loads.js';
import { countsOf, isKeptOut, KEPT_OUT, type RowOrder, rowsOf, worstFirst } from '../model/worker-rows.js';
import { Bar, Empty, Name, Tone } from './parts.js';
import { SearchField } from './search-field.js';
import { change, history, loadsById, place, sampleCount } from './state.js';
import { WorkerTable } from './worker-table.js';

/** Models that are shown before the rest is folded. */
const MODELS_SHOWN = 6;

/** The fleet by model, and all its workers. */
export function FleetView({ document }: { readonly document: ViewDocument }): JSX.Element {
  const { parameters } = place.value;
  const [order, setOrder] = useState<RowOrder>({ column: 'urgency', isDescending: false });
  const filter = {
    text: parameters['text'] ?? '',
    group: parameters['group'] ?? '',
    shown: parameters['shown'] ?? '',
  };
  // Read, so that rates are sorted again with each sample.
  sampleCount.value;
  const rows = rowsOf(document.workers, filter, order, {
    active: (id) => loadOf(loadsById.value.get(id), 'activeRequests'),
    rate: (id) => history.ratesOf(id)?.requests ?? 0,
    errors: (id) => loadOf(loadsById.value.get(id), 'failedRequests'),
  });
  const inGroup =
    filter.group === '' ? document.workers : document.workers.filter(({ group }) => group === filter.group);
  const leftOut = document.workerCount - document.workers.length;
  return (
    <>
      <Models models={document.models} chosen={filter.group} />
      <div class="toolbar" role="search">
        <SearchField
          placeholder="Search workers: name, address, engine, node, GPU, reason"
          label="Search workers"
          shortcut="/"
        />
        <div class="chips" role="group" aria-label="By state">
          <Chip name="all" count={inGroup.length} value="" chosen={filter.shown} />
          <Chip
            name="kept out"
            count={inGroup.filter(isKeptOut).length}
            value={KEPT_OUT}
            chosen={filter.shown}
          />
          {countsOf(inGroup).map(({ shown, tone, count }) => (
            <Chip key={shown} name={shown} count={count} value={shown} chosen={filter.shown} tone={tone} />
          ))}
        </div>
        <span class="dim count" role="status">
          {fullNumber(rows.length)} of {fullNumber(document.workerCount)} workers
        </span>
      </div>
      <Advice shown={filter.shown} />
      {rows.length === 0 ? (
        <Empty>
          {document.workers.length === 0 ? 'Discovery lists no workers yet.' : 'No worker matches. '}
          {document.workers.length === 0 ? null : (
            <button type="button" class="link" onClick={() => change({ text: '', shown: '', group: '' })}>
              Show all
            </button>
          )}
        </Empty>
      ) : (
        <WorkerTable rows={rows} order={order} onOrder={setOrder} hasModels={document.models.length > 1} />
      )}
      {leftOut > 0 ? (
        <p class="dim">{fullNumber(leftOut)} more are not on this page; /api/v1/workers has them all.</p>
      ) : null}
    </>
  );
}

function Chip({
  name,
  count,
  value,
  chosen,
  tone,
}: {
  readonly name: string;
  readonly count: number;
  readonly value: string;
  readonly chosen: string;
  readonly tone?: 'good' | 'warn' | 'bad' | 'plain';
}): JSX.Element | null {
  if (count === 0 && value !== '' && chosen !== value) return null;
  return (
    <button
      type="button"
      class="chip"
      aria-pressed={chosen === value}
      onClick={() => change({ shown: chosen === value ? '' : value })}
    >
      {tone === undefined ? name : <Tone tone={tone} text={name} />} <b>{fullNumber(count)}</b>
    </button>
  );
}

function Advice({ shown }: { readonly shown: string }): JSX.Element | null {
  const advice = STATE_ADVICE[shown];
  if (advice === undefined) return null;
  return (
    <p class="advice">
      <b>{shown}</b>: {advice.means} {advice.todo === '' ? null : <em>{advice.todo}</em>}
    </p>
  );
}

const TONE_RANKS = { bad: 0, warn: 1, plain: 2, good: 3 } as const;

function Models({
  models,
  chosen,
}: {
  readonly models: readonly ViewModel[];
  readonly chosen: string;
}): JSX.Element | null {
  const [isOpen, setOpen] = useState(false);
  if (models.length === 0) return null;
  const sorted = [...models].sort(
    (a, b) => TONE_RANKS[a.tone] - TONE_RANKS[b.tone] || (a.group < b.group ? -1 : 1),
  );
  const shown = isOpen ? sorted : sorted.slice(0, MODELS_SHOWN);
  return (
    <section class={`models ${models.length === 1 ? 'one' : ''}`} aria-label="Models">
      {shown.map((model) => (
        <Model key={model.group} model={model} isChosen={chosen === model.group} />
      ))}
      {sorted.length > MODELS_SHOWN ? (
        <button type="button" class="link" onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Show fewer models' : `Show all ${sorted.length} models`}
        </button>
      ) : null}
    </section>
  );
}

function gateOf({ isGateOpen, isReady, state }: ViewModel): string {
  if (state === 'conflict') return 'gate shut: conflict';
  if (!isGateOpen) return 'gate shut: collecting';
  return isReady ? 'gate open' : 'gate open, nobody offered';
}

function Model({ model, isChosen }: { readonly model: ViewModel; readonly isChosen: boolean }): JSX.Element {
  const { group, tone, epoch, tokensPerBlock, counts, memberCount, keptOutCount } = model;
  const sorted = worstFirst(counts);
  const why = [...model.reasons.map(({ text }) => text), model.partialReason].filter((text) => text !== '');
  return (
    <article class={`model ${tone}`}>
      <header>
        <h2>
          <button
            type="button"
            class="link"
            aria-pressed={isChosen}
            title={isChosen ? 'Show all models' : `Show the workers of ${group} alone`}
            onClick={() => change({ group: isChosen ? '' : group })}
          >
            <Name text={group} />
          </button>
        </h2>
        <Tone tone={tone} text={gateOf(model)} />
      </header>
      <p class="numbers">
        <span>
          <b>{tokensPerBlock ?? '–'}</b> tokens per block{model.isOverride ? ', set by an operator' : ''}
        </span>
        <span>
          epoch <b>{epoch}</b>
        </span>
        <span title={model.routingReason}>
          routing <b>{model.routingMode.replace('_', ' ')}</b>
        </span>
        <span>
          <b>{fullNumber(memberCount)}</b> workers
          {keptOutCount > 0 ? (
            <>
              , <b class="warn">{fullNumber(keptOutCount)} kept out</b>
            </>
          ) : null}
        </span>
      </p>
      <Bar whole={memberCount} parts={sorted.map(({ shown, count }) => ({ kind: shown, value: count }))} />
      <p class="dim">{sorted.map(({ shown, count }) => `${fullNumber(count)} ${shown}`).join(', ')}</p>
      {why.map((text) => (
        <p key={text} class="reason">
          {text}
        </p>
      ))}
      {model.routingMode === 'exact' || model.routingReason === '' ? null : (
        <p class="dim">
          {model.routingMode.replace('_', ' ')}: {model.routingReason}
        </p>
      )}
    </article>
  );
}
