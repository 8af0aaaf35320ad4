import type { MemberView } from '../../../core/agreement/view/snapshot.js';
import type { HashUnitName } from '../../../core/blocks/block-hasher.js';
import type { Matches, VisitBlock } from '../../../core/blocks/prefix-index.js';
import type { Tier } from '../../../core/blocks/tier.js';
import type { CacheView } from '../../../core/contract/wire/cache-view.js';
import { EvidenceSource } from '../../../core/contract/wire/enums.js';
import type { Clock } from '../../../edge/platform/clock.js';
import type { ConnectGate } from '../../../edge/platform/net/connect-gate.js';
import type { Random } from '../../../edge/platform/random.js';
import type { StreamRefusals } from '../../../edge/platform/streams/stream-refusals.js';
import type { Contract } from '../../../gen/kvaccord/v1/capabilities.js';
import type { AskedPrompt, RemovalListener } from '../index/asked-index.js';
import { FleetIndex } from '../index/fleet-index.js';
import type { IndexTally } from '../index/index-tally.js';
import type { ReasonedCacheView } from '../index/known-rank.js';
import type { Churn, RankHolding, RankMatch } from '../index/rank-match.js';
import { reportedHits } from '../index/rank-rules.js';
import type { RelaySource } from '../relays/relay-source.js';
import type { GroupIndex } from './group-index.js';
import { MismatchReporter } from './mismatch-reporter.js';
import type { QueuedTask, WorkQueue } from './work-queue.js';
import { type FollowerStateName, WorkerFollower } from './worker-follower.js';

/** What the index reports to the agreement; `FleetRunner` is one. */
export interface IndexListener {
  cacheViewChanged(target: string, instanceId: string, level: CacheView, reason: string): void;
  mismatchedEvents(target: string, instanceId: string, tokensPerBlock: number, count: number): void;
}

/** What an epoch's blocks are. */
export interface EpochContract {
  readonly epoch: number;
  readonly tokensPerBlock: number;
  /** Undefined where the agreement does not know it: only the events of engines show it. */
  readonly hashUnit: HashUnitName | undefined;
}

export interface EpochIndexOptions extends EpochContract {
  /** See `FleetIndexOptions`. */
  readonly maxBytes?: number;
}

export interface EpochIndexModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly queue: WorkQueue;
  readonly gate: ConnectGate;
  readonly tally: IndexTally;
  readonly refusals: StreamRefusals;
  readonly listener: IndexListener;
  /** The way to a worker's events; undefined while there is none. */
  sourceOf(target: string): RelaySource | undefined;
  /** What a worker's report says of the unit; undefined when it says nothing. */
  hashUnitOf(target: string): HashUnitName | undefined;
  /** The contract of a worker's report, the same object until another report comes; undefined before the first. */
  contractOf(target: string): Contract | undefined;
  /** See `WorkerFollowerModules`. */
  onLag(lagMs: number): void;
}

/** How a member is to be followed. */
interface Wanted {
  readonly instanceId: string;
  readonly isWatched: boolean;
  /** Size of the blocks that its sidecar is to re-hash its own into (A15); undefined where its own are used. */
  readonly rehashTo: number | undefined;
}

interface Followed {
  readonly follower: WorkerFollower;
  /** V3: it dissents; its events are counted by their width, and nothing of them is applied. */
  readonly isWatched: boolean;
  /** Of its report, as the index knows it. */
  contract: Contract | undefined;
  /** The last report to the agreement; undefined before the first. */
  reported: (ReasonedCacheView & { readonly instanceId: string }) | undefined;
}

/** The exact index of one group in one epoch: one `FleetIndex`, and who follows each worker for it. */
export class EpochIndex implements GroupIndex {
  readonly epoch: number;
  readonly tokensPerBlock: number;
  readonly #modules: EpochIndexModules;
  readonly #index: FleetIndex;
  readonly #mismatches: MismatchReporter;
  /** Undefined until a worker's events have shown it. */
  #hashUnit: HashUnitName | undefined;
  readonly #followed = new Map<string, Followed>();
  /** Workers of which something else may be known than was reported. */
  readonly #changed = new Set<string>();
  readonly #reporting: QueuedTask = { step: () => this.#reportOne() };
  readonly #sweeping: QueuedTask = { step: () => this.#index.sweep() };

