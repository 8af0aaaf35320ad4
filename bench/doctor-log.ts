/**
 * Reading the logs of a fleet for `kv-accord doctor`: processor time for each
 * gigabyte and memory, against reading the same file and cutting it into lines
 * with buffers of the same size, and against node:readline.
 * `KV_ACCORD_BENCH_LOG_MB` sets the size of each log, `KV_ACCORD_BENCH_LOG_KIND` names a part of the kinds that are wanted.
 */
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../src/edge/platform/clock.js';
import { openByteSource } from '../src/edge/platform/streams/byte-source.js';
import { readLog } from '../src/tools/doctor/logs/read-log.js';
import { figure, IS_QUICK, median, ratio, title } from './support/figures.js';
import { LOG_KINDS } from './support/log-kinds.js';

const LOG_MB = Number(process.env['KV_ACCORD_BENCH_LOG_MB'] ?? (IS_QUICK ? 16 : 256));
const WANTED_KIND = process.env['KV_ACCORD_BENCH_LOG_KIND'] ?? '';
const ROUNDS = IS_QUICK ? 1 : 3;
const BUFFER_BYTES = 1_024 * 1_024;
/** What issues ask of it: 100 MB/s on one core. */
const AIM_SECONDS_PER_GB = 10;
const READLINE_AIM = 3;
const SPLITTING_AIM = 12;

function* textOf(lines: (at: number) => string[]): Generator<string> {
  let written = 0;
  for (let at = 0; written < LOG_MB * 1e6; ) {
    const batch: string[] = [];
    for (const end = at + 2_000; at < end; at += 1) batch.push(...lines(at).map((line) => `${line}\n`));
    const text = batch.join('');
    written += Buffer.byteLength(text);
    yield text;
  }
}

interface Reading {
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}

async function timed(read: () => Promise<unknown>): Promise<Reading> {
  const [cpu, startNs] = [process.cpuUsage(), process.hrtime.bigint()];
  await read();
  const { user, system } = process.cpuUsage(cpu);
  return { cpuSeconds: (user + system) / 1e6, wallSeconds: Number(process.hrtime.bigint() - startNs) / 1e9 };
}

/** Every line as a string, and nothing else: what any reader that looks at lines has to pay. */
async function splitLines(path: string): Promise<number> {
  const file = await open(path);
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let lines = 0;
  for (let rest = 0; ; ) {
    const { bytesRead } = await file.read(buffer, rest, buffer.length - rest, null);
    if (bytesRead === 0) break;
    const length = rest + bytesRead;
    let start = 0;
    for (let end = buffer.indexOf(10); end !== -1 && end < length; end = buffer.indexOf(10, start)) {
      if (buffer.toString('utf8', start, end).length > 0) lines += 1;
      start = end + 1;
    }
    buffer.copyWithin(0, start, length);
    rest = length - start;
  }
  await file.close();
  return lines;
}

async function readlineLines(path: string): Promise<number> {
  let lines = 0;
  const input = createReadStream(path, { highWaterMark: BUFFER_BYTES });
  for await (const line of createInterface({ input })) if (line.length > 0) lines += 1;
  return lines;
}

const folder = mkdtempSync(join(tmpdir(), 'kv-accord-bench-'));
try {
  for (const { name, lines } of LOG_KINDS.filter((kind) => kind.name.includes(WANTED_KIND))) {
    const path = join(folder, 'some.log');
    await pipeline(Readable.from(textOf(lines)), createWriteStream(path));
    const times: Record<'ours' | 'splitting' | 'readline', Reading[]> = {
      ours: [],
      splitting: [],
      readline: [],
    };
    let gigabytes = 0;
    let peakBytes = 0;
    let lineCount = 0;
    const startBytes = process.memoryUsage.rss();
    for (let round = 0; round < ROUNDS; round += 1) {
      const source = { name: path, ...(await openByteSource(path)) };
      times.ours.push(
        await timed(async () => {
          const onProgress = (): void => {
            peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
          };
          const summary = await readLog(source, { onProgress }, { clock: systemClock });
          [gigabytes, lineCount] = [summary.bytes / 1e9, summary.lines];
        }),
      );
      const check = (count: number): void => {
        if (count !== lineCount) throw new Error(`${count} lines were cut, and ${lineCount} read`);
      };
      times.splitting.push(await timed(async () => check(await splitLines(path))));
      times.readline.push(await timed(async () => check(await readlineLines(path))));
    }
    const perGb = (readings: readonly Reading[]): number =>
      median(readings.map(({ cpuSeconds }) => cpuSeconds)) / gigabytes;
    const ours = perGb(times.ours);
    title(`a log of ${LOG_MB} MB, ${name}, ${lineCount} lines, ${ROUNDS} rounds`);
    figure('read', 1_000 / ours, 'MB/s');
    figure('read, by the clock on the wall', (1_000 * gigabytes) / median(times.ours.map(wallOf)), 'MB/s');
    figure('a line', (ours * gigabytes * 1e9) / lineCount, 'ns');
    ratio('a GB, against 100 MB/s', ours, AIM_SECONDS_PER_GB, 's', 1);
    ratio('a GB, against node:readline', ours, perGb(times.readline), 's', READLINE_AIM);
    ratio('a GB, against cutting lines alone', ours, perGb(times.splitting), 's', SPLITTING_AIM);
    figure('memory that it takes at most', (peakBytes - startBytes) / 2 ** 20, 'MiB');
  }
} finally {
  rmSync(folder, { recursive: true });
}

function wallOf({ wallSeconds }: Reading): number {
  return wallSeconds;
}
