import { isCount } from '../../../edge/platform/data/json-object.js';
import type { Usage } from '../../../fleet/router/routing.js';

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COLON = 0x3a;

/** As a key alone: inside a JSON string its quotes would be escaped. */
const USAGE_KEY = Buffer.from('"usage"');

/** Longest `usage` object that is read; engines' have 100 to 400 bytes. */
const MAX_USAGE_BYTES = 4 * 1024;

/**
 * Looks on while an answer of an OpenAI server passes, in constant memory and
 * without decoding it: counts the events of a stream, and keeps the bytes of
 * the last `usage` that is an object, wherever pieces begin and end. Only the
 * bytes of that object are ever parsed, once, when it is asked for.
 *
 * vLLM and SGLang end a JSON answer with it, and a stream with an event of its
 * own when the client asked for `stream_options.include_usage`; both report
 * `prompt_tokens_details.cached_tokens` only when they were started so
 * (`--enable-prompt-tokens-details`, `--enable-cache-report`). Responses and
 * Messages have it always, under the names of their own APIs.
 */
export class AnswerWatch {
  /** Events of the stream so far: about one for each token, fewer where an engine packs several into one. */
  events = 0;
  readonly #isEventStream: boolean;
  /** Whether the last line is empty so far, which one more line feed makes the end of an event. */
  #isLineEmpty = true;
  #hasLine = false;
  /** The last bytes of the piece before, where they may begin a key. */
  #carry: Buffer | undefined;
  /** What follows a key whose value has not ended yet. */
  #open: Buffer | undefined;
  #usage: Buffer | undefined;

  constructor(isEventStream: boolean) {
    this.#isEventStream = isEventStream;
  }

  /** Takes the next piece. The piece is kept only while it may hold the usage. */
  add(piece: Buffer): void {
    if (this.#isEventStream) this.#countEvents(piece);
    this.#findUsage(piece);
  }

  /** The engine's own numbers; undefined where it reported none. */
  get usage(): Usage | undefined {
    if (this.#usage === undefined) return undefined;
    try {
      return usageOf(JSON.parse(this.#usage.toString()));
    } catch {
      // The engine's answer is not JSON; that is between it and its client.
      return undefined;
    }
  }

  #countEvents(piece: Buffer): void {
    let lineStart = 0;
    for (;;) {
      const end = piece.indexOf(LINE_FEED, lineStart);
      if (end === -1) break;
      const isEmpty =
        end === lineStart ? this.#isLineEmpty : end === lineStart + 1 && this.#isOnlyReturn(piece, lineStart);
      if (!isEmpty) this.#hasLine = true;
      else if (this.#hasLine) {
        this.events += 1;
        this.#hasLine = false;
      }
      this.#isLineEmpty = true;
      lineStart = end + 1;
    }
    const rest = piece.length - lineStart;
    if (rest > 0 && !(rest === 1 && this.#isOnlyReturn(piece, lineStart))) this.#isLineEmpty = false;
  }

  #isOnlyReturn(piece: Buffer, at: number): boolean {
    return this.#isLineEmpty && piece[at] === CARRIAGE_RETURN;
  }

  #findUsage(piece: Buffer): void {
    let rest = piece;
    let from = 0;
    if (this.#open !== undefined) {
      const before = this.#open;
      this.#open = undefined;
      const end = this.#readValue(Buffer.concat([before, piece.subarray(0, MAX_USAGE_BYTES)]), 0);
      if (end === undefined) return;
      from = Math.max(0, end - before.length);
    } else if (this.#carry !== undefined) {
      // A key that began in the piece before ends within its own length here.
      const isShort = piece.length < USAGE_KEY.length;
      const seam = Buffer.concat([this.#carry, isShort ? piece : piece.subarray(0, USAGE_KEY.length)]);
      this.#carry = undefined;
      if (isShort) rest = seam;
      else if (seam.includes(USAGE_KEY)) rest = Buffer.concat([seam, piece.subarray(USAGE_KEY.length)]);
    }
    for (;;) {
      const at = rest.indexOf(USAGE_KEY, from);
      if (at === -1) break;
      const end = this.#readValue(rest, at + USAGE_KEY.length);
      if (end === undefined) return;
      from = end;
    }
    for (let at = Math.max(from, rest.length - USAGE_KEY.length + 1); at < rest.length; at += 1) {
      if (rest[at] !== QUOTE) continue;
      this.#carry = Buffer.from(rest.subarray(at));
      return;
    }
  }

  /**
   * Reads what follows a key, and gives the place behind all that was looked at: no byte is looked at for two keys, however
   * many stand within each other. Undefined when the value goes on in the next piece.
   */
  #readValue(bytes: Buffer, from: number): number | undefined {
    const start = skipTo(bytes, from);
    if (start < bytes.length && bytes[start] !== OPEN_BRACE) return start;
    const end = start === bytes.length ? undefined : endOfObject(bytes, start);
    if (end !== undefined) {
      if (end - start <= MAX_USAGE_BYTES) this.#usage = bytes.subarray(start, end);
      return end;
    }
    // An object that is longer than any usage is none; it is not collected further.
    if (bytes.length - from > MAX_USAGE_BYTES) return Math.min(bytes.length, start + MAX_USAGE_BYTES);
    this.#open = Buffer.from(bytes.subarray(from));
    return undefined;
  }
}

/** Past the colon and the white space after a key. */
function skipTo(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && (bytes[at] === COLON || (bytes[at] as number) <= 0x20)) at += 1;
  return at;
}

/** Where the object that starts at `start` ends; undefined when it does not. */
function endOfObject(bytes: Buffer, start: number): number | undefined {
  let depth = 0;
  let isInString = false;
  const limit = Math.min(bytes.length, start + MAX_USAGE_BYTES + 1);
  for (let at = start; at < limit; at += 1) {
    const byte = bytes[at];
    if (isInString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_BRACE) depth += 1;
    else if (byte === CLOSE_BRACE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}

function usageOf(value: unknown): Usage | undefined {
  const usage = value as Record<string, unknown>;
  const { prompt_tokens: prompt, input_tokens: input } = usage;
  if (isCount(prompt))
    return counts(prompt, cachedOf(usage['prompt_tokens_details']), usage['completion_tokens']);
  if (!isCount(input)) return undefined;
  const read = usage['cache_read_input_tokens'];
  const created = usage['cache_creation_input_tokens'];
  // Responses have details, and count what was cached with the rest; Anthropic counts apart what was read and what was written.
  return isCount(read)
    ? counts(input + read + (isCount(created) ? created : 0), read, usage['output_tokens'])
    : counts(input, cachedOf(usage['input_tokens_details']), usage['output_tokens']);
}

function cachedOf(details: unknown): unknown {
  return (details as { cached_tokens?: unknown } | null | undefined)?.cached_tokens;
}

function counts(promptTokens: number, cached: unknown, output: unknown): Usage {
  return {
    promptTokens,
    cachedTokens: isCount(cached) ? cached : undefined,
    outputTokens: isCount(output) ? output : undefined,
  };
}
