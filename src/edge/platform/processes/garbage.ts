import { setFlagsFromString } from 'node:v8';

/** Known to V8 11.3 to 13.6, the ones of Node 20 to 24. @internal */
export const FLAGS: readonly string[] = ['--heap-growing-percent=200', '--no-parallel-scavenge'];

/**
 * Has V8 collect garbage in this process as suits one that large bodies pass
 * through.
 *
 * Node's buffers are outside of V8's heap. V8 adds them up, also those that
 * nobody has any more, and marks the whole heap when they come to more than the
 * heap may grow by: 8 MiB where it is small, which is a dozen prompts of
 * 100 KB. That was half of a picker's processor time. Where the heap may grow
 * to three times of what lives in it, buffers go before that, with the young
 * objects that had them. V8 lets a busy heap grow to four times by itself; the
 * bound of the whole heap stays.
 *
 * Young objects that live are few here: threads that look for them together
 * spend more on waiting for each other than one spends on all of them.
 */
export function collectForBodies(): void {
  for (const flag of FLAGS) setFlagsFromString(flag);
}
