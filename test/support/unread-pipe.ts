import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A real pipe of the system, full from the start, that nobody reads until a test does. */
export class UnreadPipe {
  /** For a program's standard streams: a write to it waits. */
  readonly fd: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'kv-accord-pipe-'));
  readonly #reader: number;
  readonly #filledBytes: number;

  constructor() {
    const path = join(this.#folder, 'pipe');
    execFileSync('mkfifo', [path]);
    this.#reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    this.fd = openSync(path, constants.O_WRONLY);
    const filler = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    this.#filledBytes = fillUp(filler);
    closeSync(filler);
  }

  /** Reads what it was filled with, and nothing that a program writes meanwhile. */
  readFilling(): string {
    const buffer = Buffer.alloc(this.#filledBytes);
    return buffer.toString('utf8', 0, readSync(this.#reader, buffer));
  }

  /** Reads what it holds now. */
  read(): string {
    const buffer = Buffer.alloc(256 * 1024);
    let text = '';
    for (;;) {
      let count: number;
      try {
        count = readSync(this.#reader, buffer);
      } catch {
        return text;
      }
      if (count === 0) return text;
      text += buffer.toString('utf8', 0, count);
    }
  }

  close(): void {
    closeSync(this.fd);
    closeSync(this.#reader);
    rmSync(this.#folder, { recursive: true });
  }
}

/** Writes until nothing more fits; returns how many bytes did. */
function fillUp(fd: number): number {
  let bytes = 0;
  // In whole pages, then one by one: a pipe is full only when not one byte fits.
  for (const piece of [Buffer.alloc(4096, 'x'), Buffer.from('x')]) {
    try {
      for (;;) bytes += writeSync(fd, piece);
    } catch {
      // Full.
    }
  }
  return bytes;
}
