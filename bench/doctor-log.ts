/**
 * Reading the logs of a fleet for `kv-accord doctor`: processor time for each
 * gigabyte and memory, against reading the same file and cutting it into lines
 * with buffers of the same size, and against node:readline.
 * `KV_ACCORD_BENCH_LOG_MB` sets the size of each log.
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

const LOG_MB = Number(process.env['KV_ACCORD_BENCH_LOG_MB'] ?? (IS_QUICK ? 16 : 256));
const ROUNDS = IS_QUICK ? 1 : 3;
const BUFFER_BYTES = 1_024 * 1_024;
/** What issues ask of it: 100 MB/s on one core. */
const AIM_SECONDS_PER_GB = 10;
const READLINE_AIM = 3;
const SPLITTING_AIM = 12;

const WORKERS = ['7702713015953616', '4467334888485367', '14890345699382878635', '5539562917135802437'];

/** What logs are made of, from the most to the least that has to be read: lines by request number. */
const KINDS = [
  {
    name: 'decisions alone (Dynamo 0.9)',
    lines: (at: number) => [
      `INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=${workerOf(at)} dp_rank=0, logit: ${scattered(at) % 300}.656, cached blocks: ${scattered(at) % 3}, tree size: ${at}`,
    ],
  },
  {
    name: 'requests and warnings (Dynamo 1.6)',
    lines: (at: number) => {
      const [own, http, worker] = [idOf(at), idOf(at + 1e9), workerOf(at)];
      const call = `method=POST uri=/v1/chat/completions version=HTTP/1.1 request_id=${http} model="tiny"`;
      const end = `input_tokens=4044 output_tokens=2 image_count=0 video_count=0 audio_count=0 ttft_ms="88.38" avg_itl_ms="6.33" prefill_worker_id=${worker} decode_worker_id=${worker} request.outcome="success"`;
      return [
        `INFO http-request: dynamo_llm::http::service::metrics: request received request_id=${own} model=tiny endpoint=chat_completions request_type=unary ${call}`,
        `INFO dynamo_kv_router::scheduling::selector: Selected worker router_mode="kv" request_id="${own}" worker_id=${worker} worker_type=decode dp_rank=0 logit=252.375 host_pinned_blocks=0 disk_blocks=0`,
        `INFO http-request:kv_router.route_request: request_span: route request completed request.outcome="success" ${call} otel.kind="client" request_id=${own} dp_rank=0 overlap_blocks=${scattered(at) % 100} phase=Aggregated worker_id=${worker} request.attempt=0`,
        `INFO http-request: dynamo_llm::http::service::metrics: request completed request_id=${own} model=tiny endpoint=chat_completions request_type=unary status=success elapsed_ms=95 ${call} ${end}`,
        `INFO http-request: dynamo_llm::http::service::service_v2: http response sent status=200 latency_ms=95 ${call} ${end}`,
        `WARN dynamo_kv_router::indexer::radix_tree: Failed to find parent block; skipping store operation worker_id=${worker} dp_rank=0 event_id=${at} parent_hash=Some(ExternalSequenceBlockHash(${worker})) num_blocks=0`,
      ];
    },
  },
  {
    name: 'nothing of interest',
    lines: (at: number) => [
      `INFO dynamo_runtime::pipeline::network::ingress::push_handler: payload handled component="router" endpoint="generate" namespace="dynamo" instance_id=${workerOf(at)} id=${idOf(at)}`,
    ],
  },
];

/** The finalizer of MurmurHash3 over a number and the seed 42. */
function scattered(index: number): number {
  let mixed = 42 ^ Math.imul(index, 0x9e37_79b1);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function workerOf(at: number): string {
  return WORKERS[scattered(at) % WORKERS.length] ?? '';
}

function idOf(at: number): string {
  const hex = [0, 1, 2, 3]
    .map((part) =>
      scattered(at * 4 + part)
        .toString(16)
        .padStart(8, '0'),
    )
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function* textOf(lines: (at: number) => string[]): Generator<string> {
  const startMs = Date.UTC(2026, 1, 16, 14, 38, 53);
  let written = 0;
  for (let at = 0; written < LOG_MB * 1e6; ) {
    const batch: string[] = [];
    for (const end = at + 2_000; at < end; at += 1) {
      const time = new Date(startMs + at * 5).toISOString().replace('Z', '123Z');
      batch.push(...lines(at).map((line) => `${time}  ${line}\n`));
    }
    const text = batch.join('');
    written += text.length;
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
  for (const { name, lines } of KINDS) {
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
