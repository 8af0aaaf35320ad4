import { status } from '@grpc/grpc-js';
import { SnapshotError } from '../../../app/fleet-snapshot.js';
import { TIERS } from '../../../core/blocks/tier.js';
import { jsonText } from '../../../core/text/printable.js';
import type { Clock, Timer } from '../../../edge/platform/clock.js';
import type { TextOutput } from '../../../edge/platform/streams/standard-streams.js';
import { onAbort } from '../../../edge/platform/time/on-abort.js';
import type { RpcChannel } from '../../../edge/rpc/channel.js';
import { isServiceError, readPeerReason } from '../../../edge/rpc/errors.js';
import { explainStatus } from '../../../fleet/aggregator/sessions/explain-break.js';
import {
  DumpEntry,
  type DumpPart,
  type DumpResponse,
  type DumpStart,
  IndexerClient,
} from '../../../gen/kvaccord/v1/indexer.js';
import { pictureToJSON } from '../../../gen/kvaccord/v1/kv_events.js';
import { renderIndex } from './index-table.js';

export interface IndexDumpOptions {
  readonly clock: Clock;
  /** Longest wait for the next message. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly stdout: TextOutput;
  /** The served model; empty while the fleet serves one. */
  readonly group: string;
  /** Every entry as one line of JSON, after one line about the index; else a table of who holds how much. */
  readonly json: boolean;
}

/**
 * Prints an aggregator's index as it comes, a part at a time, so that one of
 * any size can be read. Rejects with a `ConnectError`, a `SnapshotError`, or
 * `signal.reason`.
 */
export async function printIndex(channel: RpcChannel, options: IndexDumpOptions): Promise<void> {
  const { signal, stdout, group, json } = options;
  await channel.waitForReady(signal);
  const stream = channel.createClient(IndexerClient).dump({ group });
  const cancel = (): void => stream.cancel();
  const watchdog = new Watchdog(options, cancel);
  const leave = onAbort(signal, cancel);
  try {
    for await (const message of stream as AsyncIterable<DumpResponse>) {
      watchdog.reset();
      const { payload } = message;
      if (payload?.$case === 'part' && json) {
        stdout.write(linesOf(payload.value));
        // A slow reader holds up the aggregator's stream, and not this process's memory.
        watchdog.clear();
        await stdout.taken(signal);
        watchdog.reset();
      }
      if (payload?.$case !== 'start') continue;
      stdout.write(json ? startLineOf(payload.value) : renderIndex(payload.value));
      // Who holds how much is said at the beginning: the rest is for programs.
      if (!json) return;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw explain(channel.address.text, error, watchdog.hasBarked ? options.timeoutMs : undefined);
  } finally {
    watchdog.clear();
    leave();
    stream.cancel();
  }
}

/** Ends a stream that says nothing for too long. */
class Watchdog {
  hasBarked = false;
  readonly #options: IndexDumpOptions;
  readonly #bark: () => void;
  #timer: Timer;

  constructor(options: IndexDumpOptions, bark: () => void) {
    this.#options = options;
    this.#bark = bark;
    this.#timer = this.#set();
  }

  reset(): void {
    this.#timer.clear();
    this.#timer = this.#set();
  }

  clear(): void {
    this.#timer.clear();
  }

  #set(): Timer {
    return this.#options.clock.setTimer(this.#options.timeoutMs, () => {
      this.hasBarked = true;
      this.#bark();
    });
  }
}

/** Zeros are said as well: a program is not to guess which holder is number 0. */
function startLineOf({ group, epoch, tokensPerBlock, holders }: DumpStart): string {
  const start = {
    group,
    epoch: String(epoch),
    tokensPerBlock,
    holders: holders.map(({ holder, target, workerId, dataParallelRank, picture, ...blocks }) => ({
      holder,
      target,
      workerId,
      dataParallelRank,
      picture: pictureToJSON(picture),
      deviceBlocks: String(blocks.deviceBlocks),
      hostBlocks: String(blocks.hostBlocks),
      diskBlocks: String(blocks.diskBlocks),
      externalBlocks: String(blocks.externalBlocks),
    })),
  };
  return `${jsonText(start)}\n`;
}

function linesOf({ tier, entries }: DumpPart): string {
  const name = TIERS[tier - 1] ?? 'unknown';
  return entries
    .map((entry) => `${jsonText({ tier: name, ...(DumpEntry.toJSON(entry) as object) })}\n`)
    .join('');
}

function explain(address: string, error: unknown, waitedMs: number | undefined): unknown {
  if (waitedMs !== undefined)
    return new SnapshotError(address, `said nothing for ${waitedMs / 1_000} s (--timeout)`, { cause: error });
  if (!isServiceError(error)) return error;
  if (error.code === status.UNIMPLEMENTED) {
    const why = 'answers gRPC, but holds no index: it is no kv-accord aggregator, or an older one';
    return new SnapshotError(address, why, { cause: error });
  }
  // Where the aggregator says why not, its own words say it best.
  const why = readPeerReason(error) === undefined ? explainStatus(error, 'aggregator') : error.details;
  return new SnapshotError(address, why, { cause: error });
}
