import type { GroupView } from '../../../core/agreement/view/snapshot.js';
import type { PairLookup } from '../../../core/pairs/pair-lookup.js';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import type { Logger } from '../../../edge/platform/logger.js';
import { RpcError } from '../../../edge/rpc/errors.js';
import type { ServerStream } from '../../../edge/rpc/server-stream.js';
import type { Pair, PairChanges, WatchPairsResponse } from '../../../gen/kvaccord/v1/fleet.js';
import type { FleetRunner } from '../fleet-runner.js';
import { type GroupPairs, MAX_PAIRS_IN_MESSAGE, offeredTargets, toPair } from './pair-pages.js';

/** How often changes are sent: a fleet that starts has many in one second. */
const GATHER_MS = 1_000;

export interface PairWatchModules {
  readonly runner: FleetRunner;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stream: ServerStream<WatchPairsResponse>;
}

/** Sends the pairs of one group and their changes to one watcher. */
export class PairWatch {
  readonly #group: string;
  readonly #modules: PairWatchModules;
  #sent:
    | { readonly pairs: PairLookup; readonly version: number; readonly offered: ReadonlySet<string> }
    | undefined;
  #timer: Timer | undefined;
  #isSending = false;

  constructor(group: string, modules: PairWatchModules) {
    this.#group = group;
    this.#modules = modules;
  }

  start(): void {
    this.#look();
  }

  close(): void {
    this.#timer?.clear();
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    const { clock, stream } = this.#modules;
    if (!stream.isOpen) return;
    this.#timer = clock.setTimer(GATHER_MS, this.#look);
    // A slow reader gets fewer and larger changes.
    if (!this.#isSending) void this.#send();
  };

  async #send(): Promise<void> {
    const { runner, stream, logger } = this.#modules;
    const view = runner.view.groups.find(({ group }) => group === this.#group);
    const pairs = runner.pairsOf(this.#group);
    this.#isSending = true;
    try {
      if (view === undefined || pairs === undefined) await this.#sendGone();
      else await this.#sendChanges(view, pairs);
    } catch (error) {
      stream.end(new RpcError('internal', 'the watch failed'));
      logger.error({ error }, 'A watch of pairs met a fault of this program; please report it.');
    } finally {
      this.#isSending = false;
    }
  }

  async #sendGone(): Promise<void> {
    if (this.#sent === undefined) return;
    const goneTargets = [...this.#sent.pairs.prefillTargets, ...this.#sent.pairs.decodeTargets];
    this.#sent = undefined;
    await this.#write({ goneTargets });
  }

  async #sendChanges(view: GroupView, pairs: PairLookup): Promise<void> {
    const { version } = pairs;
    const offered = offeredTargets(view);
    const before = this.#sent?.pairs === pairs ? this.#sent : undefined;
    const changes = before === undefined ? undefined : pairs.changesSince(before.version);
    this.#sent = { pairs, version, offered };
    if (before === undefined || changes === undefined) {
      await this.#sendAll(allOf(pairs), this.#sent, [], true);
      return;
    }
    const moved = new Set([...offered].filter((target) => !before.offered.has(target)));
    for (const target of before.offered) if (!offered.has(target)) moved.add(target);
    if (before.version === version && moved.size === 0) return;
    const changed = moved.size === 0 ? changes.pairs : withMoved(changes.pairs, pairs, moved);
    await this.#sendAll(changed, this.#sent, [...changes.goneTargets], false);
  }

  async #sendAll(
    targets: Iterable<readonly [string, string]>,
    { pairs, offered }: Pick<GroupPairs, 'pairs' | 'offered'>,
    goneTargets: string[],
    isSnapshot: boolean,
  ): Promise<void> {
    const ofGroup = { group: this.#group, pairs, offered };
    let gone = goneTargets;
    let page: Pair[] = [];
    for (const [prefill, decode] of targets) {
      const pair = toPair(ofGroup, prefill, decode, this.#modules.clock.monotonicMs());
      if (pair === undefined) continue;
      page.push(pair);
      if (page.length < MAX_PAIRS_IN_MESSAGE) continue;
      await this.#write({ changed: page, goneTargets: gone, isSnapshot });
      gone = [];
      page = [];
    }
    if (isSnapshot || page.length > 0 || gone.length > 0)
      await this.#write({ changed: page, goneTargets: gone, isSnapshot, isComplete: isSnapshot });
  }

  async #write(changes: Partial<PairChanges>): Promise<void> {
    const value = { isSnapshot: false, isComplete: false, changed: [], goneTargets: [], ...changes };
    await this.#modules.stream.write({ payload: { $case: 'changes', value } });
  }
}

function* allOf(pairs: PairLookup): Generator<readonly [string, string]> {
  const decodes = [...pairs.decodeTargets].sort();
  for (const prefill of [...pairs.prefillTargets].sort())
    for (const decode of decodes) yield [prefill, decode];
}

/** With the pairs of workers that are offered now and were not, or no longer. */
function* withMoved(
  changed: Iterable<readonly [string, string]>,
  pairs: PairLookup,
  moved: ReadonlySet<string>,
): Generator<readonly [string, string]> {
  for (const pair of changed) if (!moved.has(pair[0]) && !moved.has(pair[1])) yield pair;
  for (const prefill of pairs.prefillTargets) {
    for (const decode of pairs.decodeTargets)
      if (moved.has(prefill) || moved.has(decode)) yield [prefill, decode];
  }
}
