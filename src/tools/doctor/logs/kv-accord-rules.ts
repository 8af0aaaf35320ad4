import { numberOf, sizeOf } from '../../../engines/diagnosis/log-fields.js';
import type { LogFindings } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';

/** Lines of this product's own processes, as JSON and as text. Their sentences are those of the agreement's rules. */
export const KV_ACCORD_RULES: readonly LogRule[] = [
  // "Selected worker: worker-0 (10.0.0.1:50061) (cached_blocks: 3 of 40, mode: kv, exact, logit: 37.0)", or the address alone.
  rule(' (cached_blocks: ', (line, tally) => {
    const found =
      /Selected worker: (\S{1,253})(?: \(\S{1,253}\))? \(cached_blocks: (\d{1,12}) of \d{1,12}, /.exec(
        line.text,
      );
    if (found === null) return;
    const [, worker = '', cached] = found;
    tally.addDecision('selected', line, { worker, cachedBlocks: numberOf(cached), treeSize: undefined });
  }),
  rule('Auto-configured KV block size to ', (line, tally) => {
    const size = /block size to (\d{1,20})(?!\d)/.exec(line.text)?.[1];
    const about = 'Auto-configured';
    const who = groupOf(line);
    tally.addSize(line, { side: 'router', who, tokensPerBlock: sizeOf(size), basis: 'in_use', about });
  }),
  rule('(from the explicit override)', (line, tally) => {
    const size = /Using KV block size (\d{1,20}) \(from the explicit override\)/.exec(line.text)?.[1];
    const about = 'Using KV block size';
    const who = groupOf(line);
    tally.addSize(line, { side: 'router', who, tokensPerBlock: sizeOf(size), basis: 'configured', about });
  }),
  // V3: "Frontend KV block size (16) does not match worker block size (32)."
  rule('does not match worker block size', (line, tally) => {
    const [, ours, theirs] =
      /Frontend KV block size \((\d{1,20})\) does not match worker block size \((\d{1,20})\)/.exec(
        line.text,
      ) ?? [];
    if (ours === undefined) return;
    const about = 'Frontend KV block size';
    const worker = workerOf(line);
    tally.addSignal('accord_mismatch', line, { worker, value: `${ours} -> ${theirs}`, about });
    tally.addSize(line, {
      side: 'frontend',
      who: groupOf(line),
      tokensPerBlock: sizeOf(ours),
      basis: 'in_use',
      about,
    });
    tally.addSize(line, {
      side: 'worker',
      who: worker,
      tokensPerBlock: sizeOf(theirs),
      basis: 'in_use',
      about,
    });
  }),
  rule(' disagree on the ', (line, tally) => {
    const what = /Workers of ".{0,300}?" disagree on the (tokens of )?/.exec(line.text);
    if (what === null) return;
    const sign = what[1] === undefined ? 'accord_conflict' : 'accord_tokens';
    tally.addSignal(sign, line, { worker: workerOf(line), about: ' disagree on the ' });
  }),
  // A13: "Worker w makes 41 tokens of the probe "message", token 7 at position 3, where …".
  signal(
    ' the probe "',
    'accord_tokens',
    /(?:makes .{1,100}?|engine of worker .{1,300}?) of the probe "|(?:refuses|takes) the probe "/,
  ),
  // V6, of the sidecar and of the aggregator.
  signal(
    ' are read at ',
    'accord_misread',
    /KV events (?:of rank \d{1,9} )?are read at .{1,700}? but (?:the|its) engine /,
  ),
  signal(' declare another KV block size than', 'accord_conflict', /Workers of ".{0,300}?" declare another/),
  // A6: "Worker w has KV block size (tokens_per_block) 64, the fleet agreed on 32 (…). It is quarantined …".
  rule(' the fleet agreed on ', (line, tally) => {
    const [, worker, theirs, ours] =
      /Worker (\S{1,253})(?: \(\S{1,253}\))? has KV block size \(tokens_per_block\) (\d{1,20}), the fleet agreed on (\d{1,20})/.exec(
        line.text,
      ) ?? [];
    if (worker === undefined) return;
    const about = 'has KV block size';
    tally.addSignal('accord_mismatch', line, { worker, value: `${ours} -> ${theirs}`, about });
    tally.addSize(line, {
      side: 'worker',
      who: worker,
      tokensPerBlock: sizeOf(theirs),
      basis: 'in_use',
      about,
    });
  }),
  // "Engine vllm 0.32.0 at http://… uses KV blocks of 32 tokens (engine_metrics: …)".
  rule(' KV blocks of ', (line, tally) => {
    const [, size, source] =
      /(?:cuts|uses) KV blocks of (\d{1,20}) tokens(?: \((\w+))?/.exec(line.text) ?? [];
    const basis = source === 'observed_event' ? 'observed' : source === 'declared' ? 'declared' : 'in_use';
    const about = 'uses KV blocks';
    tally.addSize(line, { side: 'worker', who: workerOf(line), tokensPerBlock: sizeOf(size), basis, about });
  }),
  // V4: "the engine uses a block size of 32 tokens (KV events of …: …), but FILE (declared) says 16; …".
  contradiction('the engine uses a block size of ', /the engine uses a block size of (\d{1,20}) tokens/),
  // The same in logs of versions before it was reworded.
  contradiction('the engine cuts blocks of ', /the engine cuts blocks of (\d{1,20}) tokens/),
  rule('The sidecar of worker ', (line, tally) => {
    if (!/The sidecar of worker \S{1,253}(?: \(\S{1,253}\))? is lost/.test(line.text)) return;
    tally.addSignal('worker_removed', line, { worker: workerOf(line), about: 'The sidecar of' });
  }),
  signal('kv-accord aggregator ', 'started', /kv-accord aggregator [\w.+-]+ watches /),
  signal('kv-accord frontend ', 'started', /kv-accord frontend [\w.+-]+ serves /),
  // P3: "No prefill worker of "m" can hand its KV blocks to a decode worker; the gate stays shut."
  rule('can hand its KV blocks to ', readRefusedPair),
  // P5: "Worker decode-1 can take KV blocks from no prefill worker of "m": dtype: bfloat16 (prefill-0) against float16 (decode-1)".
  rule('can take KV blocks from no ', readRefusedPair),
  // "pair prefill-0 → decode-1 is NVLink by topology and moved 0.4 GB/s in 50 transfers: is UCX using TCP?"
  rule(' by topology and moved ', (line, tally) => {
    const moved = /moved (\d{1,6}(?:\.\d{1,3})? [MG]B\/s)/.exec(line.text)?.[1];
    tally.addSignal('accord_transfer_slow', line, { value: moved, about: ' by topology and moved ' });
  }),
];

/** Which field of a pair differs, with the values of both. */
function readRefusedPair(line: LogLine, tally: LogFindings): void {
  const [, field, ours, theirs] =
    /([a-z][\w. ]{1,40}): (\S{1,80}) \([^,;\n]{1,300}?\) against (\S{1,80}) \(/.exec(line.text) ?? [];
  const value = field === undefined ? undefined : `${field}: ${ours} and ${theirs}`;
  tally.addSignal('transfer_refused', line, { worker: workerOf(line), value, about: ' KV blocks ' });
}

/** Whether a line of JSON is of this product's logger, whose levels are in small letters. */
export function isOwnRecord({ level, msg, time, ts }: Readonly<Record<string, unknown>>): boolean {
  return (
    typeof msg === 'string' && typeof time === 'string' && ts === undefined && /^[a-z]+$/.test(String(level))
  );
}

/** The size that the events show is the first group of `form`; the declared one follows it. */
function contradiction(needle: string, form: RegExp): LogRule {
  return rule(needle, (line, tally) => {
    const [, real] = form.exec(line.text) ?? [];
    const [, declared] = /, but .{0,500}?\(declared\) says (\d{1,20})(?!\d)/.exec(line.text) ?? [];
    const who = workerOf(line);
    const about = needle;
    tally.addSize(line, { side: 'worker', who, tokensPerBlock: sizeOf(real), basis: 'observed', about });
    tally.addSize(line, { side: 'worker', who, tokensPerBlock: sizeOf(declared), basis: 'declared', about });
  });
}

function signal(needle: string, sign: Signal, form: RegExp): LogRule {
  return rule(needle, (line, tally) => {
    if (form.test(line.text)) tally.addSignal(sign, line, { worker: workerOf(line), about: needle });
  });
}

function workerOf({ fields }: LogLine): string | undefined {
  const worker = fields?.['worker'] ?? fields?.['worker_id'];
  return typeof worker === 'string' ? worker : undefined;
}

function groupOf({ fields }: LogLine): string | undefined {
  const group = fields?.['group'];
  return typeof group === 'string' ? group : undefined;
}
