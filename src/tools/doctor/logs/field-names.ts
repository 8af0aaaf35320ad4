/** What the value of a field is; what `parser` stands for is left to a parser. */
export type FieldRole = 'field' | 'fields' | 'message' | 'time' | 'inner' | 'parser';

const ROLES: ReadonlyMap<string, FieldRole> = new Map<string, FieldRole>([
  ['message', 'message'],
  ['msg', 'message'],
  ['time', 'time'],
  ['timestamp', 'time'],
  ['ts', 'time'],
  // The object that tracing's own formatter puts message and fields into.
  ['fields', 'fields'],
  // Fields that hold a line of another program where they are a text; as a number, `line` is that of Dynamo's source.
  ['log', 'inner'],
  ['MESSAGE', 'inner'],
  ['line', 'inner'],
  ['textPayload', 'inner'],
  // Fields of the same meaning in rarer forms of records.
  ['event', 'parser'],
  ['log_message', 'parser'],
  ['asctime', 'parser'],
  ['@timestamp', 'parser'],
]);

/** Characters of the longest name of a field; a record with a longer one is left to a parser. */
export const MAX_NAME_CHARS = 200;
/** Names that are kept; a log with more of them has other things for names. */
const MAX_NAMES = 4_096;

/** The name of a field of records. */
export interface FieldName {
  readonly text: string;
  /** Characters of what records have for it, with the colon behind it. */
  readonly length: number;
  /** These, two in one number. */
  readonly pairs: Int32Array;
  readonly role: FieldRole;
  /** It has a character that may also end a name: within a text it may look like two. */
  readonly isOdd: boolean;
  /** The name that came behind it last: programs write their fields in one order. */
  next: FieldName | undefined;
  /** The record that had it last, and its place there. */
  record: number;
  place: number;
}

const names = new Map<string, FieldName>();
/** Stands before the first name of a record. */
const START = madeName('');

/** Before a record is read. Names that were found before do not hold. */
export function startOfNames(): FieldName {
  if (names.size >= MAX_NAMES) {
    names.clear();
    START.next = undefined;
  }
  return START;
}

/**
 * The name that begins with its quotation mark at `at`, behind another one; undefined where none does, or one that is too
 * long. `codes` are the characters of `json`: an array is compared several times faster than a text.
 */
export function nameBehind(
  before: FieldName,
  json: string,
  codes: DataView,
  at: number,
): FieldName | undefined {
  const { next } = before;
  if (next !== undefined && standsAt(codes, at, next)) return next;
  const end = json.indexOf('"', at + 1);
  if (json[at] !== '"' || end - at > MAX_NAME_CHARS || json[end + 1] !== ':') return undefined;
  const text = json.slice(at + 1, end);
  let name = names.get(text);
  if (name === undefined) {
    name = madeName(text);
    names.set(name.text, name);
  }
  before.next = name;
  return name;
}

/** Undefined for a name that no record had. */
export function knownName(text: string): FieldName | undefined {
  return names.get(text);
}

/** Two characters are compared at a time, the last of an odd number with the one before it once more. */
function standsAt(codes: DataView, at: number, { pairs, length }: FieldName): boolean {
  for (let index = 0; index < pairs.length; index += 1) {
    const behind = Math.min(2 * index, length - 2);
    if (codes.getInt32(2 * (at + behind), true) !== pairs[index]) return false;
  }
  return true;
}

function madeName(text: string): FieldName {
  const written = `"${text}":`;
  const { length } = written;
  const isOfDigits = /^\d/.test(text);
  return {
    // Of a copy: a part of a line would keep all of that.
    text: written.slice(1, -2),
    length,
    pairs: Int32Array.from({ length: Math.ceil(length / 2) }, (_, index) => {
      const at = Math.min(2 * index, length - 2);
      return written.charCodeAt(at) | (written.charCodeAt(at + 1) << 16);
    }),
    role: text === '' || isOfDigits ? 'parser' : (ROLES.get(text) ?? 'field'),
    isOdd: !/^[\w.-]*$/.test(text),
    next: undefined,
    record: 0,
    place: 0,
  };
}
