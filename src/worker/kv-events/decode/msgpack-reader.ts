/** Why bytes could not be read; caught where a batch is decoded. */
export class UnreadableError extends Error {}

/** What a value is, as far as it matters here. */
export type MsgpackKind =
  | 'nil'
  | 'boolean'
  | 'integer'
  | 'float'
  | 'string'
  | 'binary'
  | 'array'
  | 'map'
  | 'extension';

/** Deepest nesting that `skip` follows. */
const MAX_DEPTH = 16;

const NIL = 0xc0;

/** By first byte: the bytes of an unsigned integer of at most 32 bits, its first included; 0 for all else. */
const UNSIGNED_BYTES = new Uint8Array(256).fill(1, 0, 0x80);
/** How far the four bytes at its value reach beyond it, in bits. */
const UNSIGNED_SHIFT = new Uint8Array(256).fill(24, 0, 0x80);
for (const [head, size] of [
  [0xcc, 2],
  [0xcd, 3],
  [0xce, 5],
] as const) {
  UNSIGNED_BYTES[head] = size;
  UNSIGNED_SHIFT[head] = 8 * (5 - size);
}

/**
 * A cursor over one MessagePack payload (msgpack.org, spec of 2013). It builds
 * no values but those asked for, never reads past the end, and takes no claimed
 * length that the remaining bytes could not hold. Whatever is wrong with the
 * bytes throws an `UnreadableError`.
 */
export class MsgpackReader {
  /** Index of the next byte. */
  offset = 0;
  /** Low and high half of what `readWide` read. */
  lo = 0;
  hi = 0;

  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#bytes.buffer);

  open(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.offset = 0;
  }

  get remaining(): number {
    return this.#bytes.length - this.offset;
  }

  get kind(): MsgpackKind {
    const head = this.#peek();
    if (head <= 0x7f || head >= 0xe0) return 'integer';
    if (head <= 0x8f) return 'map';
    if (head <= 0x9f) return 'array';
    if (head <= 0xbf) return 'string';
    if (head === NIL) return 'nil';
    if (head === 0xc2 || head === 0xc3) return 'boolean';
    if (head >= 0xc4 && head <= 0xc6) return 'binary';
    if (head === 0xca || head === 0xcb) return 'float';
    if (head >= 0xcc && head <= 0xd3) return 'integer';
    if (head >= 0xd9 && head <= 0xdb) return 'string';
    if (head === 0xdc || head === 0xdd) return 'array';
    if (head === 0xde || head === 0xdf) return 'map';
    if (head === 0xc1) throw new UnreadableError('byte c1, which stands for nothing');
    return 'extension';
  }

  /** Consumes a nil when the next value is one. */
  readNil(): boolean {
    if (this.#peek() !== NIL) return false;
    this.offset += 1;
    return true;
  }

  /** Number of items that follow; no more than the bytes that are left. */
  readArrayHeader(): number {
    const head = this.#byte();
    let length: number;
    if (head >= 0x90 && head <= 0x9f) length = head & 0x0f;
    else if (head === 0xdc) length = this.#uint16();
    else if (head === 0xdd) length = this.#uint32();
    else throw new UnreadableError('no array where one belongs');
    return this.#bounded(length);
  }

  /** Number of keys that follow, each with its value. */
  readMapHeader(): number {
    const head = this.#byte();
    let length: number;
    if (head >= 0x80 && head <= 0x8f) length = head & 0x0f;
    else if (head === 0xde) length = this.#uint16();
    else if (head === 0xdf) length = this.#uint32();
    else throw new UnreadableError('no map where one belongs');
    return this.#bounded(length * 2) / 2;
  }

  /** A string of at most `maxBytes` bytes of UTF-8. */
  readString(maxBytes: number): string {
    const length = this.#stringLength();
    if (length > maxBytes) throw new UnreadableError(`a string of ${length} bytes`);
    const start = this.#take(length);
    return Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, length).toString('utf8');
  }

