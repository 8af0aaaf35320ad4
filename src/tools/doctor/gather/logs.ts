import { countOf } from '../../../core/text/lists.js';
import type { Clock } from '../../../edge/platform/clock.js';
import {
  type ByteSource,
  openByteSource,
  standardInputSource,
} from '../../../edge/platform/streams/byte-source.js';
import type { EvidencePart } from '../evidence.js';
import { readLog } from '../logs/read-log.js';
import { notRead, outcome } from './outcomes.js';

/** The place that stands for standard input. */
const STANDARD_INPUT = '-';

export interface LogModules {
  readonly clock: Clock;
  /** Ends reading; the evidence is of what was read until then. */
  readonly signal: AbortSignal;
  /** Bytes read of one log, and all of them where that is known. */
  readonly onProgress?:
    | ((name: string, readBytes: number, totalBytes: number | undefined) => void)
    | undefined;
}

/** Reads a log file of any size, or standard input for `-`. Never rejects. */
export async function gatherLog(place: string, modules: LogModules): Promise<EvidencePart> {
  try {
    const source = place === STANDARD_INPUT ? standardInputSource() : await openByteSource(place);
    const name = place === STANDARD_INPUT ? 'standard input' : place;
    return await logPart(name, source, '', modules);
  } catch (error) {
    return notRead('log', place, error);
  }
}

/** What a log gives. `who` is the pod or worker whose log it is, empty when that is not known. Rejects when it fails before its first byte. */
export async function logPart(
  name: string,
  source: ByteSource,
  who: string,
  { clock, signal, onProgress }: LogModules,
): Promise<EvidencePart> {
  const summary = await readLog(
    { name, ...source },
    { who, signal, onProgress: (read, total) => onProgress?.(name, read, total) },
    { clock },
  );
  const signs = [...summary.signals.values()].reduce((sum, { count }) => sum + count, 0);
  const detail = [
    countOf(summary.lines, 'line'),
    ...(summary.decisions === undefined ? [] : [countOf(summary.decisions.count, 'routing decision')]),
    ...(signs === 0 ? [] : [countOf(signs, 'sign of a problem or change', 'signs of problems or changes')]),
    ...summary.notes.map((note) => note.replace(/\.$/, '')),
  ];
  if (summary.lines === 0) return notRead('log', name, summary.notes[0] ?? 'is empty');
  if (summary.unreadableLines > summary.lines / 2)
    return notRead('log', name, 'is no text: most of its lines are not UTF-8');
  return {
    source: outcome('log', name, summary.isWhole ? 'read' : 'partly_read', detail.join(', ')),
    logs: [summary],
    sizes: summary.sizes,
    settings: summary.settings,
  };
}
