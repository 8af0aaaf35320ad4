import type { FleetView, GroupView, MemberView } from '../../core/agreement/view/snapshot.js';
import { TIERS } from '../../core/blocks/tier.js';
import { type CacheView, WIRE_CACHE_VIEWS, worseCacheView } from '../../core/contract/wire/cache-view.js';
import { RpcError } from '../../edge/rpc/errors.js';
import { type RpcEdge, wrapServerStream, wrapUnary } from '../../edge/rpc/handlers.js';
import type { ServerStream } from '../../edge/rpc/server-stream.js';
import type {
  DumpEntry,
  DumpRequest,
  DumpResponse,
  FindMatchesRequest,
  FindMatchesResponse,
  IndexerServer,
  IndexHolder,
  RecordDecisionRequest,
  RecordDecisionResponse,
} from '../../gen/kvaccord/v1/indexer.js';
import type { Tier } from '../../gen/kvaccord/v1/kv_events.js';
import { findAskedGroup, NO_INDEX_MESSAGE, shutMessage } from './asked-group.js';
import type { AskedIndex, IndexDirectory } from './index/asked-index.js';
import { PromptHashes } from './prompt-hashes.js';

/** Blocks in one part of a dump: some tens of kilobytes, with a few holders each. */
const DUMP_PART_BLOCKS = 1_024;

/** Holders in one start of a dump: 3 MB with the longest names there can be. */
const DUMP_START_HOLDERS = 8_192;

/** Holders named in one part of a dump, so that blocks that a thousand workers share stay below a message's bound. */
const DUMP_PART_HOLDERS = 256 * 1_024;

export interface IndexerServiceModules {
  readonly edge: RpcEdge;
  readonly indexes: IndexDirectory;
  /** The fleet as last prepared. */
  view(): FleetView;
}

/** A group whose gate is open, and its index. */
interface OpenGroup {
  readonly group: GroupView;
  readonly index: AskedIndex;
}

/** The `kvaccord.v1.Indexer` service. */
export function createIndexerService({ edge, indexes, view }: IndexerServiceModules): IndexerServer {
  const prompts = new PromptHashes();
  const open = (name: string): OpenGroup => {
    const group = findAskedGroup(view(), name);
    const index = indexes.of(group.group);
    if (group.gateOpen && index !== undefined) return { group, index };
    if (group.gateOpen) throw new RpcError('unavailable', NO_INDEX_MESSAGE, { reason: 'no_index' });
    const [first] = group.reasons;
    throw new RpcError('unavailable', shutMessage(group), { reason: first?.code ?? 'settling' });
  };
  return {
    findMatches: wrapUnary(edge, (request: FindMatchesRequest) =>
      findMatches(prompts, open(request.group), request),
    ),
    dump: wrapServerStream<DumpRequest, DumpResponse>(edge, { mode: 'every' }, async (request, stream) => {
      const { group, index } = open(request.group);
      await dump(group, index, stream, () => indexes.of(group.group) === index);
    }),
    recordDecision: wrapUnary(edge, (request: RecordDecisionRequest): RecordDecisionResponse => {
      const { group, index } = open(request.group);
      const { target, dataParallelRank, prompt } = request;
      if (!group.members.some((member) => member.target === target)) {
        throw new RpcError(
          'not_found',
          `"${group.group}" has no worker ${JSON.stringify(target.slice(0, 256))}`,
          {
            reason: 'unknown_worker',
          },
        );
      }
      return { recorded: index.record(target, dataParallelRank, prompts.read(prompt, index).sequenceHashes) };
    }),
  };
}

