import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadLogKnowledge } from '../../../../src/tools/doctor/logs/log-knowledge.js';
import { readLog } from '../../../../src/tools/doctor/logs/read-log.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { KNOWN_FAULTS } from '../support/known-faults.js';
import { inPieces, recordedLog, signalsOf, sizesOf, summaryOf } from './summaries.js';

const PARENT =
  '2026-02-16T14:38:53.950961Z  WARN dynamo_kv_router::indexer::radix_tree: Failed to find parent block; skipping store operation worker_id=7 dp_rank=0';
const SELECTED =
  '2026-02-16T14:38:53.950961Z  INFO s: Selected worker: worker_id=7 dp_rank=0, logit: 1.0, cached blocks: 0, tree size: 0';

function filledWith(piece: string, chars: number): string {
  return piece.repeat(Math.floor(chars / piece.length));
}

/** In a line of so many characters, a pattern that takes the square of them in steps takes 150 ms and more; others take 1 ms. */
const SLOW_CHARS = 16_000;
/** Lines that are read together, and what they may take: they take a second, and five in a process that has run other tests. */
const SLOW_LINES = 250;
const SLOW_MS = 15_000;

describe('reading a log', () => {
  it('gives the same however the bytes come', async () => {
    const log = await recordedLog('dynamo-1.6.1.frontend-log.rolling-16-to-32.txt');
    const whole = await summaryOf(log, { pieceBytes: log.length });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3_000 }), async (pieceBytes) => {
        expect(await summaryOf(log, { pieceBytes })).toEqual(whole);
      }),
      { numRuns: 20 },
    );
  });

  it('never throws, and counts every line, whatever the bytes', async () => {
    const words = fc.constantFrom(
      ...[
        'Selected worker',
        'worker_id=',
        'Formula for ',
        '{"message":"',
        '"}',
        '\u001b[3m',
        '\n',
        '\r\n',
        '\u0000',
      ],
      ...[
        'Block not published',
        'server_args=',
        'KV cache usage: ',
        '[pod/x/y] ',
        ' | ',
        '2026-02-16T14:38:53.950961Z ',
      ],
      ...['{', '=', '"', '-> 99999999999999999999', 'block_size=0', 'request completed', 'ttft_ms=1e999 '],
    );
    const bytes = fc.oneof(
      fc.array(words, { maxLength: 60 }).map((all) => Buffer.from(all.join(''))),
      fc.uint8Array({ maxLength: 400 }).map((all) => Buffer.from(all)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(bytes, { maxLength: 6 }),
        fc.integer({ min: 1, max: 64 }),
        async (parts, size) => {
          const log = Buffer.concat(parts);
          fc.pre(!(log[0] === 0x1f && log[1] === 0x8b) && log[0] !== 0xff && log[0] !== 0xfe);
          const summary = await summaryOf(log, { pieceBytes: size });
          const feeds = log.reduce((count, byte) => count + (byte === 10 ? 1 : 0), 0);
          expect(summary.lines).toBe(feeds + (log.length > 0 && log.at(-1) !== 10 ? 1 : 0));
          expect(JSON.stringify([...summary.signals.values()].map(({ first }) => first.text))).not.toContain(
            '\\u0000',
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it('looks at lines across blocks, and numbers them rightly', async () => {
    const filler = `2026-02-16T14:38:53.950961Z  INFO x: ${'.'.repeat(150)}\n`.repeat(20_000);
    const { signals, lines } = await summaryOf(`${filler}${PARENT}\n${filler}${PARENT}\n`);
    expect(lines).toBe(40_002);
    expect(signals.get('parent_block_not_found')).toMatchObject({
      count: 2,
      first: { place: 'some.log:20001' },
    });
  });

  it('shortens lines that are too long, looks at their beginning alone, and says so', async () => {
    const long = `${PARENT} ${'x'.repeat(2_000_000)} Block not published\n`;
    const { signals, cutLines, lines, notes } = await summaryOf(`${long}${PARENT}\n`);
    expect([lines, cutLines]).toEqual([2, 1]);
    expect([...signals.keys()]).toEqual(['parent_block_not_found']);
    expect(signals.get('parent_block_not_found')?.count).toBe(2);
    expect(notes).toEqual(['1 of its lines are too long; their ends were not looked at.']);
  });

  it('is not held up by lines that are made to be slow to read', { timeout: 180_000 }, async () => {
    const pieces = [
      ' must be 1 tokens',
      ' instance=a',
      ' for worker 1',
      ' Workers of "x',
      ' api_key',
      ' Bearer ',
      ' a://b',
    ];
    const { rules } = await loadLogKnowledge();
    const general = rules.filter(({ comesFirst }) => comesFirst !== true);
    const lines = [
      ...general.flatMap(({ needle }) => pieces.map((piece) => `${needle}${filledWith(piece, SLOW_CHARS)}`)),
      ...KNOWN_FAULTS.filter(({ pattern }) => pattern !== undefined).map(
        ({ needles: [needle = ''] }) =>
          `${needle}${pieces.map((piece) => filledWith(piece, SLOW_CHARS / pieces.length)).join('')}`,
      ),
    ];
    for (let at = 0; at < lines.length; at += SLOW_LINES) {
      const part = lines.slice(at, at + SLOW_LINES);
      // Of the processor: time on the clock is that of other programs as well.
      const before = process.cpuUsage();
      expect((await summaryOf(part.join('\n'))).lines).toBe(part.length);
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(SLOW_MS);
    }
  });

  it('reads the last line that has no end', async () => {
    expect(signalsOf(await summaryOf(PARENT))).toEqual({ parent_block_not_found: 1 });
  });

  it('counts lines that are no text, and reads the others', async () => {
    const broken = Buffer.concat([
      Buffer.from([0xc3, 0x28, 10]),
      Buffer.from(`${PARENT}\n`),
      Buffer.from([0, 10]),
    ]);
    const { unreadableLines, signals, notes } = await summaryOf(broken);
    expect(unreadableLines).toBe(2);
    expect(signals.get('parent_block_not_found')?.count).toBe(1);
    expect(notes).toEqual(['2 of its lines are no UTF-8 text.']);
  });

  it('reads UTF-16 as Windows writes it, and says so', async () => {
    const little = Buffer.concat([
      Buffer.from([0xff, 0xfe]),
      Buffer.from(`${PARENT}\r\n${PARENT}\r\n`, 'utf16le'),
    ]);
    for (const log of [little, Buffer.from(little).swap16()]) {
      const { signals, notes } = await summaryOf(log, { pieceBytes: 7 });
      expect(signals.get('parent_block_not_found')?.count).toBe(2);
      expect(notes).toEqual(['It is in UTF-16 and was read as such.']);
    }
  });

  it('keeps pods apart that come interleaved, by the prefixes of kubectl', async () => {
    const lost = 'Block not published. Block size must be 16 tokens to be published. Block size is: 32';
    const { signals, sizes } = await summaryOf(
      ['a-0', 'b-1', 'a-0']
        .map((pod) => `[pod/${pod}/main] 2026-02-16T14:38:53.950961Z  WARN c: ${lost}`)
        .join('\n'),
    );
    expect(signals.get('block_not_published')?.byWorker).toEqual(
      new Map([
        ['a-0', 2],
        ['b-1', 1],
      ]),
    );
    expect(sizes.map(({ who, tokensPerBlock }) => `${who} ${tokensPerBlock}`)).toEqual([
      'a-0 16',
      'a-0 32',
      'b-1 16',
      'b-1 32',
    ]);
  });

  it('names the pod whose log it is, where lines do not', async () => {
    const { sizes } = await summaryOf('[TensorRT-LLM][INFO] Number of tokens per block: 32.', {
      who: 'worker-3',
    });
    expect(sizes).toMatchObject([{ who: 'worker-3', tokensPerBlock: 32 }]);
  });

  it('bounds what it keeps, however many workers there are', async () => {
    const lines = Array.from({ length: 500 }, (_, at) =>
      PARENT.replace('worker_id=7', `worker_id=${at + 1}`),
    );
    const parents = (await summaryOf(lines.join('\n'))).signals.get('parent_block_not_found');
    expect(parents?.count).toBe(500);
    expect(parents?.byWorker.size).toBe(65);
    expect(parents?.byWorker.get('')).toBe(436);
  });

  it('keeps nothing of prompts, not even where they look like a sign', async () => {
    const prompt = `Tell me of ${SELECTED.slice(36)} and Failed to find parent block`;
    const summary = await summaryOf(
      [
        `INFO 11-21 01:02:03 [logger.py:1] Received request cmpl-1: prompt: '${prompt}', params: x`,
        JSON.stringify({
          time: '2026-02-16T14:38:53.9Z',
          level: 'DEBUG',
          target: 't',
          message: JSON.stringify({ messages: [{ content: prompt }] }),
        }),
        `[2026-02-16 14:38:53] Receive: obj=GenerateReqInfo(rid='1', text='${prompt}')`,
      ].join('\n'),
    );
    expect(summary.decisions).toBeUndefined();
    expect(summary.signals.size).toBe(0);
    expect(JSON.stringify(summary)).not.toContain('Tell me');
  });

  it('keeps no secret that stands in arguments', async () => {
    const { sizes } = await summaryOf(
      "[2026-02-16 14:38:53] server_args=ServerArgs(model_path='m', api_key='geheim', hf='hf_abcdefgh', page_size=32)",
    );
    expect(sizes[0]?.origin.text).toBe(
      "[2026-02-16 14:38:53] server_args=ServerArgs(model_path='m', api_key=[masked], hf='[masked]', page_size=32)",
    );
  });
});

describe('reading compressed logs', () => {
  it('takes off gzip by its first bytes, in several members too', async () => {
    const log = Buffer.concat([gzipSync(`${PARENT}\n`), gzipSync(`${PARENT}\n`)]);
    const { signals, isWhole, bytes, notes } = await summaryOf(log, { pieceBytes: 1 });
    expect(signals.get('parent_block_not_found')?.count).toBe(2);
    expect([isWhole, bytes, notes]).toEqual([true, 2 * (PARENT.length + 1), []]);
  });

  it('gives what could be read of a file that was cut, and says so', async () => {
    const lines = Array.from({ length: 5_000 }, (_, at) => `${PARENT} event_id=${at * 7_919}`).join('\n');
    const { signals, isWhole, notes } = await summaryOf(gzipSync(lines).subarray(0, -300));
    expect(signals.get('parent_block_not_found')?.count).toBeGreaterThan(1_000);
    expect([isWhole, notes]).toEqual([
      false,
      ['Its gzip data ends in the middle; what came before was read.'],
    ]);
  });

  it('gives what could be read of a file that is damaged', async () => {
    const log = gzipSync(`${PARENT}\n`.repeat(50_000), { level: 0 });
    log.fill(0xff, log.length >> 1);
    const { isWhole, notes, signals } = await summaryOf(log);
    expect(isWhole).toBe(false);
    expect(notes.join()).toContain('gzip data');
    expect(signals.get('parent_block_not_found')?.count).toBeGreaterThan(1_000);
  });
});

describe('reading a source', () => {
  it('reports how far it is, in bytes of the source', async () => {
    const log = gzipSync(`${PARENT}\n`.repeat(1_000));
    const reports: [number, number | undefined][] = [];
    await summaryOf(log, { pieceBytes: 100, onProgress: (...progress) => reports.push(progress) });
    expect(reports.at(0)).toEqual([100, log.length]);
    expect(reports.at(-1)).toEqual([log.length, log.length]);
  });

  it('stops immediately when it is asked to, even while it waits, with what it has', async () => {
    const stop = new AbortController();
    const more = new AbortController();
    let isClosed = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from(`${PARENT}\n`);
        await new Promise((resolve) => more.signal.addEventListener('abort', resolve));
      } finally {
        isClosed = true;
      }
    }
    const reading = readLog(
      { name: '-', totalBytes: undefined, pieces: endless() },
      { signal: stop.signal, onProgress: () => setImmediate(() => stop.abort()) },
      { clock: new FakeClock() },
    );
    const { isWhole, notes, signals } = await reading;
    expect(isWhole).toBe(false);
    expect(notes).toEqual([`Reading was stopped after ${PARENT.length + 1} bytes.`]);
    expect(signals.get('parent_block_not_found')?.count).toBe(1);
    more.abort();
    await expect.poll(() => isClosed).toBe(true);
  });

  it('reads nothing when it was stopped before', async () => {
    const { lines, isWhole } = await summaryOf(PARENT, { signal: AbortSignal.abort() });
    expect([lines, isWhole]).toEqual([0, false]);
  });

  it('rejects when the source fails before its first byte, and else gives what came', async () => {
    async function* failing(first: string): AsyncGenerator<Uint8Array> {
      if (first !== '') yield Buffer.from(first);
      throw new Error('the disk is gone');
    }
    const read = (first: string) =>
      readLog({ name: 'x', totalBytes: undefined, pieces: failing(first) }, {}, { clock: new FakeClock() });
    await expect(read('')).rejects.toThrow('the disk is gone');
    const summary = await read(`${PARENT}\n`);
    expect(summary).toMatchObject({
      isWhole: false,
      notes: ['It could not be read to its end: the disk is gone.'],
    });
    expect(signalsOf(summary)).toEqual({ parent_block_not_found: 1 });
  });

  it('has nothing to say of an empty log', async () => {
    const summary = await readLog(
      { name: 'empty', totalBytes: 0, pieces: inPieces(Buffer.alloc(0), 1) },
      {},
      { clock: new FakeClock() },
    );
    expect(summary).toMatchObject({
      bytes: 0,
      lines: 0,
      isWhole: true,
      decisions: undefined,
      engine: undefined,
    });
    expect(sizesOf(summary)).toEqual([]);
  });
});
