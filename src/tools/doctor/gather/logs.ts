import { countOf } from '../../../core/text/lists.js';
import type { Clock } from '../../../edge/platform/clock.js';
import {
  type ByteSource,
  openByteSource,
  standardInputSource,
} from '../../../edge/platform/streams/byte-source.js';
import { STANDARD_INPUT } from '../../../edge/platform/streams/standard-input.js';
import { untilStopped } from '../../../edge/platform/streams/until-stopped.js';
import type { EvidencePart } from '../evidence.js';
import { readLog } from '../logs/read-log.js';
import { isMetricsText } from '../metrics/metrics-text.js';
import { readBareSentences, saysNothing } from './bare-sentences.js';
import { MAX_PAGE_BYTES, metricsPart } from './metrics.js';
import { notRead, outcome } from './outcomes.js';
import { type QuotedEvidence, QuotedText } from './quoted-parts.js';
import { plainText, unpackedStart } from './read-text.js';

/** Enough of a text to know whether it is a page of metrics. */
const PEEKED_BYTES = 4_096;

/** Where the first header of a POSIX tar archive has its magic. */
const TAR_MAGIC_AT = 257;

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
    const { isPage, packing, pieces } = await peeked(untilStopped(source.pieces, modules.signal));
    if (packing !== undefined) return notRead('log', name, packing);
    if (isPage) return await pagePart(name, pieces);
    const quoted = new QuotedText();
    const part = await logPart(name, { ...source, pieces: quoted.watch(pieces) }, '', modules);
    if (part.source.status === 'not_read') return part;
    const evidence = await quoted.evidence(name);
    return withQuoted(await withBareSentences(name, part, evidence, quoted, modules), evidence);
  } catch (error) {
    return notRead('log', place, whyNotOpened(place, error));
  }
}

/** A log, read as errors where it is nothing but a sentence or two of which no rule for lines made anything. */
async function withBareSentences(
  name: string,
  part: EvidencePart,
  { findings = [], metrics = [], knownFaults = [] }: QuotedEvidence,
  quoted: QuotedText,
  modules: LogModules,
): Promise<EvidencePart> {
  const { logs = [] } = part;
  const isSilent = findings.length + metrics.length + knownFaults.length === 0 && logs.every(saysNothing);
  const text = isSilent ? quoted.text : undefined;
  const bare = text !== undefined ? await readBareSentences(name, text, modules) : undefined;
  return bare === undefined ? part : { ...part, logs: [bare], sizes: bare.sizes, settings: bare.settings };
}

/** A log with what it quotes beside its lines. */
function withQuoted(
  part: EvidencePart,
  { findings = [], metrics = [], sizes = [], settings = [], knownFaults = [] }: QuotedEvidence,
): EvidencePart {
  return {
    ...part,
    logs: (part.logs ?? []).map((log) => ({
      ...log,
      knownFaults: [...(log.knownFaults ?? []), ...knownFaults],
    })),
    findings,
    metrics,
    sizes: [...(part.sizes ?? []), ...sizes],
    settings: [...(part.settings ?? []), ...settings],
  };
}

/** Names that people give and that no file has, with what to give in their place; else the system's error. */
function whyNotOpened(place: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EISDIR') return 'is a folder: kv-accord doctor FOLDER reads all logs in it';
  if (code === 'ENOENT' && /^[a-z][a-z0-9+.-]*:\/\//i.test(place))
    return 'is an address, and none is fetched: curl -fsS URL | kv-accord doctor -';
  if (code === 'ENOENT' && /^[^=/]+=./.test(place))
    return 'does not exist; a log is named by its file alone, without NAME=';
  return error;
}

/** How files begin that other programs than gzip have packed, which are not unpacked here, and how they are read. */
const PACKINGS: readonly Packing[] = [
  packedBy('zstd', '\x28\xb5\x2f\xfd'),
  packedBy('xz', '\xfd7zXZ\0'),
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((level) => packedBy('bzip2', `BZh${level}1AY&SY`)),
  archive('tar', 'tar -xf FILE -C FOLDER', 'ustar', TAR_MAGIC_AT),
  archive('zip', 'unzip FILE -d FOLDER', 'PK\x03\x04'),
];

interface Packing {
  /** Bytes as characters of Latin-1, and where they stand. */
  readonly magic: string;
  readonly at: number;
  readonly says: string;
}

function packedBy(program: string, magic: string): Packing {
  return { magic, at: 0, says: `is packed by ${program}: ${program} -dc FILE | kv-accord doctor -` };
}

function archive(form: string, unpacking: string, magic: string, at = 0): Packing {
  return { magic, at, says: `is a ${form} archive of files: ${unpacking}, then kv-accord doctor FOLDER` };
}

/** Looks at the first piece of a source without taking it away. */
async function peeked(source: AsyncIterable<Uint8Array>): Promise<{
  readonly isPage: boolean;
  /** How it is packed, where that is not read here, and what to do; it is closed then. */
  readonly packing: string | undefined;
  readonly pieces: AsyncIterable<Uint8Array>;
}> {
  const iterator = source[Symbol.asyncIterator]();
  const first = await iterator.next();
  const rest = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for (let next = first; next.done !== true; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  };
  const bytes = first.done === true ? new Uint8Array() : unpackedStart(first.value.subarray(0, PEEKED_BYTES));
  const start = Buffer.from(bytes).toString('latin1', 0, PEEKED_BYTES);
  const packing = PACKINGS.find(({ magic, at }) => start.startsWith(magic, at))?.says;
  if (packing !== undefined) await iterator.return?.();
  return { isPage: isMetricsText(start), packing, pieces: rest() };
}

/** A page of metrics that was given as a log, read as what it is. */
async function pagePart(name: string, pieces: AsyncIterable<Uint8Array>): Promise<EvidencePart> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > MAX_PAGE_BYTES) return notRead('metrics', name, `has more than ${MAX_PAGE_BYTES} bytes`);
    parts.push(piece);
  }
  const text = plainText(Buffer.concat(parts), MAX_PAGE_BYTES);
  // A quotation may be indented.
  const part = metricsPart(name, text.replace(/^[ \t]+/gm, ''));
  const { source } = part;
  return {
    ...part,
    source: { ...source, detail: `${source.detail}; it is a page of metrics, no log (--metrics)` },
  };
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
