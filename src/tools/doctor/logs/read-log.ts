import type { Clock } from '../../../edge/platform/clock.js';
import { describeError } from '../../../edge/platform/describe-error.js';
import type { ByteSource } from '../../../edge/platform/streams/byte-source.js';
import { untilStopped } from '../../../edge/platform/streams/until-stopped.js';
import { decodedPieces } from './decoded-pieces.js';
import { LineBlocks } from './line-blocks.js';
import { LineReader } from './line-reader.js';
import { loadLogKnowledge } from './log-knowledge.js';
import type { LogSummary } from './log-summary.js';
import { LogTally } from './log-tally.js';

/** A log to be read. */
export interface LogSource extends ByteSource {
  /** The file, `-`, or the pod: what places are named by. */
  readonly name: string;
}

export interface ReadLogOptions {
  /** The pod or worker whose log it is; empty (default) when that is not known. Prefixes of lines win over it. */
  readonly who?: string;
  /** Ends reading: the summary is of what was read until then. */
  readonly signal?: AbortSignal;
  /** Called after every piece: bytes of the source as it lies there (compressed ones, if it is), and all of them where that is known. */
  readonly onProgress?: (readBytes: number, totalBytes: number | undefined) => void;
}

export interface ReadLogModules {
  readonly clock: Clock;
}

/**
 * Reads a log of any size in constant memory: what programs say of their
 * settings, sizes, decisions and problems. Lines themselves are not kept, but
 * for an excerpt of one of each kind. Rejects when the source fails before its
 * first byte; later, the summary is of what was read, and says so.
 */
export async function readLog(
  source: LogSource,
  options: ReadLogOptions,
  modules: ReadLogModules,
): Promise<LogSummary> {
  const { signal, onProgress } = options;
  const knowledge = await loadLogKnowledge();
  const gaps = { hasNoZone: false, hasNoYear: false };
  const tally = new LogTally(source.name, options.who ?? '', (line, text) => reader.readAgain(line, text));
  const reader: LineReader = new LineReader(tally, { nowMs: modules.clock.wallMs(), gaps }, knowledge);
  const blocks = new LineBlocks((bytes) => reader.read(bytes));
  const notes = new Set<string>();
  let isWhole = true;
  let sourceBytes = 0;
  let bytes = 0;
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of untilStopped(source.pieces, signal)) {
      sourceBytes += piece.length;
      yield piece;
      onProgress?.(sourceBytes, source.totalBytes);
    }
  };
  try {
    const pieces = decodedPieces(counted(), (note, isDamaged) => {
      notes.add(note);
      if (isDamaged && signal?.aborted !== true) isWhole = false;
    });
    for await (const piece of pieces) {
      bytes += piece.length;
      blocks.push(piece);
    }
  } catch (error) {
    if (sourceBytes === 0) throw error;
    isWhole = false;
    notes.add(`It could not be read to its end: ${describeError(error)}.`);
  }
  if (signal?.aborted === true) {
    isWhole = false;
    notes.clear();
    notes.add(`Reading was stopped after ${sourceBytes} bytes.`);
  }
  blocks.end();
  const { lines, unreadableLines, cutLines, programs, firstMs, lastMs } = reader;
  if (reader.hasNoZone) notes.add('Times of it have no zone and were taken as UTC.');
  if (gaps.hasNoYear) notes.add('Times of it have no year; the last one that fits was taken.');
  if (unreadableLines > 0) notes.add(`${unreadableLines} of its lines are no UTF-8 text.`);
  if (cutLines > 0) notes.add(`${cutLines} of its lines are too long; their ends were not looked at.`);
  return {
    name: source.name,
    bytes,
    lines,
    isWhole,
    unreadableLines,
    cutLines,
    notes: [...notes],
    programs,
    firstMs,
    lastMs,
    ...(await tally.finish(lines)),
  };
}
