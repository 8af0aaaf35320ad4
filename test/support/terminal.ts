import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Changes } from './changes.js';
import type { OpenThings } from './open-things.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** `script` of util-linux runs a command on a terminal of its own, and passes on what it is written. */
export const HAS_TERMINAL: boolean =
  spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') === true;

/** The built program on a terminal of its own. */
export class Terminal {
  readonly changes: Changes = new Changes();
  readonly child: ChildProcess;
  text = '';

  constructor(
    args: readonly string[],
    { open, rows, columns }: { readonly open: OpenThings; readonly rows: number; readonly columns: number },
  ) {
    const command = `stty rows ${rows} cols ${columns}; ${[process.execPath, MAIN, ...args].join(' ')}; echo "ended with $?, $(stty -a | grep -o -- '-\\?icanon')"`;
    this.child = spawn('script', ['-qfec', command, '/dev/null'], {
      env: { PATH: process.env['PATH'], TERM: 'xterm', SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child.stdout?.on('data', (bytes: Buffer) => {
      this.text += bytes.toString();
      this.changes.notify();
    });
    open.add(() => void this.child.kill('SIGKILL'));
  }

  /** The lines after the last `mark`, without the sequences of colours and of clearing. */
  screenAfter(mark: string): string[] {
    const last = this.text.split(mark).at(-1) ?? '';
    return last.split('\r\n').map(withoutSequences);
  }

  press(keys: string): void {
    this.child.stdin?.write(keys);
  }

  until(holds: () => boolean): Promise<void> {
    return this.changes.until(holds);
  }
}

/** A line without escape sequences. */
function withoutSequences(line: string): string {
  return line
    .split('\u001b[')
    .map((part, at) => (at === 0 ? part : part.replace(/^[?\d;]*[A-Za-z]/, '')))
    .join('');
}
