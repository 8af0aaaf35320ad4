import { readRegistry } from './random-message.js';

/** Maps of the wire: their keys are data, and no names of fields. */
const MAPS: ReadonlySet<string> = new Set(['topology_domains']);

/** The number of each value of each enum of the wire; their names are unique, buf lint sees to it. */
const ENUM_NUMBERS: ReadonlyMap<string, number> = new Map(
  [...readRegistry()]
    .flatMap((one) => (one.kind === 'enum' ? one.values : []))
    .map(({ name, number }) => [name, number]),
);

type Fields = Readonly<Record<string, unknown>>;

/** What two readings of one message come to. */
export interface Comparison {
  /** `path: what was read here, what there`, one for each value that is not the same. */
  readonly differences: readonly string[];
  /** How many values were the same. */
  readonly sameCount: number;
}

/**
 * Compares what `@grpc/proto-loader` read, with the options of
 * `examples/node-client`, with what the generated code read of the same bytes:
 * 64-bit numbers as text, enums by name, timestamps to the millisecond, absent
 * `optional` fields not there at all, and of a `oneof` only the member that is set.
 */
export function compareReadings(loaded: unknown, generated: unknown): Comparison {
  const differences: string[] = [];
  let sameCount = 0;
  const check = (isSame: boolean, path: string, ours: unknown, theirs: unknown): void => {
    if (isSame) sameCount += 1;
    else differences.push(`${path}: ${show(ours)} in place of ${show(theirs)}`);
  };
  const visit = (ours: unknown, theirs: unknown, path: string): void => {
    if (typeof theirs === 'bigint') check(ours === theirs.toString(), path, ours, theirs);
    else if (typeof theirs === 'number' && typeof ours === 'string') {
      check(ENUM_NUMBERS.get(ours) === theirs, path, ours, theirs);
    } else if (theirs instanceof Date) check(millisecondsOf(ours) === theirs.getTime(), path, ours, theirs);
    else if (Buffer.isBuffer(theirs)) check(Buffer.isBuffer(ours) && theirs.equals(ours), path, ours, theirs);
    else if (Array.isArray(theirs)) {
      const list = Array.isArray(ours) ? ours : [];
      check(
        Array.isArray(ours) && list.length === theirs.length,
        `${path}.length`,
        list.length,
        theirs.length,
      );
      for (const [at, item] of theirs.entries()) visit(list[at], item, `${path}[${at}]`);
    } else if (typeof theirs === 'object' && theirs !== null) {
      if (typeof ours !== 'object' || ours === null) check(false, path, ours, theirs);
      else if (MAPS.has(path.split('.').at(-1) ?? '')) visitMap(ours as Fields, theirs as Fields, path);
      else visitMessage(ours as Fields, withMembers(theirs as Fields), path);
    } else check(Object.is(ours, theirs), path, ours, theirs);
  };
  const visitMap = (ours: Fields, theirs: Fields, path: string): void => {
    const keys = Object.keys(theirs).sort();
    check(Object.keys(ours).sort().join() === keys.join(), `${path}.keys`, Object.keys(ours), keys);
    for (const key of keys) visit(ours[key], theirs[key], `${path}["${key}"]`);
  };
  const visitMessage = (ours: Fields, theirs: Fields, path: string): void => {
    const left = new Map(Object.entries(ours));
    for (const [name, value] of Object.entries(theirs)) {
      const key = snakeCase(name);
      const mine = left.get(key);
      // A message that is absent is null, an `optional` field is not even a key: `index in gpu` says it.
      if (value === undefined) check(mine === null || !left.has(key), `${path}.${key}`, mine, value);
      else visit(mine, value, `${path}.${key}`);
      left.delete(key);
    }
    for (const [key, value] of left) check(value === null, `${path}.${key}`, value, undefined);
  };
  visit(loaded, generated, 'message');
  return { differences, sameCount };
}

/** The generated code's `{ payload: { $case: 'agreement', value } }` as `{ agreement: value }`. */
function withMembers(message: Fields): Fields {
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => {
      const { $case, value: member } = (value ?? {}) as { readonly $case?: string; readonly value?: unknown };
      return $case === undefined ? [name, value] : [$case, member];
    }),
  );
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function millisecondsOf(timestamp: unknown): number {
  const { seconds, nanos } = (timestamp ?? {}) as { readonly seconds?: string; readonly nanos?: number };
  return Number(seconds) * 1_000 + Number(nanos) / 1_000_000;
}

function show(value: unknown): string {
  return typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? 'nothing');
}