  /** A binary value of at most `maxBytes` bytes, as a view of the payload. */
  readBinary(maxBytes: number): Uint8Array {
    if (this.kind !== 'binary') throw new UnreadableError('no binary value where one belongs');
    const length = this.#binaryLength();
    if (length > maxBytes) throw new UnreadableError(`a binary value of ${length} bytes`);
    const start = this.#take(length);
    return this.#bytes.subarray(start, start + length);
  }

  /** Bytes of the next string, which stays unread. */
  peekStringLength(): number {
    const start = this.offset;
    const length = this.#stringLength();
    this.offset = start;
    return length;
  }

  /** An integer or a float. Integers beyond 2^53 lose their last bits. */
  readNumber(): number {
    const head = this.#peek();
    if (head === 0xca) return this.#view.getFloat32(this.#takeAfterHead(4));
    if (head === 0xcb) return this.#view.getFloat64(this.#takeAfterHead(8));
    return this.readInteger();
  }

  /** An integer. Beyond 2^53 the last bits are lost. */
  readInteger(): number {
    const head = this.#peek();
    this.readWide();
    const signed = head >= 0xe0 || (head >= 0xd0 && head <= 0xd3);
    return (signed ? this.hi | 0 : this.hi) * 4_294_967_296 + this.lo;
  }

  /** An integer from 0 to 2^32-1. */
  readUint32(): number {
    const value = this.readInteger();
    if (!isUint32(value)) throw new UnreadableError(`${value} is no u32`);
    return value;
  }

  /** Any integer into `lo` and `hi`, a negative one as its two's complement. */
  readWide(): void {
    const head = this.#byte();
    this.hi = 0;
    if (head <= 0x7f) this.lo = head;
    else if (head >= 0xe0) this.#setSigned((head << 24) >> 24);
    else if (head === 0xcc) this.lo = this.#byte();
    else if (head === 0xcd) this.lo = this.#uint16();
    else if (head === 0xce) this.lo = this.#uint32();
    else if (head === 0xcf || head === 0xd3) {
      const start = this.#take(8);
      this.hi = this.#view.getUint32(start);
      this.lo = this.#view.getUint32(start + 4);
    } else if (head === 0xd0) this.#setSigned(this.#view.getInt8(this.#take(1)));
    else if (head === 0xd1) this.#setSigned(this.#view.getInt16(this.#take(2)));
    else if (head === 0xd2) this.#setSigned(this.#view.getInt32(this.#take(4)));
    else throw new UnreadableError('no integer where one belongs');
  }

  /**
   * A block hash into `lo` and `hi`: an integer of 64 bits, signed or not, or
   * bytes, of which the last eight count. That is what vLLM itself makes of its
   * 32 bytes where it publishes integers.
   */
  readHash(): void {
    if (this.kind !== 'binary') {
      this.readWide();
      return;
    }
    const length = this.#binaryLength();
    if (length === 0) throw new UnreadableError('a hash of no bytes');
    const end = this.#take(length) + length;
    this.lo = this.#bigEndian(end - Math.min(length, 4), end);
    this.hi = length <= 4 ? 0 : this.#bigEndian(end - Math.min(length, 8), end - 4);
  }

  /**
   * Reads `count` integers into `target`, 0 in place of those that are not from 0 to 2^32-1. Gives the place of the first of
   * those, Infinity for none.
   */
  readUint32s(count: number, target: Uint32Array): number {
    let firstWide = Number.POSITIVE_INFINITY;
    const bytes = this.#bytes;
    const view = this.#view;
    // Nearly all of a payload is token ids: up to here the longest of them needs no look at the end.
    const safeEnd = bytes.length - 5;
    let at = this.offset;
    let i = 0;
    while (i < count && at <= safeEnd) {
      // No branch on the width: vocabularies mix two and four bytes at random, which no processor foresees.
      const head = bytes[at] as number;
      const size = UNSIGNED_BYTES[head] as number;
      if (size === 0) {
        this.offset = at;
        const value = this.readInteger();
        if (!isUint32(value)) firstWide = Math.min(firstWide, i);
        target[i] = isUint32(value) ? value : 0;
        at = this.offset;
      } else {
        target[i] = view.getUint32(at + (head >>> 7)) >>> (UNSIGNED_SHIFT[head] as number);
        at += size;
      }
      i += 1;
    }
    this.offset = at;
    for (; i < count; i++) {
      const value = this.readInteger();
      if (!isUint32(value)) firstWide = Math.min(firstWide, i);
      target[i] = isUint32(value) ? value : 0;
    }
    return firstWide;
  }

