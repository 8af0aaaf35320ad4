import { isAscii, isUtf8 } from 'node:buffer';
import type { LogLine, LogRecord } from '../../../engines/diagnosis/log-line.js';
import type { LogRule } from '../../../engines/diagnosis/log-rule.js';
import { type CleaningContext, type CleanLine, cleanLine } from './clean-line.js';
import { ColouredBytes, ESCAPE, haveBareColours, withoutBareColours } from './colours.js';
import { ErrorMarks, isError } from './error-level.js';
import { isUsualOfStore } from './general/store-faults.js';
import { MAX_LINE_BYTES } from './line-blocks.js';
import type { LogKnowledge } from './log-knowledge.js';
import type { LogProgram } from './log-summary.js';
import type { LogTally } from './log-tally.js';
import { PROMPT_SIGNS } from './masking.js';
import { NeedleSearch } from './needle-search.js';
import { RuleHits } from './rule-hits.js';

const LINE_FEED = 10;
/**
 * Lines from the start that are looked at whether or not a rule is for them; afterwards one in `SAMPLE_EVERY`, in a long log fewer. The
 * program of as many lines is counted that a rule is for: one that writes little among lines of another is seen, too.
 */
const SAMPLED_AT_START = 1_000;
const SAMPLE_EVERY = 64;
const LONG_LOG_LINES = 65_536;
const SAMPLE_LONG_EVERY = 1_024;

/** Errors whose sentences are read again with the lines below them. */
const MAX_READ_AGAIN = 200;

/** Blocks from which on the search is tuned by what the log is of: a log of one block is read sooner than that is done. */
const FIRST_TUNING = 2;
/** How many times as many blocks come before it is tuned again: a log begins with other lines than it goes on with. */
const TUNING_FACTOR = 8;
/** Bytes of a block that it is tuned by. */
const SAMPLE_BYTES = 131_072;

const PROMPTS = new NeedleSearch(PROMPT_SIGNS);

/** Reads blocks of whole lines. Only lines that a rule is for, and a sample of the others, are decoded. */
export class LineReader {
  readonly programs: Map<LogProgram, number> = new Map();
  lines = 0;
  unreadableLines = 0;
  cutLines = 0;
  firstMs: number | undefined;
  lastMs: number | undefined;
  /** Whether times of any line have no zone. */
  hasNoZone = false;
  readonly #tally: LogTally;
  readonly #context: CleaningContext;
  readonly #knowledge: LogKnowledge;
  /** Time of the last line that had one. */
  #ms: number | undefined;
  #isUnzoned = false;
  #readingsLeft = MAX_READ_AGAIN;
  #textNeedles: NeedleSearch | undefined;
  /** Lines that a rule was for. */
  #sought = 0;
  #needles: NeedleSearch;
  #blocks = 0;
  /** The block by which the search is tuned next. */
  #nextTuning = FIRST_TUNING;
  /** Rules that the line is for. */
  readonly #hits = new RuleHits();

  constructor(tally: LogTally, context: CleaningContext, knowledge: LogKnowledge) {
    this.#tally = tally;
    this.#context = context;
    this.#knowledge = knowledge;
    this.#needles = knowledge.needles;
  }

  /** `bytes` are whole lines; the last one may lack its line feed. */
  read(bytes: Buffer): void {
    this.#blocks += 1;
    if (this.#blocks === this.#nextTuning) {
      this.#nextTuning *= TUNING_FACTOR;
      this.#needles = this.#knowledge.needlesFor(bytes.subarray(0, SAMPLE_BYTES));
    }
    const needles = this.#needles;
    const hits = this.#hits;
    const isText = isUtf8(bytes) && !bytes.includes(0);
    const isPlain = isText && isAscii(bytes);
    const coloured = bytes.includes(ESCAPE) ? new ColouredBytes(bytes) : undefined;
    const isBare = coloured === undefined && haveBareColours(bytes);
    const marks = new ErrorMarks(bytes);
    let at = needles.next(bytes, 0, bytes.length);
    for (let start = 0; start < bytes.length; ) {
      const found = bytes.indexOf(LINE_FEED, start);
      const next = found === -1 ? bytes.length : found + 1;
      const lineEnd = found === -1 ? bytes.length : found;
      this.lines += 1;
      const isCut = lineEnd - start > MAX_LINE_BYTES;
      if (isCut) this.cutLines += 1;
      const end = isCut ? start + MAX_LINE_BYTES : lineEnd;
      if (!isText && !isCut && !isReadable(bytes.subarray(start, end))) this.unreadableLines += 1;
      hits.clear();
      for (; at < next; at = needles.next(bytes, at + 1, bytes.length)) {
        for (const index of needles.found) {
          const hit = needles.startOf(index, at);
          if (hit < end) hits.add(index, hit);
        }
      }
      // What is found behind the beginning of a prompt is the text of a user.
      if (hits.count > 0 && PROMPTS.next(bytes, start, hits.first) < hits.first) hits.clear();
      if (hits.count > 0) this.#sought += 1;
      const isForRules = hits.count > 0 || this.#tally.isWithinTraceback;
      if (isForRules || this.#maybeError(marks, start, end) || this.#isSampled()) {
        const encoding = isPlain ? 'latin1' : 'utf8';
        const text = coloured?.textWithout(start, end, encoding) ?? bytes.toString(encoding, start, end);
        const clean = this.#clean(isBare ? withoutBareColours(text) : text);
        // What a rule makes something of is not looked at as an error.
        if (!(isForRules && this.#isUnderstood(clean)) && this.#maybeError(marks, start, end))
          this.#addIfError(clean);
      }
      start = next;
    }
  }

  #isSampled(): boolean {
    const { lines } = this;
    return (
      lines <= SAMPLED_AT_START || lines % (lines <= LONG_LOG_LINES ? SAMPLE_EVERY : SAMPLE_LONG_EVERY) === 0
    );
  }

  #maybeError(marks: ErrorMarks, start: number, end: number): boolean {
    return this.#tally.countsUnexplained && marks.isIn(start, end);
  }

