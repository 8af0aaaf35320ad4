import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BoundedOutput, type LostLines } from '../../../../src/edge/platform/streams/bounded-output.js';
import type { DescriptorSink } from '../../../../src/edge/platform/streams/descriptor-sink.js';
import { FakeClock } from '../../../support/fake-clock.js';

/** A pipe of a given size that a test reads, fills and breaks. */
class FakePipe implements DescriptorSink {
  readonly mayHang: boolean = false;
  readonly capacityBytes: number;
  text = '';
  unreadBytes = 0;
  failure: string | undefined;
  isClosed = false;
  calls = 0;

  constructor(capacityBytes: number) {
    this.capacityBytes = capacityBytes;
  }

  write(bytes: Uint8Array, onDone: Parameters<DescriptorSink['write']>[1]): void {
    this.calls += 1;
    const error = this.failure ?? (this.unreadBytes >= this.capacityBytes ? 'EAGAIN' : undefined);
    if (error !== undefined) {
      onDone(Object.assign(new Error(`${error}: no`), { code: error }), 0);
      return;
    }
    const taken = bytes.subarray(0, this.capacityBytes - this.unreadBytes);
    this.unreadBytes += taken.length;
    this.text += Buffer.from(taken).toString('latin1');
    onDone(undefined, taken.length);
  }

  close(): void {
    this.isClosed = true;
  }
}

function stage(capacityBytes: number, maxWaitingBytes = 100) {
  const clock = new FakeClock();
  const pipe = new FakePipe(capacityBytes);
  const output = new BoundedOutput({ maxWaitingBytes }, { clock, sink: pipe });
  const lost: LostLines[] = [];
  output.reportLostTo((one) => void lost.push(one));
  const read = async (): Promise<void> => {
    pipe.unreadBytes = 0;
    await clock.advanceMs(50);
  };
  return { clock, pipe, output, lost, read };
}

describe('output that nobody may be held up by', () => {
  it('is written immediately while it is read', () => {
    const { pipe, output, clock } = stage(1_000);
    output.write('one\n');
    output.write('two\n');
    expect([pipe.text, output.droppedLines, clock.pendingTimers]).toEqual(['one\ntwo\n', 0, 0]);
  });

  it('waits in order while nobody reads, and loses nothing within its bound', async () => {
    const { pipe, output, read, clock } = stage(6);
    for (const line of ['one\n', 'two\n', 'three\n']) output.write(line);
    expect(pipe.text).toBe('one\ntw');
    await read();
    await read();
    await read();
    expect([pipe.text, output.droppedLines, clock.pendingTimers]).toEqual(['one\ntwo\nthree\n', 0, 0]);
  });

  it('drops and counts lines beyond its bound, and says so once when it is read again', async () => {
    const { pipe, output, read, lost } = stage(4, 8);
    for (let i = 0; i < 10; i += 1) output.write('abc\n');
    expect(output.droppedLines).toBe(7);
    expect(lost).toEqual([]);
    for (let i = 0; i < 5; i += 1) await read();
    expect(pipe.text).toBe('abc\nabc\nabc\n');
    expect(lost).toEqual([{ count: 7, reason: expect.stringContaining('8 bytes wait') }]);
  });

  it('counts lines that cannot be written, goes on, and says so once they can', () => {
    const { pipe, output, lost } = stage(1_000);
    pipe.failure = 'ENOSPC';
    output.write('one\n');
    output.write('two\nand three\n');
    expect([output.droppedLines, lost]).toEqual([3, []]);
    pipe.failure = undefined;
    output.write('four\n');
    expect([pipe.text, lost]).toEqual(['four\n', [{ count: 3, reason: 'ENOSPC: no' }]]);
  });

  it('says so again only after ten seconds, with all that was lost since', async () => {
    const { pipe, output, lost, clock } = stage(1_000);
    const lose = (lines: number): void => {
      pipe.failure = 'ENOSPC';
      for (let i = 0; i < lines; i += 1) output.write('lost\n');
      pipe.failure = undefined;
      output.write('kept\n');
    };
    lose(1);
    lose(2);
    lose(3);
    expect(lost.map(({ count }) => count)).toEqual([1]);
    await clock.advanceMs(10_000);
    output.write('kept\n');
    expect(lost.map(({ count }) => count)).toEqual([1, 5]);
  });

  it('begins a new line after one that broke off', async () => {
    const { pipe, output } = stage(6);
    output.write('begun but\n');
    pipe.failure = 'ENOSPC';
    pipe.unreadBytes = 0;
    output.write('lost\n');
    await output.flush(50);
    pipe.failure = undefined;
    output.write('new\n');
    expect(pipe.text).toBe('begun \nnew\n');
  });

  it('is flushed within a bound, and leaves no timer behind', async () => {
    const { pipe, output, clock } = stage(4);
    output.write('abc\n');
    output.write('def\n');
    let isWritten: boolean | undefined;
    const flushed = output.flush(1_000).then((is) => {
      isWritten = is;
    });
    await clock.advanceMs(999);
    expect(isWritten).toBeUndefined();
    await clock.advanceMs(1);
    await flushed;
    expect(isWritten).toBe(false);
    pipe.unreadBytes = 0;
    expect(await output.flush(1_000)).toBe(true);
    output.close();
    output.write('too late\n');
    expect([pipe.text, pipe.isClosed, clock.pendingTimers]).toEqual(['abc\ndef\n', true, 0]);
  });

  it('loses no line that it does not count, and keeps their order, however the reader behaves', async () => {
    const step = fc.oneof(
      fc.record({ does: fc.constant('write' as const), length: fc.integer({ min: 1, max: 40 }) }),
      fc.record({ does: fc.constant('read' as const) }),
      fc.record({ does: fc.constant('break' as const) }),
      fc.record({ does: fc.constant('fix' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { pipe, output, read } = stage(64, 100);
        let written = 0;
        for (const one of steps) {
          if (one.does === 'write') {
            written += 1;
            output.write(`${String(written).padStart(3, '0')}${'x'.repeat(one.length)}\n`);
          }
          if (one.does === 'read') await read();
          if (one.does === 'break') pipe.failure = 'EIO';
          if (one.does === 'fix') pipe.failure = undefined;
        }
        pipe.failure = undefined;
        for (let i = 0; i < 10; i += 1) await read();
        const whole = pipe.text.split('\n').filter((line) => /^\d{3}x+$/.test(line));
        const numbers = whole.map((line) => Number(line.slice(0, 3)));
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
        // A line that broke off is counted although a part of it can be read.
        expect(new Set(numbers).size + output.droppedLines).toBeGreaterThanOrEqual(written);
        output.close();
      }),
    );
  });
});
