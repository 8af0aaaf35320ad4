import fc from 'fast-check';

/** One field of a protobuf message; `children` where its bytes can be read as a message. */
interface Field {
  number: number;
  wireType: number;
  value: bigint;
  bytes: Buffer;
  children: Field[] | undefined;
}

/** How one field is changed. */
interface Mutation {
  /** Which field of all in the message, counted modulo. */
  readonly at: number;
  readonly kind: 'varint' | 'bytes' | 'drop' | 'repeat' | 'number' | 'wire_type' | 'flip';
  readonly varint: bigint;
  readonly bytes: Uint8Array;
  readonly count: number;
}

/** The edges of what the wire carries, of JavaScript's numbers and dates, and of a sign that was lost. */
const EXTREME_VARINTS: readonly bigint[] = [
  0n,
  1n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
  253_402_300_800n,
  8_640_000_000_000n,
  8_640_000_000_001n,
  2n ** 64n - 8_640_000_000_001n,
];

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(500),
  kind: fc.constantFrom('varint', 'varint', 'bytes', 'drop', 'repeat', 'number', 'wire_type', 'flip'),
  varint: fc.oneof(fc.constantFrom(...EXTREME_VARINTS), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  bytes: fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom(
      Buffer.from('__proto__'),
      Buffer.alloc(9_000, 0x61),
      Buffer.from('NaN'),
      Buffer.from('\u009b[2J\u202e'),
    ),
  ),
  count: fc.constantFrom(2, 3, 70, 300, 2_000),
});

/**
 * Messages made of `samples` by changing fields wherever they are nested:
 * extreme numbers, strange bytes, fields that are missing, repeated, or of
 * another type. The framing stays valid, so that a decoder takes most of them.
 */
export function mutatedMessages(samples: readonly Uint8Array[]): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fc.constantFrom(...samples), fc.array(mutation, { minLength: 1, maxLength: 4 }))
    .map(([sample, mutations]) => {
      const root = parse(Buffer.from(sample)) ?? [];
      for (const each of mutations) mutate(root, each);
      return write(root);
    });
}

function mutate(root: Field[], { at, kind, varint, bytes, count }: Mutation): void {
  const places: { readonly list: Field[]; readonly index: number }[] = [];
  const walk = (list: Field[]): void => {
    for (const [index, field] of list.entries()) {
      places.push({ list, index });
      if (field.children !== undefined) walk(field.children);
    }
  };
  walk(root);
  const place = places[at % Math.max(1, places.length)];
  const field = place?.list[place.index];
  if (place === undefined || field === undefined) return;
  switch (kind) {
    case 'varint':
      if (field.wireType === BYTES) return;
      field.value = field.wireType === FIXED32 ? varint % 2n ** 32n : varint;
      return;
    case 'bytes':
      if (field.wireType !== BYTES) return;
      field.children = undefined;
      field.bytes = Buffer.from(bytes);
      return;
    case 'drop':
      place.list.splice(place.index, 1);
      return;
    case 'repeat':
      place.list.splice(place.index, 0, ...Array.from({ length: count }, () => field));
      return;
    case 'number':
      field.number = 1 + Number(varint % 20n);
      return;
    case 'wire_type':
      field.wireType = field.wireType === VARINT ? BYTES : VARINT;
      return;
    case 'flip':
      if (field.bytes.length === 0 || field.children !== undefined) return;
      field.bytes = Buffer.from(field.bytes);
      field.bytes[count % field.bytes.length] = Number(varint % 256n);
  }
}

/** The fields of a message; undefined where the bytes are none. */
function parse(bytes: Buffer, depth = 0): Field[] | undefined {
  const fields: Field[] = [];
  let at = 0;
  const readVarint = (): bigint | undefined => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) return undefined;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return undefined;
  };
  while (at < bytes.length) {
    const tag = readVarint();
    if (tag === undefined || tag >> 3n === 0n || tag >> 3n > 1_000n) return undefined;
    const field: Field = {
      number: Number(tag >> 3n),
      wireType: Number(tag & 7n),
      value: 0n,
      bytes: Buffer.alloc(0),
      children: undefined,
    };
    if (field.wireType === VARINT) {
      const value = readVarint();
      if (value === undefined) return undefined;
      field.value = value;
    } else if (field.wireType === FIXED64) {
      if (at + 8 > bytes.length) return undefined;
      field.value = bytes.readBigUInt64LE(at);
      at += 8;
    } else if (field.wireType === FIXED32) {
      if (at + 4 > bytes.length) return undefined;
      field.value = BigInt(bytes.readUInt32LE(at));
      at += 4;
    } else if (field.wireType === BYTES) {
      const length = readVarint();
      if (length === undefined || BigInt(at) + length > BigInt(bytes.length)) return undefined;
      field.bytes = bytes.subarray(at, at + Number(length));
      at += Number(length);
      field.children = depth < 8 && field.bytes.length > 0 ? parse(field.bytes, depth + 1) : undefined;
    } else return undefined;
    fields.push(field);
  }
  return fields;
}

/** No gRPC channel takes more: what was repeated several times within each other ends here. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A repeated field is one object many times, and is written once. */
function write(fields: readonly Field[], written: Map<Field, Buffer> = new Map()): Buffer {
  const parts: Buffer[] = [];
  let length = 0;
  for (const field of fields) {
    const bytes = written.get(field) ?? Buffer.concat(partsOf(field, written));
    written.set(field, bytes);
    length += bytes.length;
    if (length > MAX_MESSAGE_BYTES) break;
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

function partsOf({ number, wireType, value, bytes, children }: Field, written: Map<Field, Buffer>): Buffer[] {
  const tag = varintBytes(BigInt(number * 8 + wireType));
  if (wireType === BYTES) {
    const inner = children === undefined ? bytes : write(children, written);
    return [tag, varintBytes(BigInt(inner.length)), inner];
  }
  if (wireType === VARINT) return [tag, varintBytes(BigInt.asUintN(64, value))];
  const fixed = Buffer.alloc(8);
  fixed.writeBigUInt64LE(BigInt.asUintN(64, value));
  return [tag, wireType === FIXED64 ? fixed : fixed.subarray(0, 4)];
}

function varintBytes(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}
