/**
 * Lets the event loop turn so often. What happens in this process, over loopback sockets too, has happened after a few
 * turns; what another process or thread does has to be waited for by its effect.
 */
export async function turns(count = 1): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits until something holds, looking at every turn of the event loop. The test's own time-out bounds it. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turns();
}
