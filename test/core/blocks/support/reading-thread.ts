/** What a thread does that looks up while another one changes the index: bundled and run by its test. */
import { parentPort, workerData } from 'node:worker_threads';
import {
  PrefixIndexReader,
  type SharedPrefixIndex,
} from '../../../../src/core/blocks/prefix-index-reader.js';

/** What the thread is given. */
export interface ReadingTask {
  readonly shared: SharedPrefixIndex;
  /** Blocks that `steady` always holds, and `toggled` all together or not at all. */
  readonly sequenceHashes: Uint8Array;
  readonly steady: number;
  readonly toggled: number;
  /** Two words: not zero to stop; look-ups so far. */
  readonly control: Int32Array;
}

/** What the thread saw. */
export interface ReadingReport {
  readonly withToggled: number;
  readonly withoutToggled: number;
  /** Answers that were never true; of these the first few. */
  readonly wrong: readonly string[];
}

const { shared, sequenceHashes, steady, toggled, control } = workerData as ReadingTask;
const reader = new PrefixIndexReader(shared);
const depth = sequenceHashes.length / 8;
const wrong: string[] = [];
let withToggled = 0;
let withoutToggled = 0;
while (Atomics.load(control, 0) === 0) {
  const { count, holders, depths } = reader.find(sequenceHashes, 'external');
  const answer = new Map(Array.from({ length: count }, (_, at) => [holders[at], depths[at]]));
  const isRight =
    answer.size === count &&
    answer.get(steady) === depth &&
    count === (answer.get(toggled) === depth ? 2 : 1);
  if (!isRight) {
    if (wrong.length < 5) wrong.push(JSON.stringify([...answer]));
  } else if (count === 2) withToggled += 1;
  else withoutToggled += 1;
  Atomics.add(control, 1, 1);
}
const report: ReadingReport = { withToggled, withoutToggled, wrong };
parentPort?.postMessage(report);
