import type { FleetView } from '../../core/agreement/view/snapshot.js';
import { jsonText } from '../../core/text/printable.js';
import type { FleetHistory } from '../../core/view/fleet-history.js';
import type { KeptEntry } from '../../core/view/timeline.js';
import type {
  ViewDelta,
  ViewDocument,
  ViewEntry,
  ViewModel,
  ViewProcess,
} from '../../core/view/view-document.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { FleetListener } from '../aggregator/fleet-runner.js';
import { fleetStatus } from '../aggregator/service/fleet-pages.js';
import type { GroupIndex } from '../indexer/groups/group-index.js';
import { viewModels } from './view-models.js';
import { holdingRows, loadRows, type RoutedGroup, SentRows } from './view-rows.js';
import { type ReportSource, ViewWorkers } from './view-workers.js';

/** How often numbers are sent while somebody looks. */
const NUMBERS_EVERY_MS = 1_000;

/** Shortest time between two deltas. */
const LEAST_MS = 500;

/** Characters of the headline. */
const MAX_HEADLINE_CHARS = 4_000;

/** One event of the stream: encoded once for all readers. */
export interface ViewEvent {
  readonly name: 'snapshot' | 'delta';
  readonly id: string;
  readonly json: string;
}

/** Who reads the stream. */
export interface ViewReader {
  /** True while what was sent before is still on its way: nothing more is sent then, and a snapshot when it has gone. */
  readonly isBehind: boolean;
  send(event: ViewEvent): void;
}

export interface ViewBoardOptions {
  /** For people: `kv-accord aggregator`. */
  readonly title: string;
  readonly version: string;
  /** Distinguishes this start of the process. */
  readonly processId: string;
}

export interface ViewBoardModules {
  readonly clock: Clock;
  readonly history: FleetHistory;
  /** The agreement; `FleetRunner` is one. */
  readonly fleet: ReportSource & { readonly view: FleetView };
  /** Who routes; undefined where nobody does. */
  readonly router: { readonly groups: ReadonlyMap<string, RoutedGroup> } | undefined;
  /** The index of a group; undefined where there is none. */
  indexOf(group: string): GroupIndex | undefined;
}

/**
 * The view, for all who look at it: made while anybody does, and encoded once for all of them. Who is too slow for the
 * deltas gets the whole again.
 */
export class ViewBoard implements FleetListener {
  readonly workers: ViewWorkers;
  readonly #options: ViewBoardOptions;
  readonly #modules: ViewBoardModules;
  readonly #process: ViewProcess;
  readonly #readers = new Map<ViewReader, { isDue: boolean }>();
  readonly #loads = new SentRows();
  readonly #holdings = new SentRows();
  #models: readonly ViewModel[] = [];
  #modelsJson = '';
  #headline: ViewDocument['headline'] = { text: '', tone: 'plain' };
  #seenView: FleetView | undefined;
  #sequence = 0;
  #nextEntry = 1;
  /** The models whose routing was sent. */
  #routed: ReadonlySet<string> = new Set();
  #snapshot: ViewEvent | undefined;
  #refreshedMs = Number.NEGATIVE_INFINITY;
  #timer: { readonly dueMs: number; readonly timer: Timer } | undefined;

