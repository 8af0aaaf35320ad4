import { exitSoon } from '../streams/standard-streams.js';

/**
 * Calls `onFault` with every error that was not caught, whether thrown or rejected, in
 * place of the platform's own end with a stack trace, and ends the process
 * with `code` once the log has been written, within its bound.
 */
export function exitOnFault(code: number, onFault: (error: unknown) => void): void {
  let isEnding = false;
  const end = (error: unknown): void => {
    // What follows from a fault says nothing new.
    if (isEnding) return;
    isEnding = true;
    try {
      onFault(error);
    } finally {
      void exitSoon(code);
    }
  };
  process.on('uncaughtException', end);
  process.on('unhandledRejection', end);
}
