import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { LEVEL_WORD, oneOf } from './error-level.js';
import { goesOnBelow } from './general/parser-errors.js';

/** Lines between two parts of one message: empty ones, and those of other processes. */
const MAX_GAP_LINES = 3;
/** The same with the lines of other programs that stand between. */
const MAX_MIXED_LINES = 60;
/** The longest line that is looked at as one without a message. */
const MAX_HEADER_CHARS = 200;
/** Lines of a message that are kept behind the first. */
const MAX_PARTS = 8;
/** Lines by which a sentence that was cut at the edge of a page may go on. */
const MAX_WRAPPED = 3;
/** A line that is cut at such an edge is long, and ends within a sentence. */
const MIN_WRAPPED_CHARS = 36;
/** Below a shorter one stands something else, unless a rule knows both as one sentence. */
const MIN_PAGE_CHARS = 72;
const ENDED = /[.!?)\]}>"'`]\s*$/;
/** A time or a level near the beginning: of another record, also behind names that are not taken off. */
const HAS_RECORD =
  /(?:^|\s)(?:[IWEF]\d{4} \d\d:\d\d|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:|(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b)/;
const HEAD_CHARS = 120;

/** Where the level stands that a line begins with, behind times and names: `ERROR`, `[E]`, `E0613`, `Error:`. */
const LEVEL = oneOf(
  LEVEL_WORD,
  /(?:^|[\s\])|])[EF]\d{4}(?:\d{4})? (?=[\d:.\s]{0,40}[\w-]{1,60}\.\w{1,4}:\d)|^\s{0,8}Error(?=:\s{0,8}$)/,
);
/** What programs put between a level and the message: times, ids of threads, places in their source, names of modules, and signs between them. */
const NO_WORDS =
  /^(?:[\s\])|:>-]{1,200}|\[[\w.:/-]{1,80}\]|[\w./-]{1,120}\.\w{1,4}:\d{1,7}|\w{1,60}(?:(?:\.|::)\w{1,60}){1,8}(?::[\w<>.]{1,60}){0,2}(?=[\s:|\]-]|$)|\d[\d:.,/TZ+-]{0,60}|root\b|Stack ?trace(?=:\s{0,8}$))/i;
const MAX_NO_WORDS = 24;
/** The beginning of another message. */
const RECORD =
  /^(?:\([^()]{1,80}\) ?){0,4}\[?(?:\d{4}[-/]\d\d[-/]\d\d|\d\d\/\d\d\/\d{4}|(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b|[IWEFD]\d{4}[ \d]|[IWED]\]|level=|time=|TensorRT-LLM\])|^\s{1,8}File "/;
