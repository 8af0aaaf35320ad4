import type { LogLine } from '../../../engines/diagnosis/log-line.js';

/** A place that a traceback goes through. */
export interface Frame {
  /** Of the file, from its package on: `vllm/v1/core/kv_cache_utils.py`. */
  readonly path: string;
  readonly place: string;
  /** The line of source below it; empty where the traceback has none. */
  source: string;
  /** A file that moves or keeps KV blocks. */
  readonly isOfCache: boolean;
}

/** A traceback through files that move or keep KV blocks, from the first of them on. */
export interface Traceback {
  /** The line of its first frame that counts. */
  readonly first: LogLine;
  readonly frames: readonly Frame[];
  /** The last line, where the log has it: `KeyError: 'cmpl-1'`. */
  readonly sentence: string | undefined;
}

/** Lines of the program without anything of the traceback after which the rest of it is taken for cut off. */
const MAX_GAP_LINES = 12;
/** The longest traceback that is followed. */
const MAX_LINES = 240;
/** The same with the lines of other programs that stand between. */
const MAX_MIXED_LINES = 2_400;
const MAX_FRAMES = 64;

const FRAME = /File "([^"\n]{1,400})", line \d{1,7}, in ([\w.<>]{1,80})/;
/** `torch.OutOfMemoryError: CUDA out of memory`, `AssertionError`. */
const LAST_LINE =
  /^(?:\w{1,60}\.){0,8}\w{0,60}(?:Error|Exception|gaierror|Interrupt|Timeout|Again|Failed|Disconnected?|StopIteration)(?:: .{0,2000})?$/;
/** What two processes that write into one log are distinguished by: `(EngineCore_0 pid=7) (Worker_TP1 pid=9) `. */
const WRITERS = /^(?:\([^()]{1,80}\) ?){0,4}/;
const PACKAGE =
  /(?:^|\/)((?:vllm_ascend|vllm|sglang|lmcache|kvcached|pegaflow|flexkv|aibrix_kvcache|ucm|kvbm|tensorrt_llm|dynamo)\/.*)$/;

interface Open {
  readonly first: LogLine;
  /** What stands before the text of the traceback in each of its lines. */
  readonly lead: string;
  readonly frames: Frame[];
  /** The line of the last frame. */
  lastLine: number;
  /** Lines of the program since the first frame. */
  lines: number;
  /** The same since the last thing that was of the traceback. */
  gap: number;
}

/**
 * Follows a traceback from its first frame within a file that moves or keeps KV
 * blocks to its last line, which names the reason. Nothing is kept of lines
 * before. Of processes and of programs that write at the same time it follows the first.
 */
export class TracebackReader {
  #open: Open | undefined;

  /** Whether the next lines belong to a traceback, so that they have to be looked at whatever they are. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** A frame of a file that moves or keeps KV blocks, or of a worker that only calls an engine. */
  add(line: LogLine, isOfCache = true): void {
    const { lineNumber, text } = line;
    const at = text.indexOf('File "');
    const [, path = '', place = ''] = FRAME.exec(text.slice(Math.max(0, at))) ?? [];
    if (path === '') return;
    const frame = { path: fromPackage(path), place, source: '', isOfCache };
    const open = this.#open;
    if (open !== undefined) {
      if (open.lastLine === lineNumber) {
        const last = open.frames.pop();
        open.frames.push({
          ...frame,
          source: last?.source ?? '',
          isOfCache: isOfCache || last?.isOfCache === true,
        });
      }
      return;
    }
    const lead = text.slice(0, Math.max(0, at)).trimEnd();
    this.#open = { first: line, lead, frames: [frame], lastLine: lineNumber, lines: 0, gap: 0 };
  }

  /** Any line behind that frame. Returns the traceback as it ends. */
  follow(line: LogLine): Traceback | undefined {
    const open = this.#open;
    if (open === undefined) return undefined;
    const { lineNumber, text, who } = line;
    if (lineNumber - open.first.lineNumber > MAX_MIXED_LINES) return this.end();
    if (who !== open.first.who) return undefined;
    open.lines += 1;
    open.gap += 1;
    if (open.gap > MAX_GAP_LINES || open.lines > MAX_LINES) return this.end();
    const body = bodyOf(text, open.lead);
    if (body === undefined) return undefined;
    const [, path, place = ''] = FRAME.exec(body) ?? [];
    if (path !== undefined) {
      open.lastLine = lineNumber;
      open.gap = 0;
      if (open.frames.length === MAX_FRAMES) open.frames.shift();
      open.frames.push({ path: fromPackage(path), place, source: '', isOfCache: false });
      return undefined;
    }
    const words = body.trim();
    if (words.includes('Traceback (most recent call last)')) return this.end();
    if (isLastLine(words)) return this.end(words);
    const last = open.frames.at(-1);
    const isBelow = last?.source === '' && open.gap === 1;
    if (isBelow && words !== '') last.source = words.slice(0, 160);
    if (isBelow || /^[~^]+$/.test(words)) open.gap = 0;
    return undefined;
  }

  /** What is open, at the end of the log too. */
  end(sentence?: string): Traceback | undefined {
    const open = this.#open;
    this.#open = undefined;
    return open === undefined ? undefined : { first: open.first, frames: open.frames, sentence };
  }
}

/** Whether a line is an exception with its words, as the last line of a traceback is. */
export function isLastLine(text: string): boolean {
  return LAST_LINE.test(text);
}

/** An exception with its words, without what says whose line it is; undefined for other lines. */
export function lastLineOf(line: string): string | undefined {
  const text = line.replace(WRITERS, '').trim();
  return isLastLine(text) ? text : undefined;
}

/** The innermost place within files that move or keep KV blocks. */
export function placeOf({ frames }: Traceback): Frame | undefined {
  return frames.findLast(({ isOfCache }) => isOfCache);
}

/** The text behind what all lines of a traceback have before it; undefined for a line of another process. */
function bodyOf(text: string, lead: string): string | undefined {
  const writers = WRITERS.exec(lead)?.[0] ?? '';
  if (!text.startsWith(writers.trimEnd())) return undefined;
  const isSame = withoutDigits(text.slice(0, lead.length)) === withoutDigits(lead);
  return isSame ? text.slice(lead.length) : undefined;
}

function withoutDigits(text: string): string {
  return text.replace(/\d/g, '0');
}

function fromPackage(path: string): string {
  return PACKAGE.exec(path)?.[1] ?? path.split('/').slice(-3).join('/');
}
