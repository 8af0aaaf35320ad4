/** What a KV event holds. */
export type Packable =
  | null
  | number
  | bigint
  | string
  | readonly Packable[]
  | { readonly [key: string]: Packable };

/**
 * A batch of KV events as vLLM and SGLang publish it: an array of the time, the
 * events and the data-parallel rank, each number in its shortest form.
 */
export function packBatch(publishedAtSeconds: number, events: readonly Packable[], rank: number): Buffer {
  const time = Buffer.alloc(9);
  time[0] = 0xcb;
  time.writeDoubleBE(publishedAtSeconds, 1);
  const parts = [Buffer.of(0x93), time];
  pack(events, parts);
  pack(rank, parts);
  return Buffer.concat(parts);
}

function pack(value: Packable, parts: Buffer[]): void {
  if (value === null) parts.push(Buffer.of(0xc0));
  else if (typeof value === 'number' || typeof value === 'bigint') parts.push(packInteger(BigInt(value)));
  else if (typeof value === 'string') {
    const text = Buffer.from(value);
    parts.push(head(text.length, { fixed: 0xa0, maxFixed: 31, by8: 0xd9, by16: 0xda }), text);
  } else if (isList(value)) {
    parts.push(head(value.length, { fixed: 0x90, maxFixed: 15, by16: 0xdc }));
    for (const item of value) pack(item, parts);
  } else {
    const entries = Object.entries(value);
    parts.push(head(entries.length, { fixed: 0x80, maxFixed: 15, by16: 0xde }));
    for (const [key, item] of entries) {
      pack(key, parts);
      pack(item, parts);
    }
  }
}

function isList(value: object): value is readonly Packable[] {
  return Array.isArray(value);
}

/** Nothing that a simulated engine says is longer than 65,535 bytes or items. */
function head(
  length: number,
  codes: { readonly fixed: number; readonly maxFixed: number; readonly by8?: number; readonly by16: number },
): Buffer {
  if (length <= codes.maxFixed) return Buffer.of(codes.fixed | length);
  if (codes.by8 !== undefined && length <= 0xff) return Buffer.of(codes.by8, length);
  if (length > 0xffff) throw new RangeError(`${length} bytes or items are too many for a simulated engine`);
  return Buffer.of(codes.by16, length >> 8, length & 0xff);
}

function packInteger(value: bigint): Buffer {
  if (value >= -32n && value <= 127n) return Buffer.of(Number(value) & 0xff);
  // The code of one byte; those of two, four and eight follow it.
  const firstCode = value < 0n ? 0xd0 : 0xcc;
  const widths = [1, 2, 4, 8];
  const fits = (bytes: number): boolean =>
    value < 0n ? BigInt.asIntN(8 * bytes, value) === value : BigInt.asUintN(8 * bytes, value) === value;
  const step = widths.findIndex(fits);
  const bytes = widths[step];
  if (bytes === undefined) throw new RangeError(`${value} does not fit into 64 bits`);
  const wide = Buffer.alloc(9);
  wide.writeBigUInt64BE(BigInt.asUintN(64, value), 1);
  return Buffer.concat([Buffer.of(firstCode + step), wide.subarray(9 - bytes)]);
}
