import { readFileSync } from 'node:fs';
import type { Key } from 'node:readline';
import { hasUnprintable } from '../../../core/text/printable.js';
import { listenForSignals } from '../processes/process-signals.js';

/**
 * Reads the keys of a person at the terminal, one by one and without showing
 * them. `onKey` gets Node's names, `up`, `pagedown`, `q`, with `shift+` before
 * them where it was held; `onReturn` is called when the person comes back to a
 * program that was stopped. What comes back ends it. Undefined where standard
 * input is no terminal, or that of a program in the foreground: then nothing is
 * changed.
 */
export type OpenKeys = (onKey: (name: string) => void, onReturn: () => void) => (() => void) | undefined;

/** What the terminal sends as a signal while it does not read key by key. */
const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = { c: 'SIGINT', z: 'SIGTSTP', '\\': 'SIGQUIT' };

/** The keys of this process's terminal. */
export const openTerminalKeys: OpenKeys = (onKey, onReturn) => {
  const { stdin } = process;
  if (!stdin.isTTY || !isInForeground() || !setRaw(true)) return undefined;
  const onKeypress = (text: string | undefined, key: Key): void => {
    const signal = key.ctrl === true ? SIGNALS[key.name ?? ''] : undefined;
    if (signal !== undefined) {
      if (signal !== 'SIGINT') setRaw(false);
      // As the terminal does it: the whole foreground group.
      process.kill(0, signal);
    } else if (key.ctrl !== true) {
      // Signs such as a slash have no name: they stand for themselves.
      if (key.name !== undefined) onKey(`${key.shift ? 'shift+' : ''}${key.name}`);
      else if (text !== undefined && text.length === 1 && !hasUnprintable(text)) onKey(text);
    }
  };
  const unlisten = listenForSignals(['SIGCONT'], () => {
    // The shell has set the terminal as it likes it.
    setRaw(false);
    if (isInForeground() && setRaw(true)) onReturn();
  });
  const ignore = (): void => undefined;
  // Loaded here, because every start of the program would pay for it.
  process.getBuiltinModule('node:readline').emitKeypressEvents(stdin);
  stdin.on('keypress', onKeypress).on('error', ignore).resume();
  return () => {
    unlisten();
    stdin.off('keypress', onKeypress).pause();
    setRaw(false);
  };
};

/** False when the terminal refuses, as one that has gone does. */
function setRaw(isRaw: boolean): boolean {
  try {
    process.stdin.setRawMode(isRaw);
    return true;
  } catch {
    // The program goes on without keys.
    return false;
  }
}

/**
 * Whether this process may change its terminal: one in the background is
 * stopped when it tries. Group and foreground group are fields 5 and 8 of
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html; other systems are
 * taken to be in the foreground.
 */
function isInForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1');
    // After the name, which may have spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[2] === fields[5];
  } catch {
    // Not Linux.
    return true;
  }
}