  constructor(options: ViewBoardOptions, modules: ViewBoardModules) {
    this.#options = options;
    this.#modules = modules;
    this.workers = new ViewWorkers({ reports: modules.fleet });
    const routes = modules.router !== undefined;
    this.#process = {
      title: options.title,
      productVersion: options.version,
      startedAtMs: modules.history.nowMs,
      routes,
      notes: routes
        ? ['Decisions of other frontends and routers are in their own views.']
        : ['No requests are routed here: loads, results and decisions are in the views of the frontends.'],
    };
  }

  /** How many look. @internal */
  get readerCount(): number {
    return this.#readers.size;
  }

  /** The whole view now. */
  snapshot(): ViewEvent {
    // What many ask for within a moment is made once.
    if (this.#snapshot === undefined || this.#now() - this.#refreshedMs >= LEAST_MS) this.#refresh();
    this.#snapshot ??= {
      name: 'snapshot',
      id: this.#id,
      json: jsonText(this.#document()),
    };
    return this.#snapshot;
  }

  /** Sends the whole to `reader`, and then what changes, until the function that comes back is called. */
  watch(reader: ViewReader): () => void {
    reader.send(this.snapshot());
    this.#readers.set(reader, { isDue: false });
    this.#plan(NUMBERS_EVERY_MS);
    return () => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0) this.#clearTimer();
    };
  }

  /** What was sent to a reader has gone: it gets the whole where it missed something. */
  drained(reader: ViewReader): void {
    const state = this.#readers.get(reader);
    if (state?.isDue !== true || reader.isBehind) return;
    state.isDue = false;
    reader.send(this.snapshot());
  }

  onView(): void {
    if (this.#readers.size > 0) this.#plan(0);
  }

  /** Stops its timer. */
  close(): void {
    this.#clearTimer();
    this.#readers.clear();
  }

  get #id(): string {
    return `${this.#options.processId}:${this.#sequence}`;
  }

  #now(): number {
    return this.#modules.clock.monotonicMs();
  }

  /** The next delta comes in so long, or when the last one is old enough. */
  #plan(delayMs: number): void {
    const nowMs = this.#now();
    const dueMs = Math.max(nowMs + delayMs, this.#refreshedMs + LEAST_MS);
    if (this.#timer !== undefined) {
      if (this.#timer.dueMs <= dueMs) return;
      this.#clearTimer();
    }
    const timer = this.#modules.clock.setTimer(dueMs - nowMs, () => {
      this.#timer = undefined;
      this.#refresh();
      if (this.#readers.size > 0) this.#plan(NUMBERS_EVERY_MS);
    });
    this.#timer = { dueMs, timer };
  }

  #clearTimer(): void {
    this.#timer?.timer.clear();
    this.#timer = undefined;
  }

  /** Finds out what changed, and sends it to all who can take it. */
  #refresh(): void {
    this.#refreshedMs = this.#now();
    const parts = this.#changes();
    if (Object.keys(parts).length === 0) return;
    this.#snapshot = undefined;
    this.#sequence += 1;
    const delta: ViewDelta = {
      processId: this.#options.processId,
      sequence: this.#sequence,
      atMs: this.#modules.history.nowMs,
      ...parts,
    };
    if (this.#readers.size === 0) return;
    let event: ViewEvent | undefined;
    for (const [reader, state] of [...this.#readers]) {
      if (state.isDue && !reader.isBehind) {
        state.isDue = false;
        reader.send(this.snapshot());
        continue;
      }
      if (state.isDue || reader.isBehind) {
        state.isDue = true;
        continue;
      }
      event ??= { name: 'delta', id: this.#id, json: jsonText(delta) };
      reader.send(event);
    }
  }

  #changes(): Partial<ViewDelta> {
    const { fleet, history, router, indexOf } = this.#modules;
    const { view } = fleet;
    const { nowMs } = history;
    const { changed, gone } = this.workers.update(view, (group, target) =>
      router?.groups.get(group)?.list.leftOut.get(target),
    );
    const { idOf } = this.workers;
    const loads = this.#loads.update(
      [...(router?.groups.values() ?? [])].flatMap((group) => loadRows(group, idOf)),
      gone,
    );
    const holdings = this.#holdings.update(
      view.groups.flatMap(({ group }) => {
        const index = indexOf(group);
        return index === undefined ? [] : holdingRows(index, idOf);
      }),
      gone,
    );
    const routing = [...history.routing.values()].flatMap((one) => one.takeChanged(nowMs) ?? []);
    const routed = new Set(history.routing.keys());
    for (const group of this.#routed)
      if (!routed.has(group)) routing.push({ group, bucketMs: 0, buckets: [] });
    this.#routed = routed;
    const decisions = history.decisions.takeChanged().map((note) => note.read(idOf));
    const timeline = history.timeline.since(this.#nextEntry).map((entry) => this.#entryOf(entry));
    this.#nextEntry = history.timeline.nextId;
    return {
      ...this.#fleetChanges(view),
      ...(changed.length === 0 ? {} : { workers: changed }),
      ...(gone.length === 0 ? {} : { gone }),
      ...(loads.length === 0 ? {} : { loads }),
      ...(holdings.length === 0 ? {} : { holdings }),
      ...(routing.length === 0 ? {} : { routing }),
      ...(decisions.length === 0 ? {} : { decisions }),
      ...(timeline.length === 0 ? {} : { timeline }),
    };
  }

  /** What follows from the agreement alone: looked at where that is another one. */
  #fleetChanges(view: FleetView): Partial<ViewDelta> {
    if (view === this.#seenView) return {};
    const before = this.#seenView;
    this.#seenView = view;
    const models = viewModels(view);
    const modelsJson = jsonText(models);
    const { text, tone } = fleetStatus(view, this.#options.title).headline;
    const headline = { text: text.slice(0, MAX_HEADLINE_CHARS), tone };
    const isOtherHeadline = text !== this.#headline.text || tone !== this.#headline.tone;
    const isOther = modelsJson !== this.#modelsJson;
    this.#models = models;
    this.#modelsJson = modelsJson;
    this.#headline = headline;
    return {
      ...(isOther ? { models } : {}),
      ...(isOtherHeadline ? { headline } : {}),
      ...(before !== undefined && countOf(before) === countOf(view) ? {} : { workerCount: countOf(view) }),
    };
  }

  #document(): ViewDocument {
    const { history, fleet } = this.#modules;
    const { nowMs } = history;
    return {
      version: 1,
      processId: this.#options.processId,
      sequence: this.#sequence,
      atMs: nowMs,
      process: this.#process,
      headline: this.#headline,
      models: this.#models,
      workers: this.workers.all,
      workerCount: countOf(fleet.view),
      loads: this.#loads.all,
      holdings: this.#holdings.all,
      routing: [...history.routing.values()].map((one) => one.read(nowMs)),
      decisions: history.decisions.all.map((note) => note.read(this.workers.idOf)),
      // What came after the last delta comes with the next one.
      timeline: history.timeline
        .since(0)
        .filter(({ id }) => id < this.#nextEntry)
        .map((entry) => this.#entryOf(entry)),
    };
  }

  #entryOf({ target, ...entry }: KeptEntry): ViewEntry {
    const workerNumber = target === undefined ? undefined : this.workers.idOf(target);
    return { ...entry, ...(workerNumber === undefined ? {} : { workerNumber }) };
  }
}

function countOf({ groups, unassigned }: FleetView): number {
  return groups.reduce((sum, { members }) => sum + members.length, unassigned.length);
}
