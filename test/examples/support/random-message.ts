import {
  create,
  createFileRegistry,
  type DescEnum,
  type DescField,
  type DescMessage,
  type FileRegistry,
  fromBinary,
  type Message,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { FILE_DESCRIPTOR_SET_BASE64 } from '../../../src/gen/descriptors.js';

type Draw = <T>(arbitrary: fc.Arbitrary<T>) => T;

/** The edges of 64 bits: the last two are no doubles. */
const UNSIGNED_64 = fc.constantFrom(0n, 1n, 2n ** 53n - 1n, 2n ** 53n + 1n, 2n ** 64n - 1n);
const SIGNED_64 = fc.constantFrom(0n, -1n, 2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n);
/** Deeper messages stay empty: what they may hold was drawn further up, too. */
const MAX_DEPTH = 6;
/** A number that no enum has. */
const UNKNOWN_ENUM_VALUE = 4_711;

/** Every message type of the wire, by the compiler's own descriptors. */
export function readRegistry(): FileRegistry {
  const bytes = Buffer.from(FILE_DESCRIPTOR_SET_BASE64, 'base64');
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, bytes));
}

/** Bytes of any message of a type: absent and present fields, explicit zeros, and the edges of each number. */
export function anyMessageBytes(type: DescMessage): fc.Arbitrary<Uint8Array> {
  return fc.gen().map((gen) => {
    const draw: Draw = (arbitrary) => gen(() => arbitrary);
    return toBinary(type, drawMessage(type, draw, 0));
  });
}

function drawMessage(type: DescMessage, draw: Draw, depth: number): Message {
  const made = create(type);
  const message = reflect(type, made);
  if (type.typeName === 'google.protobuf.Timestamp') {
    // Whole milliseconds within the years that a timestamp may have, as `Date` holds them.
    message.set(field(type, 'seconds'), draw(fc.bigInt({ min: 0n, max: 253_402_300_799n })));
    message.set(field(type, 'nanos'), draw(fc.integer({ min: 0, max: 999 })) * 1_000_000);
    return made;
  }
  if (depth > MAX_DEPTH) return made;
  for (const one of type.fields) {
    if (one.oneof === undefined && draw(fc.boolean())) drawField(message, one, draw, depth);
  }
  for (const { fields } of type.oneofs) {
    const one = draw(fc.constantFrom(undefined, ...fields));
    if (one !== undefined) drawField(message, one, draw, depth);
  }
  return made;
}

function drawField(message: ReflectMessage, one: DescField, draw: Draw, depth: number): void {
  const count = draw(fc.integer({ min: 0, max: 2 }));
  if (one.fieldKind === 'scalar') message.set(one, draw(anyScalar(one.scalar)));
  else if (one.fieldKind === 'enum') message.set(one, draw(anyEnumValue(one.enum)));
  else if (one.fieldKind === 'message') {
    message.set(one, reflect(one.message, drawMessage(one.message, draw, depth + 1)));
  } else if (one.fieldKind === 'list') {
    const list = message.get(one);
    for (let at = 0; at < count; at += 1) {
      if (one.listKind === 'message') {
        list.add(reflect(one.message, drawMessage(one.message, draw, depth + 1)));
      } else list.add(draw(one.listKind === 'enum' ? anyEnumValue(one.enum) : anyScalar(one.scalar)));
    }
  } else {
    if (one.mapKind !== 'scalar') throw new Error(`${one}: this kind of map has no case here yet`);
    const map = message.get(one);
    for (let at = 0; at < count; at += 1) {
      map.set(draw(anyScalar(one.mapKey)) as string, draw(anyScalar(one.scalar)));
    }
  }
}

function anyEnumValue({ values }: DescEnum): fc.Arbitrary<number> {
  return fc.constantFrom(...values.map(({ number }) => number), UNKNOWN_ENUM_VALUE);
}

function anyScalar(type: ScalarType): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.STRING:
      return fc.constantFrom('', '0', 'topology.kubernetes.io/zone', 'a_b', 'Größe €');
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 9 });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1);
    case ScalarType.INT32:
      return fc.constantFrom(0, -1, -(2 ** 31), 2 ** 31 - 1);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return UNSIGNED_64;
    case ScalarType.INT64:
      return SIGNED_64;
    case ScalarType.DOUBLE:
      return fc.double({ noNaN: true });
    default:
      throw new Error(`scalar type ${ScalarType[type]} has no case here yet`);
  }
}

function field(type: DescMessage, name: string): DescField {
  const found = type.fields.find((one) => one.name === name);
  if (found === undefined) throw new Error(`${type.typeName} has no field ${name}`);
  return found;
}
