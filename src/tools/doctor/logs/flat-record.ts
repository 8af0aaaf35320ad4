import { fieldOf } from '../../../engines/diagnosis/log-fields.js';
import type { LogRecord } from '../../../engines/diagnosis/log-line.js';
import { isTextAt, nameAt, placeOfName, type Scanned, scannedRecord, valueAt } from './record-scan.js';

/** A record of JSON that is read from its text: most lines are asked for few of their fields. */
export class FlatRecord implements LogRecord {
  readonly #json: string;
  /** Something may look like a field within the text that is none. */
  readonly #isAmbiguous: boolean;
  readonly #objectName: string;
  readonly #object: Readonly<Record<string, unknown>> | undefined;
  #text: string | undefined;

  constructor(json: string, { hasOddNames, object, objectValue }: Readonly<Scanned>) {
    this.#json = json;
    this.#isAmbiguous = hasOddNames || json.includes('=');
    this.#objectName = object < 0 ? '' : nameAt(object);
    this.#object = object < 0 ? undefined : objectValue;
  }

  get message(): string {
    return valueAt(this.#scanned.message);
  }

  /** The value of the field with the time; undefined without one. */
  get time(): string | number | undefined {
    const { time } = this.#scanned;
    if (time < 0) return undefined;
    const value = valueAt(time);
    return isTextAt(time) || /^\d{16,}$/.test(value) ? value : Number(value);
  }

  get text(): string {
    this.#text ??= textOf(this.#scanned);
    return this.#text;
  }

  field(name: string): string | undefined {
    if (this.#isAmbiguous) return fieldOf(this.text, name);
    const { message, time, object } = this.#scanned;
    const at = placeOfName(name);
    if (at < 0 || at === message || at === time || at === object) return undefined;
    if (!isTextAt(at)) return wordAt(at);
    return shortened(valueAt(at));
  }

  object(name: string): Readonly<Record<string, unknown>> | undefined {
    return name === this.#objectName ? this.#object : undefined;
  }

  get #scanned(): Readonly<Scanned> {
    return scannedRecord(this.#json) as Readonly<Scanned>;
  }
}

/**
 * A record of names and plain values, as most lines of JSON are, and of one object beside them if it may have that.
 * Undefined for what is left to a parser.
 */
export function flatRecord(json: string, mayHaveObject = false): FlatRecord | undefined {
  const scanned = scannedRecord(json);
  if (scanned === undefined || (scanned.object >= 0 && !mayHaveObject)) return undefined;
  return new FlatRecord(json, scanned);
}

/** The message with its fields behind it; those of the object `fields` come last. */
function textOf(scanned: Readonly<Scanned>): string {
  const { count, innerFrom, innerUntil } = scanned;
  return [
    valueAt(scanned.message),
    fieldsText(scanned, 0, innerFrom),
    fieldsText(scanned, innerUntil, count),
    fieldsText(scanned, innerFrom, innerUntil),
  ].join('');
}

/** Fields from one place until another, each with a space before it. */
function fieldsText({ message, time, object }: Readonly<Scanned>, from: number, until: number): string {
  let text = '';
  for (let at = from; at < until; at += 1) {
    if (at === message || at === time || at === object) continue;
    const value = isTextAt(at) ? valueAt(at) : wordAt(at);
    if (value === undefined) continue;
    text += ` ${nameAt(at)}=${/\s/.test(value) ? `"${value}"` : value}`;
  }
  return text;
}

/** A value without quotation marks as the text has it; undefined for null, which is not in it. */
function wordAt(at: number): string | undefined {
  const value = valueAt(at);
  if (value.charCodeAt(0) > 57) return value === 'null' ? undefined : value;
  return value.includes('.') || value.startsWith('-') ? shortestOf(value) : value;
}

/** Digits of a number that a double holds exactly, and those of its fraction up to which it is not written with an exponent. */
const EXACT_DIGITS = 15;
const PLAIN_FRACTION = 6;

/** A number as JavaScript writes it. */
function shortestOf(value: string): string {
  const point = value.indexOf('.');
  const isPlain =
    value.length <= EXACT_DIGITS &&
    point > 0 &&
    value.length - point <= PLAIN_FRACTION + 1 &&
    value.charCodeAt(0) > 47;
  if (!isPlain) return String(Number(value));
  let end = value.length;
  while (value.charCodeAt(end - 1) === 48) end -= 1;
  return value.slice(0, end - 1 === point ? point : end);
}

/** Up to the first sign that ends a value without quotation marks, as `fieldOf` has it. */
function shortened(value: string): string {
  for (let at = 0; at < value.length; at += 1) {
    const code = value.charCodeAt(at);
    if (code > 32 && code < 127 && code !== 44 && code !== 59 && code !== 41 && code !== 125 && code !== 93)
      continue;
    // Letters, digits and most signs are above; of what is left, white space puts it into quotation marks.
    return /\s/.test(value) ? value : (fieldOf(`v=${value}`, 'v') ?? value);
  }
  return value;
}