  /** Goes over one value, whatever it is, and returns nothing of it. */
  skip(): void {
    this.#skip(0);
  }

  #skip(depth: number): void {
    if (depth > MAX_DEPTH) throw new UnreadableError(`nesting deeper than ${MAX_DEPTH}`);
    const kind = this.kind;
    switch (kind) {
      case 'nil':
      case 'boolean':
        this.offset += 1;
        return;
      case 'integer':
        this.readWide();
        return;
      case 'float':
        this.readNumber();
        return;
      case 'string':
        this.#take(this.#stringLength());
        return;
      case 'binary':
        this.#take(this.#binaryLength());
        return;
      case 'extension':
        this.#skipExtension();
        return;
      case 'array':
      case 'map': {
        const items = kind === 'array' ? this.readArrayHeader() : this.readMapHeader() * 2;
        for (let i = 0; i < items; i++) this.#skip(depth + 1);
      }
    }
  }

  #skipExtension(): void {
    const head = this.#byte();
    let length: number;
    if (head >= 0xd4 && head <= 0xd8) length = 1 << (head - 0xd4);
    else if (head === 0xc7) length = this.#byte();
    else if (head === 0xc8) length = this.#uint16();
    else length = this.#uint32();
    this.#take(1 + length);
  }

  #stringLength(): number {
    const head = this.#byte();
    if (head >= 0xa0 && head <= 0xbf) return head & 0x1f;
    if (head === 0xd9) return this.#byte();
    if (head === 0xda) return this.#uint16();
    if (head === 0xdb) return this.#uint32();
    throw new UnreadableError('no string where one belongs');
  }

  #binaryLength(): number {
    const head = this.#byte();
    if (head === 0xc4) return this.#byte();
    if (head === 0xc5) return this.#uint16();
    return this.#uint32();
  }

  #bigEndian(start: number, end: number): number {
    let value = 0;
    for (let at = start; at < end; at++) value = value * 256 + (this.#bytes[at] ?? 0);
    return value;
  }

  #setSigned(value: number): void {
    this.lo = value >>> 0;
    this.hi = value < 0 ? 0xffff_ffff : 0;
  }

  #bounded(items: number): number {
    if (items > this.remaining) {
      throw new UnreadableError(`${items} items claimed, ${this.remaining} bytes left`);
    }
    return items;
  }

  #peek(): number {
    const byte = this.#bytes[this.offset];
    if (byte === undefined) throw tooShort();
    return byte;
  }

  #byte(): number {
    const byte = this.#peek();
    this.offset += 1;
    return byte;
  }

  #uint16(): number {
    return this.#view.getUint16(this.#take(2));
  }

  #uint32(): number {
    return this.#view.getUint32(this.#take(4));
  }

  #takeAfterHead(length: number): number {
    this.offset += 1;
    return this.#take(length);
  }

  /** Where the next `length` bytes start; they are consumed. */
  #take(length: number): number {
    if (length > this.remaining) throw tooShort();
    const start = this.offset;
    this.offset += length;
    return start;
  }
}

function isUint32(value: number): boolean {
  return value >= 0 && value <= 0xffff_ffff;
}

function tooShort(): UnreadableError {
  return new UnreadableError('the payload ends too early');
}