const TRACEBACK = /Traceback \(most recent call last\)/;
/** Whose line it is, which the first has too: `(EngineCore_0 pid=7) `. */
const WRITERS = /^(?:\([^()]{1,80}\) ?){1,4}/;
/** A value of Rust that is written over several lines, `Error: Disconnected {`, and what pydantic, Helm and viper list below. */
const OPENING =
  /[\w:"')] ?[{([]\s*$|validation errors? for \w{1,80}\s*$|in the following chart\(s\):\s*$|error\(s\) decoding:\s*$/;
const CLOSING = /^[})\]]/;
/** What an argument takes, or which ones are meant: `[possible values: a, b]`, `--model <MODEL>`. */
const CHOICES = /\[possible values: |^[^<>]{0,40}\s--[a-z]/;
/** Reasons that Rust writes below an error, the last of which is the first that happened. */
const REASONS = /^\s{0,8}Caused by:?\s*$/;

interface Open {
  readonly line: LogLine;
  readonly parts: string[];
  /** Lines below by which its sentence may go on. */
  readonly wrapped: string[];
  /** What the next line may be: the message itself, more of a value, reasons below it; `rest` where it may only go on with reasons. */
  awaits: 'message' | 'value' | 'choices' | 'reasons' | 'rest';
  /** Lines since the last part: those of the program, and all. */
  gap: number;
  mixedGap: number;
}

/** What is made of an error once its message is whole, before the next one begins. */
export interface SpreadHandlers {
  /** `goesOn` where lines of something else stand right below it. */
  readonly onError: (line: LogLine, text: string, goesOn: boolean) => void;
  /** It stands above a traceback, whose exception says what happened. */
  readonly onHeading: (line: LogLine) => void;
  /** Whether a rule makes something of its text with the lines below, which may be the rest of its sentence or of something else. */
  readonly isKnown: (line: LogLine, text: string) => boolean;
}

/**
 * Joins an error with the lines below it in which its message stands or goes on:
 * a message that begins with a line feed, a value over several lines, reasons.
 * What is left without a message says nothing. Bounded, whatever the log has.
 */
export class SpreadErrors {
  readonly #handlers: SpreadHandlers;
  #open: Open | undefined;

  constructor(handlers: SpreadHandlers) {
    this.#handlers = handlers;
  }

  /** Whether the next line may belong to an error. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** A line at error level. */
  add(line: LogLine): void {
    this.finish();
    const text = line.text.trimEnd();
    const awaits = isBare(text)
      ? 'message'
      : OPENING.test(text)
        ? 'value'
        : goesOnBelow(text)
          ? 'choices'
          : 'rest';
    this.#open = { line, parts: [], wrapped: [], awaits, gap: 0, mixedGap: 0 };
  }

  /** The line after it, whatever it is. Says whether it belongs to the error. */
  follow({ text, fields, who }: LogLine): boolean {
    const open = this.#open;
    if (open === undefined) return false;
    open.mixedGap += 1;
    if (who !== open.line.who) {
      if (open.mixedGap > MAX_MIXED_LINES) this.finish();
      return false;
    }
    open.gap += 1;
    if (TRACEBACK.test(text)) {
      this.#open = undefined;
      this.#handlers.onHeading(open.line);
      return false;
    }
    const isOther = fields !== undefined || RECORD.test(text);
    if (isOther || open.gap > MAX_GAP_LINES) {
      this.finish();
      return false;
    }
    const isPart = text.trim() !== '' && this.#isPart(open, text);
    if (isPart) {
      open.gap = 0;
      open.mixedGap = 0;
    }
    return isPart;
  }

  /** The last one is no error that nobody understood. */
  drop(): void {
    this.#open = undefined;
  }

  /** The log has no more of the last one. */
  finish(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || open.awaits === 'message') return;
    const { line, parts, wrapped } = open;
    const text = [line.text.trimEnd(), ...parts].join(' ');
    const isKnown = wrapped.length > 0 && this.#handlers.isKnown(line, [text, ...wrapped].join(' '));
    if (!isKnown) this.#handlers.onError(line, text, wrapped.length > 0 && text.length < MIN_PAGE_CHARS);
  }

  #isPart(open: Open, text: string): boolean {
    if (open.parts.length === MAX_PARTS) return false;
    if (open.awaits === 'rest' && REASONS.test(text)) open.awaits = 'reasons';
    else if (open.awaits === 'choices' && CHOICES.test(text)) open.awaits = 'rest';
    else if (open.awaits === 'rest' && isCut(open) && !HAS_RECORD.test(text.slice(0, HEAD_CHARS))) {
      open.wrapped.push(text.trim());
      open.gap = 0;
      return false;
    } else if (
      open.awaits === 'rest' ||
      open.awaits === 'choices' ||
      (open.awaits === 'reasons' && !/^\s{2,}\S/.test(text))
    ) {
      this.finish();
      return false;
    } else if (open.awaits === 'message' || (open.awaits === 'value' && CLOSING.test(text)))
      open.awaits = 'rest';
    open.parts.push(text.replace(WRITERS, '').trim());
    return true;
  }
}

/** Whether the last line of an error ends within a sentence. */
function isCut({ line, parts, wrapped }: Open): boolean {
  if (parts.length > 0 || wrapped.length === MAX_WRAPPED) return false;
  const last = wrapped.at(-1) ?? line.text;
  return last.trimEnd().length >= MIN_WRAPPED_CHARS && !ENDED.test(last);
}

/** Whether a line has a level and no message. */
function isBare(text: string): boolean {
  return text.length <= MAX_HEADER_CHARS && messageStart(text) === text.length;
}

/** Where the message of a line at error level begins; -1 for a line without a level. */
function messageStart(text: string): number {
  const level = LEVEL.exec(text.slice(0, MAX_HEADER_CHARS));
  if (level === null) return -1;
  let at = level.index + level[0].length;
  for (let count = 0; count < MAX_NO_WORDS && at < text.length; count += 1) {
    const part = NO_WORDS.exec(text.slice(at, at + MAX_HEADER_CHARS))?.[0];
    if (part === undefined) break;
    at += part.length;
  }
  return at;
}

/** Behind a message, where LMCache writes the place of a line: ` (config.py:1045:lmcache.v1.config)`. */
const PLACE_BEHIND = / \([\w.]{1,60}\.py:\d{1,6}:[\w.]{1,160}\)\s*$/;
/** The error of a line of klog: `"error on selecting target pod" err="…" requestID="1a"`. */
const ERROR_OF_KLOG = /\berr(?:or)?="((?:[^"\\]|\\.){3,1000})"/;
/** A setting with its path, which has the form of a module: "kv_cache_config.dtype must be …". */
const SETTING_AT_END =
  /(?:^|[\s\])|:])((?:[a-z]\w{0,60}\.)?[a-z]{1,30}_\w{1,60}(?:\.\w{1,60}){0,3}) $|-{1,2}$/;

/** What a line at error level says, without its level, times, places and names; the error alone where that is a field of its own. */
export function messageOf({ fields }: LogLine, text: string): string {
  const error = fields?.['error'] ?? fields?.['err'];
  if (typeof error === 'string') return error;
  const start = Math.max(messageStart(text), 0);
  const cut = SETTING_AT_END.exec(text.slice(0, start));
  const message = `${cut?.[0].trimStart() ?? ''}${text.slice(start)}`.replace(PLACE_BEHIND, '');
  return ERROR_OF_KLOG.exec(message)?.[1]?.replaceAll('\\"', '"') ?? message;
}
