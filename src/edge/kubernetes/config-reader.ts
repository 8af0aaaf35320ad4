import type { JsonObject } from '../platform/data/json-object.js';
import { KubernetesError } from './kubernetes-error.js';
import { asRecord } from './read-json.js';

/** One object of a configuration file, with its place in it for messages. */
export class ConfigReader {
  /** `/home/ann/.kube/config: users[ann].user`. */
  readonly place: string;
  readonly #record: JsonObject;

  constructor(value: unknown, place: string) {
    const record = asRecord(value);
    if (record === undefined)
      throw new KubernetesError('no_configuration', `${place} must be an object with named fields`);
    this.#record = record;
    this.place = place;
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined;
  }

  /** The text of a field; undefined where it is left out or empty. */
  text(name: string): string | undefined {
    const value = this.#value(name);
    if (value === undefined || value === '') return undefined;
    if (typeof value !== 'string') throw this.fault(name, 'must be text');
    return value;
  }

  required(name: string): string {
    const text = this.text(name);
    if (text === undefined) throw this.fault(name, 'is missing');
    return text;
  }

  /** Base64, decoded as UTF-8. */
  decoded(name: string): string | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text)) throw this.fault(name, 'must be base64');
    return Buffer.from(text, 'base64').toString('utf8');
  }

  flag(name: string): boolean {
    const value = this.#value(name);
    if (value === undefined) return false;
    if (typeof value !== 'boolean') throw this.fault(name, 'must be true or false');
    return value;
  }

  list(name: string): readonly unknown[] {
    const value = this.#value(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw this.fault(name, 'must be a list');
    return value;
  }

  object(name: string): ConfigReader {
    return new ConfigReader(this.#value(name), `${this.place}${this.#separator}${name}`);
  }

  fault(name: string, problem: string): KubernetesError {
    return new KubernetesError('no_configuration', `${this.place}${this.#separator}${name} ${problem}`);
  }

  get #separator(): string {
    return this.place.endsWith(': ') ? '' : '.';
  }

  #value(name: string): unknown {
    const value = Object.hasOwn(this.#record, name) ? this.#record[name] : undefined;
    return value === null ? undefined : value;
  }
}
