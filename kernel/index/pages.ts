// Pages of 16 KiB. What is given back is kept for the next who asks: memory of
// WebAssembly cannot shrink.
import { HEAP, PAGE, PAGE_BITS, RUNS_AT } from './layout';

/** Runs up to this length keep together when they are given back; longer ones fall into single pages. */
const LONGEST_RUN: u32 = 16;
/** Pages of 64 KiB by which the memory grows. */
const GROWTH: u32 = 16;

let next: u64 = HEAP;

/** The address of `count` pages side by side, with anything in them; 0 when there is no memory. */
export function takePages(count: u32): usize {
  if (count <= LONGEST_RUN) {
    const head = RUNS_AT + (count << 2);
    const free = load<u32>(head);
    if (free !== 0) {
      store<u32>(head, load<u32>(free));
      return free;
    }
  }
  const end = next + ((<u64>count) << PAGE_BITS);
  const have = (<u64>memory.size()) << 16;
  if (end > have) {
    const missing = <u32>((end - have + 65535) >> 16);
    if (memory.grow(max(missing, GROWTH)) < 0 && memory.grow(missing) < 0)
      return count === 1 ? takeFromRuns() : 0;
  }
  const taken = <u32>next;
  next = end;
  return taken;
}

/** A page out of a free run. */
function takeFromRuns(): usize {
  for (let length: u32 = 2; length <= LONGEST_RUN; length++) {
    const run = load<u32>(RUNS_AT + (length << 2));
    if (run === 0) continue;
    store<u32>(RUNS_AT + (length << 2), load<u32>(run));
    for (let at: u32 = 1; at < length; at++) giveBackPages(run + at * PAGE, 1);
    return run;
  }
  return 0;
}

export function giveBackPages(address: usize, count: u32): void {
  if (count > LONGEST_RUN) {
    for (let at: u32 = 0; at < count; at++) giveBackPages(address + at * PAGE, 1);
    return;
  }
  const head = RUNS_AT + (count << 2);
  store<u32>(address, load<u32>(head));
  store<u32>(head, address);
}