function findMatches(
  prompts: PromptHashes,
  { group, index }: OpenGroup,
  request: FindMatchesRequest,
): FindMatchesResponse {
  const prompt = prompts.read(request.prompt, index);
  const matches = index.find(prompt);
  const members = new Map<string, MemberView>();
  if (matches.length > 0) for (const member of group.members) members.set(member.target, member);
  return {
    group: group.group,
    epoch: BigInt(index.epoch),
    tokensPerBlock: index.tokensPerBlock,
    blockCount: prompt.sequenceHashes.length / 8,
    matches: matches.map(({ target, rank, blocks }) => ({
      target,
      workerId: members.get(target)?.workerId ?? '',
      dataParallelRank: rank,
      deviceBlocks: blocks[0] ?? 0,
      hostBlocks: blocks[1] ?? 0,
      diskBlocks: blocks[2] ?? 0,
      externalBlocks: blocks[3] ?? 0,
      picture: cacheViewOf(index, members.get(target), target, rank),
    })),
    routingMode: group.routingMode,
  };
}

/** What the index knows of a rank; no better than what the agreement makes of its worker, by its results or its tokens. */
function cacheViewOf(
  index: AskedIndex,
  member: MemberView | undefined,
  target: string,
  rank: number,
): (typeof WIRE_CACHE_VIEWS)[CacheView] {
  const known = index.cacheViewOfRank(target, rank);
  const judged = member?.cacheView;
  const isJudged = judged === 'doubted' || judged === 'approximate';
  return WIRE_CACHE_VIEWS[isJudged ? worseCacheView(known, judged) : known];
}

/** Sends all of an index, a part at a time, as fast as it is read; ends with an error when the epoch does. */
async function dump(
  group: GroupView,
  index: AskedIndex,
  stream: ServerStream<DumpResponse>,
  isCurrent: () => boolean,
): Promise<void> {
  const members = new Map(group.members.map((member) => [member.target, member]));
  const holders = index.holdings().map(
    ({ holder, target, rank, cacheGroup, blocks }): IndexHolder => ({
      holder,
      target,
      workerId: members.get(target)?.workerId ?? '',
      dataParallelRank: rank,
      ...(cacheGroup === undefined ? {} : { cacheGroup }),
      picture: cacheViewOf(index, members.get(target), target, rank),
      deviceBlocks: BigInt(blocks[0] ?? 0),
      hostBlocks: BigInt(blocks[1] ?? 0),
      diskBlocks: BigInt(blocks[2] ?? 0),
      externalBlocks: BigInt(blocks[3] ?? 0),
    }),
  );
  const { epoch, tokensPerBlock } = index;
  for (let from = 0; from === 0 || from < holders.length; from += DUMP_START_HOLDERS) {
    const some = holders.slice(from, from + DUMP_START_HOLDERS);
    const start = { group: group.group, epoch: BigInt(epoch), tokensPerBlock, holders: some };
    await stream.write({ payload: { $case: 'start', value: start } });
  }
  for (const [at, tier] of TIERS.entries()) {
    let cursor: number | undefined = 0;
    do {
      if (!stream.isOpen) return;
      if (!isCurrent()) {
        stream.end(new RpcError('unavailable', 'the epoch has ended, ask again', { reason: 'epoch_ended' }));
        return;
      }
      const parts = new DumpParts((at + 1) as Tier);
      cursor = index.scan(tier, cursor, DUMP_PART_BLOCKS, (low, high, held) => parts.add(low, high, held));
      for (const part of parts.take()) await stream.write(part);
    } while (cursor !== undefined);
  }
  stream.end();
}

/** Cuts what one scan gave into messages that stay below their bound. */
class DumpParts {
  readonly #tier: Tier;
  readonly #done: DumpEntry[][] = [];
  #entries: DumpEntry[] = [];
  #holders = 0;

  constructor(tier: Tier) {
    this.#tier = tier;
  }

  add(low: number, high: number, holders: readonly number[]): void {
    if (this.#holders + holders.length > DUMP_PART_HOLDERS) this.#cut();
    this.#holders += holders.length;
    this.#entries.push({
      sequenceHash: (BigInt(high) << 32n) | BigInt(low),
      holders: [...holders],
    });
  }

  take(): DumpResponse[] {
    this.#cut();
    return this.#done.map((entries) => ({
      payload: { $case: 'part', value: { tier: this.#tier, entries } },
    }));
  }

  #cut(): void {
    if (this.#entries.length > 0) this.#done.push(this.#entries);
    this.#entries = [];
    this.#holders = 0;
  }
}
