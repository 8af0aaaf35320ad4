import { closeSync, constants, fstatSync, openSync, readFileSync, write, writeSync } from 'node:fs';

/**
 * Takes bytes for one descriptor and never holds up the process. `onDone` gets
 * how many were taken, or the system's error; `EAGAIN` means that nothing can
 * be taken now. It is called before `write` returns, or later.
 */
export interface DescriptorSink {
  write(bytes: Uint8Array, onDone: (error: NodeJS.ErrnoException | undefined, written: number) => void): void;
  /** Whether a write that has not ended may never end, because it waits for a reader. */
  readonly mayHang: boolean;
  /** Gives up what it opened. */
  close(): void;
}

/**
 * Opens a sink for a descriptor that this process was started with.
 *
 * A write to a pipe or terminal that is not read waits for ever, and Node
 * cannot end a process while one of its threads waits (seen on 20.20:
 * `process.exit` hangs). So pipes and terminals are opened once more through
 * `/proc`, which makes a file description of our own: it alone is set not to
 * wait, and others who share the pipe notice nothing.
 */
export function openDescriptorSink(fd: number): DescriptorSink {
  let isFile = false;
  try {
    // As bigints: after a plain look at a pipe, Node 20.20 leaves symbolic links in the paths of modules, and takes a package that
    // is linked into node_modules for two (pnpm, `npm link`).
    const stat = fstatSync(fd, { bigint: true });
    isFile = stat.isFile();
    // A regular file would get a second position, and two writers would overwrite each other.
    if (stat.isFIFO() || stat.isCharacterDevice()) {
      const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
      const own = openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
      return { mayHang: false, write: writeNow(own), close: () => closeSync(own) };
    }
  } catch {
    // Not Linux, no /proc, another user's pipe, or a pipe without a reader: the descriptor itself serves.
  }
  const now = writeNow(fd);
  return {
    mayHang: !isFile,
    // Where it might wait, a thread of Node's pool waits in place of the process.
    write: (bytes, onDone) => {
      if (!isFile && isNonBlocking(fd)) now(bytes, onDone);
      else write(fd, bytes, 0, bytes.length, null, (error, written) => onDone(error ?? undefined, written));
    },
    close: () => undefined,
  };
}

function writeNow(fd: number): DescriptorSink['write'] {
  return (bytes, onDone) => {
    let written: number;
    try {
      written = writeSync(fd, bytes);
    } catch (error) {
      onDone(error as NodeJS.ErrnoException, 0);
      return;
    }
    onDone(undefined, written);
  };
}

/** Whether writes to it fail rather than wait: a program that shares the description can change that at any time. */
function isNonBlocking(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & constants.O_NONBLOCK) !== 0;
  } catch {
    // Not Linux: a thread of Node's pool writes, as to one whose writes wait.
    return false;
  }
}
