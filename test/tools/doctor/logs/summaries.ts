import { readFile } from 'node:fs/promises';
import type { LogSummary } from '../../../../src/tools/doctor/logs/log-summary.js';
import { type ReadLogOptions, readLog } from '../../../../src/tools/doctor/logs/read-log.js';
import { FakeClock } from '../../../support/fake-clock.js';

const FIXTURES = new URL('../../../fixtures/doctor-logs/', import.meta.url);

/** Bytes in pieces, as a source gives them. */
export async function* inPieces(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** What is read of a log that is given as text or bytes. */
export function summaryOf(
  log: string | Uint8Array,
  options: ReadLogOptions & { readonly pieceBytes?: number; readonly wallMs?: number } = {},
): Promise<LogSummary> {
  const bytes = typeof log === 'string' ? Buffer.from(log) : log;
  const { pieceBytes = 65_536, wallMs = Date.UTC(2026, 10, 22), ...rest } = options;
  const source = { name: 'some.log', totalBytes: bytes.length, pieces: inPieces(bytes, pieceBytes) };
  const clock = new FakeClock();
  clock.stepWallMs(wallMs - clock.wallMs());
  return readLog(source, rest, { clock });
}

/** A recording of `test/fixtures/doctor-logs`. */
export function recordedLog(name: string): Promise<Buffer> {
  return readFile(new URL(name, FIXTURES));
}

/** What the sizes of a summary say, shortly: `worker 32 observed`. */
export function sizesOf(summary: LogSummary): string[] {
  return summary.sizes.map(({ side, tokensPerBlock, basis }) => `${side} ${tokensPerBlock} ${basis}`);
}

/** What the settings of a summary say, shortly: `max_num_seqs=256`. */
export function settingsOf(summary: LogSummary): string[] {
  return summary.settings.map(({ name, value }) => `${name}=${value}`);
}

/** Signals by name with their counts. */
export function signalsOf(summary: LogSummary): Record<string, number> {
  return Object.fromEntries([...summary.signals].map(([signal, { count }]) => [signal, count]));
}
