import type { AgreementEffect } from '../../core/agreement/state/events.js';
import type { FleetView as AgreementView } from '../../core/agreement/view/snapshot.js';
import type { FleetHistory } from '../../core/view/fleet-history.js';
import type { ApiRoute } from '../../edge/http/api.js';
import type { EventStreamRoute } from '../../edge/http/event-stream.js';
import type { Clock, Timer } from '../../edge/platform/clock.js';
import type { CapabilityReport } from '../../gen/kvaccord/v1/capabilities.js';
import { ViewService } from '../../gen/kvaccord/v1/view.js';
import type { FleetPart, PartHost, PartService } from '../aggregator/fleet-part.js';
import type { GroupIndex } from '../indexer/groups/group-index.js';
import type { FleetRouter } from '../router/fleet-router.js';
import { FleetTimeline } from './fleet-timeline.js';
import { ViewBoard, type ViewBoardOptions } from './view-board.js';
import { viewRoutes, viewStream } from './view-routes.js';
import { createViewService } from './view-service.js';

/** How often the size of the indexes is written into the buckets. */
const SAMPLE_EVERY_MS = 5_000;

export interface FleetViewModules {
  readonly clock: Clock;
  readonly history: FleetHistory;
  /** Undefined where nobody routes. */
  readonly router: FleetRouter | undefined;
  /** The index of a group; undefined where there is none. */
  indexOf(group: string): GroupIndex | undefined;
}

/** The part of a fleet that people look at: its timeline, and the view with its stream. */
export class FleetViewPart implements FleetPart {
  readonly services: readonly PartService[];
  readonly targets: readonly string[] = [];
  readonly routes: readonly ApiRoute[];
  readonly streams: readonly EventStreamRoute[];
  readonly #modules: FleetViewModules;
  readonly #board: ViewBoard;
  readonly #timeline: FleetTimeline;
  readonly #host: PartHost;
  /** Blocks stored and removed as they were sampled last, by the group's index. */
  readonly #sampled = new WeakMap<GroupIndex, { readonly stored: number; readonly removed: number }>();
  #timer: Timer | undefined;

  constructor(options: ViewBoardOptions, modules: FleetViewModules, host: PartHost) {
    this.#modules = modules;
    this.#host = host;
    const { clock, history, router, indexOf } = modules;
    const { runner } = host;
    this.#timeline = new FleetTimeline({ history });
    this.#board = new ViewBoard(options, { clock, history, fleet: runner, router, indexOf });
    this.routes = viewRoutes({
      board: this.#board,
      reportOf: (target) => runner.reportOf(target),
      resultsOf: (group) => router?.resultsOf(group) ?? [],
      pairs: () => ({
        view: runner.view,
        pairsOf: (group) => runner.pairsOf(group),
        nowMs: clock.monotonicMs(),
      }),
    });
    this.streams = [viewStream(this.#board)];
    this.services = [
      { definition: ViewService, implementation: createViewService({ board: this.#board, edge: host.edge }) },
    ];
    history.note({
      kind: 'process_started',
      tone: 'plain',
      group: '',
      worker: '',
      text: `${options.title} ${options.version} started. What happened before is not known here.`,
      todo: '',
    });
  }

  start(): void {
    this.#plan();
  }

  onEffect(effect: AgreementEffect): void {
    this.#timeline.onEffect(effect);
  }

  onView(view: AgreementView): void {
    this.#timeline.onView(view);
    this.#board.onView();
  }

  onReport(target: string, report: CapabilityReport): void {
    this.#timeline.onReport(target, report);
  }

  async close(): Promise<void> {
    this.#timer?.clear();
    this.#timer = undefined;
    this.#board.close();
  }

  #plan(): void {
    this.#timer = this.#modules.clock.setTimer(SAMPLE_EVERY_MS, () => {
      this.#sample();
      this.#plan();
    });
  }

  /** Writes how large each index is, and how much of it is new. */
  #sample(): void {
    const { history, indexOf } = this.#modules;
    for (const { group } of this.#host.runner.view.groups) {
      const index = indexOf(group);
      if (index === undefined) continue;
      const { stored, removed } = index.churn;
      const before = this.#sampled.get(index) ?? { stored: 0, removed: 0 };
      this.#sampled.set(index, { stored, removed });
      const isQuiet = stored === before.stored && removed === before.removed;
      // A group that nobody uses changes nothing on any page.
      if (isQuiet) continue;
      const bucket = history.bucketOf(group);
      if (bucket === undefined) continue;
      bucket.indexBlocks = index.blocks;
      bucket.storedBlocks += stored - before.stored;
      bucket.removedBlocks += removed - before.removed;
    }
  }
}