  #clean(raw: string): CleanLine {
    const { gaps } = this.#context;
    gaps.hasNoZone = false;
    const clean = cleanLine(raw.endsWith('\r') ? raw.slice(0, -1) : raw, this.#context);
    const { ms } = clean;
    if (ms !== undefined) {
      this.#ms = ms;
      this.#isUnzoned = gaps.hasNoZone;
      this.hasNoZone ||= gaps.hasNoZone;
      if (this.firstMs === undefined || ms < this.firstMs) this.firstMs = ms;
      if (this.lastMs === undefined || ms > this.lastMs) this.lastMs = ms;
    }
    if (this.#sought <= SAMPLED_AT_START || this.#isSampled()) {
      const program = this.#knowledge.programOf(clean);
      this.programs.set(program, (this.programs.get(program) ?? 0) + 1);
    }
    return clean;
  }

  /** Reads a line by its rules, and says whether they made anything of it. */
  #isUnderstood(clean: CleanLine): boolean {
    const { found, isWithinTraceback } = this.#tally;
    const line = new SeenLine(this.lines, clean, this.#ms, this.#isUnzoned);
    this.#read(line, true);
    if (isWithinTraceback) this.#tally.follow(line);
    this.#read(line, false);
    return this.#tally.found !== found;
  }

  #addIfError(clean: CleanLine): void {
    if (isError(clean) && !isUsualOfStore(clean.text))
      this.#tally.addUnexplained(new SeenLine(this.lines, clean, this.#ms, this.#isUnzoned));
  }

  /** Reads a line with the rest of its sentence, which stands in lines of its own, and says whether rules made anything of it. */
  readAgain(line: LogLine, text: string): boolean {
    if (this.#readingsLeft === 0) return false;
    this.#readingsLeft -= 1;
    // Its own: the search through the block goes on behind the line.
    this.#textNeedles ??= this.#knowledge.needlesFor(undefined);
    const needles = this.#textNeedles;
    // What stands behind the beginning of a prompt is the text of a user.
    const all = Buffer.from(text);
    const bytes = all.subarray(0, PROMPTS.next(all, 0, all.length));
    const hits = new RuleHits();
    for (
      let at = needles.next(bytes, 0, bytes.length);
      at < bytes.length;
      at = needles.next(bytes, at + 1, bytes.length)
    )
      for (const index of needles.found) hits.add(index, needles.startOf(index, at));
    const { found } = this.#tally;
    const whole = { ...line, text: bytes.toString(), fields: undefined, record: undefined };
    for (const comesFirst of [true, false]) this.#readBy(hits, whole, comesFirst);
    return this.#tally.found !== found;
  }

  /** By the rules that come before what follows a traceback, or by the others. */
  #read(line: LogLine, comesFirst: boolean): void {
    this.#readBy(this.#hits, line, comesFirst);
  }

  #readBy(hits: RuleHits, line: LogLine, comesFirst: boolean): void {
    const { rules } = this.#knowledge;
    for (let place = 0; place < hits.count; place += 1) {
      const rule = rules[hits.at(place)] as LogRule;
      if ((rule.comesFirst === true) === comesFirst) rule.read(line, this.#tally);
    }
  }
}

/** A cleaned line with its place; its time may be that of a line before it. */
class SeenLine implements LogLine {
  readonly lineNumber: number;
  readonly ms: number | undefined;
  readonly isUnzoned: boolean;
  readonly who: string;
  readonly record: LogRecord | undefined;
  readonly #clean: CleanLine;

  constructor(lineNumber: number, clean: CleanLine, ms: number | undefined, isUnzoned: boolean) {
    this.lineNumber = lineNumber;
    this.ms = ms;
    this.isUnzoned = isUnzoned;
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
