import { useEffect, useState } from 'preact/hooks';
import { messageOf } from '../browser/ask.js';

/**
 * Asks the server when a view appears, and again whenever `key` changes. `ask` leaves its answer alone once `isWanted()` is
 * false. Comes back with why the last question failed; empty while it did not.
 */
export function useAsked(key: string, ask: (isWanted: () => boolean) => Promise<void>): string {
  const [problem, setProblem] = useState('');
  // The key stands for all that is asked for.
  useEffect(() => {
    let isWanted = true;
    ask(() => isWanted).then(
      () => {
        if (isWanted) setProblem('');
      },
      (error: unknown) => {
        if (isWanted) setProblem(messageOf(error));
      },
    );
    return () => {
      isWanted = false;
    };
  }, [key]);
  return problem;
}
