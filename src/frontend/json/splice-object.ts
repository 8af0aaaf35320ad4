import type { JsonScan } from '../../edge/platform/data/json-scan.js';
import { keyOf } from './light-json.js';

const OPEN = Buffer.from('{');
const CLOSE = Buffer.from('}');
const COMMA = Buffer.from(',');

/**
 * The outermost object of a JSON text without some of its fields and with others at its end; what stays is byte for byte
 * what it was, numbers that JavaScript does not keep included. `added` are whole members: `"stream":false`.
 */
export function spliceObject(
  text: Buffer,
  { fields }: Pick<JsonScan, 'fields'>,
  dropped: ReadonlySet<unknown>,
  added: readonly (Buffer | string)[],
): Buffer {
  const pieces: Buffer[] = [OPEN];
  const add = (member: Buffer): void => {
    if (pieces.length > 1) pieces.push(COMMA);
    pieces.push(member);
  };
  for (const field of fields)
    if (!dropped.has(keyOf(text, field))) add(text.subarray(field.keyStart, field.valueEnd));
  for (const member of added) add(typeof member === 'string' ? Buffer.from(member) : member);
  pieces.push(CLOSE);
  return Buffer.concat(pieces);
}

/** The bytes of one field of the outermost object, the last of that name; undefined where it has none, or its value is null. */
export function fieldBytes(
  text: Buffer,
  { fields }: Pick<JsonScan, 'fields'>,
  name: string,
): Buffer | undefined {
  const field = fields.findLast((one) => keyOf(text, one) === name);
  if (field === undefined) return undefined;
  const bytes = text.subarray(field.valueStart, field.valueEnd);
  return bytes.toString('latin1').trim() === 'null' ? undefined : bytes;
}
