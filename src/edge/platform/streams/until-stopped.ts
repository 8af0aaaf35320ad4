import { onAbort } from '../time/on-abort.js';

/** The pieces until the signal aborts, even while the next one is waited for. */
export async function* untilStopped(
  pieces: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  if (signal === undefined) {
    yield* pieces;
    return;
  }
  const iterator = pieces[Symbol.asyncIterator]();
  let stop = (): void => undefined;
  const leave = onAbort(signal, () => stop());
  try {
    while (!signal.aborted) {
      // A promise of its own for each piece: one for all would hold on to every piece that ever raced with it.
      const next = await new Promise<IteratorResult<Uint8Array> | undefined>((resolve, reject) => {
        stop = () => resolve(undefined);
        iterator.next().then(resolve, reject);
      });
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    leave();
    // A source that waits for its next bytes is closed when they come, or with the process.
    iterator.return?.()?.catch(() => undefined);
  }
}
