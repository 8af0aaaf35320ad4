import { isAscii, isUtf8 } from 'node:buffer';
import type { LogLine, LogRecord } from '../../../engines/diagnosis/log-line.js';
import type { LogRule } from '../../../engines/diagnosis/log-rule.js';
import { type CleaningContext, type CleanLine, cleanLine } from './clean-line.js';
import { ErrorMarks, isError } from './error-level.js';
import { isUsualOfStore } from './general/store-faults.js';
import { MAX_LINE_BYTES } from './line-blocks.js';
import type { LogKnowledge } from './log-knowledge.js';
import type { LogProgram } from './log-summary.js';
import type { LogTally } from './log-tally.js';
import { PROMPT_SIGNS } from './masking.js';
import { NeedleSearch } from './needle-search.js';

const LINE_FEED = 10;
/** Lines from the start that are looked at whether or not a rule is for them; afterwards one in `SAMPLE_EVERY`. */
const SAMPLED_AT_START = 1_000;
const SAMPLE_EVERY = 64;

const PROMPTS = new NeedleSearch(PROMPT_SIGNS);

/** Reads blocks of whole lines. Only lines that a rule is for, and a sample of the others, are decoded. */
export class LineReader {
  readonly programs: Map<LogProgram, number> = new Map();
  lines = 0;
  unreadableLines = 0;
  cutLines = 0;
  firstMs: number | undefined;
  lastMs: number | undefined;
  readonly #tally: LogTally;
  readonly #context: CleaningContext;
  readonly #knowledge: LogKnowledge;
  /** Time of the last line that had one. */
  #ms: number | undefined;

  constructor(tally: LogTally, context: CleaningContext, knowledge: LogKnowledge) {
    this.#tally = tally;
    this.#context = context;
    this.#knowledge = knowledge;
  }

  /** `bytes` are whole lines; the last one may lack its line feed. */
  read(bytes: Buffer): void {
    const { needles, rules: known } = this.#knowledge;
    const isText = isUtf8(bytes) && !bytes.includes(0);
    const isPlain = isText && isAscii(bytes);
    const marks = new ErrorMarks(bytes);
    let hit = needles.next(bytes, 0, bytes.length);
    for (let start = 0; start < bytes.length; ) {
      const found = bytes.indexOf(LINE_FEED, start);
      const next = found === -1 ? bytes.length : found + 1;
      const lineEnd = found === -1 ? bytes.length : found;
      this.lines += 1;
      const isCut = lineEnd - start > MAX_LINE_BYTES;
      if (isCut) this.cutLines += 1;
      const end = isCut ? start + MAX_LINE_BYTES : lineEnd;
      if (!isText && !isCut && !isReadable(bytes.subarray(start, end))) this.unreadableLines += 1;
      let rules: LogRule[] | undefined;
      const firstHit = hit;
      for (; hit < next; hit = needles.next(bytes, hit + 1, bytes.length)) {
        if (hit >= end) continue;
        for (const index of needles.found) {
          const rule = known[index] as LogRule;
          if (rules === undefined) rules = [rule];
          else if (rules.includes(rule)) continue;
          else if (rule.comesFirst === true) rules.unshift(rule);
          else rules.push(rule);
        }
      }
      // What is found behind the beginning of a prompt is the text of a user.
      if (rules !== undefined && PROMPTS.next(bytes, start, firstHit) < firstHit) rules = undefined;
      const maybeError = this.#tally.countsUnread && marks.isIn(start, end);
      if (rules !== undefined || maybeError || this.#tally.isWithinTraceback || this.#isSampled()) {
        this.#look(bytes.toString(isPlain ? 'latin1' : 'utf8', start, end), rules, maybeError);
      }
      start = next;
    }
  }

  #isSampled(): boolean {
    return this.lines <= SAMPLED_AT_START || this.lines % SAMPLE_EVERY === 0;
  }

  #look(raw: string, rules: readonly LogRule[] | undefined, maybeError: boolean): void {
    const clean = cleanLine(raw.endsWith('\r') ? raw.slice(0, -1) : raw, this.#context);
    const { ms } = clean;
    if (ms !== undefined) {
      this.#ms = ms;
      if (this.firstMs === undefined || ms < this.firstMs) this.firstMs = ms;
      if (this.lastMs === undefined || ms > this.lastMs) this.lastMs = ms;
    }
    if (this.#isSampled()) {
      const program = this.#knowledge.programOf(clean);
      this.programs.set(program, (this.programs.get(program) ?? 0) + 1);
    }
    const { found, isWithinTraceback } = this.#tally;
    if (rules === undefined && !maybeError && !isWithinTraceback) return;
    const line = new SeenLine(this.lines, clean, this.#ms);
    for (const { read, comesFirst } of rules ?? []) if (comesFirst === true) read(line, this.#tally);
    if (isWithinTraceback) this.#tally.follow(line);
    for (const { read, comesFirst } of rules ?? []) if (comesFirst !== true) read(line, this.#tally);
    if (maybeError && this.#tally.found === found && isError(clean) && !isUsualOfStore(line.text))
      this.#tally.addUnread(line);
  }
}

/** A cleaned line with its place; its time may be that of a line before it. */
class SeenLine implements LogLine {
  readonly lineNumber: number;
  readonly ms: number | undefined;
  readonly who: string;
  readonly record: LogRecord | undefined;
  readonly #clean: CleanLine;

  constructor(lineNumber: number, clean: CleanLine, ms: number | undefined) {
    this.lineNumber = lineNumber;
    this.ms = ms;
    this.who = clean.who;
    this.record = clean.record;
    this.#clean = clean;
  }

  get text(): string {
    return this.#clean.text;
  }

  get fields(): Readonly<Record<string, unknown>> | undefined {
    return this.#clean.fields;
  }
}

function isReadable(line: Buffer): boolean {
  return isUtf8(line) && !line.includes(0);
}