  constructor(options: EpochIndexOptions, modules: EpochIndexModules) {
    const { tally, queue, clock, listener } = modules;
    this.epoch = options.epoch;
    this.tokensPerBlock = options.tokensPerBlock;
    this.#hashUnit = options.hashUnit;
    this.#modules = modules;
    this.#mismatches = new MismatchReporter({
      clock,
      onFirst: () => queue.add(this.#reporting),
      report: (target, instanceId, width, count) =>
        listener.mismatchedEvents(target, instanceId, width, count),
    });
    this.#index = new FleetIndex(options, {
      tally,
      onOtherWidth: (target, instanceId, width) => this.#mismatches.add(target, instanceId, width),
      onRefused: (target) => this.#change(target),
      onSweepDue: () => queue.add(this.#sweeping),
    });
  }

  /** While no worker has shown it, nothing is held, and either finds nothing. */
  get hashUnit(): HashUnitName {
    return this.#hashUnit ?? 'token';
  }

  get churn(): Churn {
    return this.#index.churn;
  }

  churnOf(target: string): Churn | undefined {
    return this.#index.churnOf(target);
  }

  get blocks(): number {
    return this.#index.blocks;
  }

  get memoryBytes(): number {
    return this.#index.memoryBytes;
  }

  get followerStates(): readonly FollowerStateName[] {
    return [...this.#followed.values()].map(({ follower }) => follower.state);
  }

  setMembers(members: readonly MemberView[]): void {
    const wanted = new Map<string, Wanted>();
    for (const { target, offer, state, instanceId, source, rehashedTokensPerBlock: rehashTo } of members) {
      if (instanceId === '' || (offer !== 'full' && state !== 'dissenting')) continue;
      wanted.set(target, { instanceId, isWatched: offer !== 'full', rehashTo });
      if (offer !== 'full') continue;
      // Its events showed the size, and the unit with it.
      if (source === EvidenceSource.OBSERVED_EVENT) this.#hashUnit ??= this.#modules.hashUnitOf(target);
    }
    for (const [target, { follower, isWatched }] of this.#followed) {
      if (wanted.get(target)?.isWatched !== isWatched) this.#unfollow(target, follower);
    }
    for (const [target, { instanceId, isWatched, rehashTo }] of wanted) {
      const followed = this.#followed.get(target);
      if (followed === undefined) this.#follow(target, { instanceId, isWatched, rehashTo });
      else {
        followed.follower.setInstance(instanceId);
        followed.follower.setRehash(rehashTo);
      }
      this.#readContract(target);
    }
  }

  setSource(target: string, source: RelaySource | undefined): void {
    this.#followed.get(target)?.follower.setSource(source);
  }

  forget(target: string, instanceId: string): void {
    const followed = this.#followed.get(target);
    if (followed === undefined) return;
    // The agreement forgets with it what was reported.
    followed.reported = undefined;
    followed.follower.forget(instanceId);
  }

  get otherWidths(): readonly number[] {
    return this.#index.otherWidths;
  }

  find(prompt: AskedPrompt): readonly RankMatch[] {
    return this.#index.find(prompt);
  }

  match(prompt: AskedPrompt, deepest: Tier): Matches | undefined {
    return this.#index.match(prompt, deepest);
  }

  get holdersVersion(): number {
    return this.#index.holdersVersion;
  }

  cacheViewOfRank(target: string, rank: number): CacheView {
    const worker = this.#followed.get(target)?.follower;
    // While its stream is broken no rank is known better than the worker.
    return worker?.state === 'applying'
      ? this.#index.cacheViewOfRank(target, rank)
      : (worker?.cacheView.level ?? 'none');
  }

  holdings(): readonly RankHolding[] {
    return this.#index.holdings();
  }

  scan(tier: Tier, cursor: number, max: number, visit: VisitBlock): number | undefined {
    return this.#index.scan(tier, cursor, max, visit);
  }

  watchRemovals(listener: RemovalListener | undefined): void {
    this.#index.watchRemovals(listener);
  }

  record(): boolean {
    return false;
  }

  close(): void {
    // The whole index goes: to take out each worker first would be work for nothing.
    for (const { follower } of this.#followed.values()) follower.close();
    this.#followed.clear();
    this.#mismatches.close();
    this.#modules.queue.delete(this.#sweeping);
    this.#modules.queue.delete(this.#reporting);
  }

  #follow(target: string, { instanceId, isWatched, rehashTo }: Wanted): void {
    this.#index.watchOnly(target, isWatched);
    const { clock, random, queue, gate, tally, refusals, onLag, sourceOf } = this.#modules;
    const follower = new WorkerFollower(
      { target, instanceId },
      {
        clock,
        random,
        queue,
        gate,
        tally,
        refusals,
        onLag,
        index: this.#index,
        onCacheView: () => this.#change(target),
      },
    );
    this.#followed.set(target, { follower, isWatched, contract: undefined, reported: undefined });
    follower.setRehash(rehashTo);
    const source = sourceOf(target);
    if (source !== undefined) follower.setSource(source);
  }

  /** What a worker's report says of how its engine finds hits. */
  #readContract(target: string): void {
    const followed = this.#followed.get(target);
    const contract = this.#modules.contractOf(target);
    if (followed === undefined || followed.contract === contract) return;
    followed.contract = contract;
    this.#index.setReported(target, reportedHits(contract));
    this.#change(target);
  }

  /** What is known of a worker may be something else than was reported. */
  #change(target: string): void {
    this.#changed.add(target);
    this.#modules.queue.add(this.#reporting);
  }

  #unfollow(target: string, follower: WorkerFollower): void {
    this.#followed.delete(target);
    this.#mismatches.delete(target);
    follower.close();
    this.#index.forget(target);
    this.#index.setReported(target, undefined);
    this.#index.watchOnly(target, false);
  }

  /** Reports one worker to the agreement, where there is news. */
  #reportOne(): boolean {
    if (this.#mismatches.reportFirst()) return true;
    const [target] = this.#changed;
    if (target === undefined) return false;
    this.#changed.delete(target);
    const followed = this.#followed.get(target);
    if (followed === undefined) return true;
    const { level, reason } = followed.follower.cacheView;
    const { instanceId } = followed.follower;
    const { reported } = followed;
    if (reported?.level === level && reported.reason === reason && reported.instanceId === instanceId)
      return true;
    followed.reported = { level, reason, instanceId };
    this.#modules.listener.cacheViewChanged(target, instanceId, level, reason);
    return true;
  }
}
