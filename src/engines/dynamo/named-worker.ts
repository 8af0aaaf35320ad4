import { fieldOf } from '../diagnosis/log-fields.js';
import { type LogRule, rule } from '../diagnosis/log-rule.js';
import type { Signal } from '../diagnosis/signals.js';

/** `worker_id=7`, `worker_id="7"`, `worker_id: 7`, `for worker 7`; undefined when the text names none. */
export function workerOf(text: string): string | undefined {
  return (
    fieldOf(text, 'worker_id') ??
    /(?:worker_id: |for worker |worker )(\d{1,20})\b/.exec(text)?.[1] ??
    undefined
  );
}

/** A line that is a sign by itself, of the worker that it names. */
export function sign(needle: string, name: Signal): LogRule {
  return rule(needle, (line, tally) =>
    tally.addSignal(name, line, { worker: workerOf(line.text), about: needle }),
  );
}
