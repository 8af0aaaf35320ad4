const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Fields of the outermost object whose places are kept; requests and answers have some dozens. @internal */
export const MAX_SCANNED_FIELDS = 1_024;

/**
 * What V8 12 makes of a text, in bytes, measured with the worst shapes: `[]` takes 40 and its place in a list, `{"a1":0}` with
 * a key of its own 170 with its hidden class, a key in a large object 100; a text takes one or two bytes a character.
 */
const CONTAINER_BYTES = 80;
const MEMBER_BYTES = 100;
const ELEMENT_BYTES = 16;
const TEXT_BYTES = 2;

/** A field of the outermost object; places are offsets in bytes from the start of the text. */
export interface ScannedField {
  /** From its opening to behind its closing quote. */
  readonly keyStart: number;
  readonly keyEnd: number;
  /** What stands between the colon and the next comma or brace, with the white space around it. */
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Lists, objects, members and elements in it. */
  readonly values: number;
}

/**
 * Measures a JSON text before it is parsed, in one pass and in constant
 * memory, however it is cut into pieces: a few megabytes of brackets would
 * become gigabytes of objects, or a nesting on which everything that walks
 * through it fails. Whether it is JSON at all is for the parser to say.
 */
export class JsonScan {
  /** Bytes so far. */
  bytes = 0;
  /** Deepest nesting so far. */
  depth = 0;
  /** Arrays and objects so far. */
  containers = 0;
  /** Members of objects so far. */
  members = 0;
  /** Commas so far: elements of arrays and members of objects, but for the first of each. */
  elements = 0;
  /** Whether the outermost object has more fields than `MAX_SCANNED_FIELDS`. */
  hasTooManyFields = false;
  /** Fields of the outermost object so far, as they stand, doubled ones too. */
  readonly fields: ScannedField[] = [];
  #level = 0;
  #isInString = false;
  #isEscaped = false;
  #keyStart = -1;
  #keyEnd = -1;
  #valueStart = -1;
  #valuesBefore = 0;

  /** Lists, objects, members and elements so far. */
  get values(): number {
    return this.containers + this.members + this.elements;
  }

  /** Upper bound of what the parsed text takes in memory, in bytes. */
  get memoryBytes(): number {
    return (
      this.containers * CONTAINER_BYTES +
      this.members * MEMBER_BYTES +
      this.elements * ELEMENT_BYTES +
      this.bytes * TEXT_BYTES
    );
  }

  /** Takes the next piece; nothing of it is kept. */
  add(piece: Uint8Array): void {
    let at = 0;
    if (this.#isInString) {
      at = this.#endOfString(piece, 0);
      if (at < piece.length) this.#closeString(at);
      at += 1;
    }
    for (; at < piece.length; at += 1) {
      switch (piece[at]) {
        case QUOTE:
          if (this.#level === 1 && this.#valueStart === -1) this.#keyStart = this.bytes + at;
          this.#isInString = true;
          at = this.#endOfString(piece, at + 1);
          if (at < piece.length) this.#closeString(at);
          break;
        case OPEN_ARRAY:
        case OPEN_OBJECT:
          this.#level += 1;
          this.containers += 1;
          if (this.#level > this.depth) this.depth = this.#level;
          break;
        case CLOSE_ARRAY:
        case CLOSE_OBJECT:
          if (this.#level === 1) this.#endField(this.bytes + at);
          this.#level -= 1;
          break;
        case COLON:
          this.members += 1;
          if (this.#level === 1 && this.#valueStart === -1) {
            this.#valueStart = this.bytes + at + 1;
            this.#valuesBefore = this.values;
          }
          break;
        case COMMA:
          if (this.#level === 1) this.#endField(this.bytes + at);
          this.elements += 1;
          break;
        default:
      }
    }
    this.bytes += piece.length;
  }

  #closeString(at: number): void {
    this.#isInString = false;
    if (this.#level === 1 && this.#valueStart === -1) this.#keyEnd = this.bytes + at + 1;
  }

  #endField(valueEnd: number): void {
    const [keyStart, keyEnd, valueStart] = [this.#keyStart, this.#keyEnd, this.#valueStart];
    this.#keyStart = -1;
    this.#keyEnd = -1;
    this.#valueStart = -1;
    if (keyEnd === -1 || valueStart === -1) return;
    if (this.fields.length === MAX_SCANNED_FIELDS) this.hasTooManyFields = true;
    else
      this.fields.push({ keyStart, keyEnd, valueStart, valueEnd, values: this.values - this.#valuesBefore });
  }

  /** Where the string that goes on at `begin` ends: the place of its closing quote, or the end of the piece. */
  #endOfString(piece: Uint8Array, begin: number): number {
    let at = begin;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      at += 1;
    }
    for (;;) {
      const stop = Math.min(at + STEPS, piece.length);
      for (; at < stop; at += 1) {
        const byte = piece[at];
        if (byte === QUOTE) return at;
        if (byte === BACKSLASH) at += 1;
      }
      if (at >= piece.length) {
        this.#isEscaped = at > piece.length;
        return piece.length;
      }
      // Prompts and images are long, and a search in one go is many times faster than steps.
      const quote = piece.indexOf(QUOTE, at);
      const end = quote === -1 ? piece.length : quote;
      if (!isEscaped(piece, at, end)) return end;
      if (quote === -1) {
        this.#isEscaped = true;
        return end;
      }
      at = quote + 1;
    }
  }
}

/** Bytes that are looked at one by one before the search for the next quote is left to the platform. */
const STEPS = 64;

/** Whether an odd number of backslashes stands before `place`; `from` is known not to be escaped. */
function isEscaped(text: Uint8Array, from: number, place: number): boolean {
  let first = place;
  while (first > from && text[first - 1] === BACKSLASH) first -= 1;
  return (place - first) % 2 === 1;
}
