import type { PoolDetails, SettingDetails, SizeDetails } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import type { Origin, SettingSighting, SizeSighting } from '../sightings.js';
import type { LogSummary } from './log-summary.js';
import { Starts } from './starts.js';

const MAX_WORKERS = 64;
const MAX_SIGHTINGS = 256;
const MAX_VALUE_CHARS = 200;

/** A sighting with its line: an excerpt is made of what is left at the end, as each start of an engine repeats them all. */
type Seen<Sighting extends { readonly origin: Origin }> = Omit<Sighting, 'origin'> & {
  readonly line: LogLine;
  readonly about: string;
};

/** Sizes and settings of one log. Of a worker that started again those of its last start count. Bounded, whatever the log has. */
export class SightingTally {
  readonly #whoOf: (line: LogLine) => string;
  readonly #sizes = new Map<string, Seen<SizeSighting>>();
  readonly #settings = new Map<string, Seen<SettingSighting>>();
  /** The last setting of each worker: busy lines repeat it. */
  readonly #latest = new Map<
    string,
    { readonly name: SettingName; readonly value: unknown; readonly side: string }
  >();
  readonly #starts = new Starts();

  /** `whoOf` says whose line it is. */
  constructor(whoOf: (line: LogLine) => string) {
    this.#whoOf = whoOf;
  }

  /** Whether the line has a size. */
  addSize(line: LogLine, details: SizeDetails): boolean {
    const { side, who = this.#whoOf(line), tokensPerBlock, basis, about } = details;
    if (tokensPerBlock === undefined) return false;
    const key = `${side}\n${who}\n${tokensPerBlock}\n${basis}`;
    if (!this.#sizes.has(key) && this.#sizes.size < MAX_SIGHTINGS)
      this.#sizes.set(key, { side, who, tokensPerBlock, basis, line, about });
    return true;
  }

  /** Whether the line has a value of the setting. */
  addSetting(line: LogLine, name: SettingName, details: SettingDetails): boolean {
    const { side, who = this.#whoOf(line), value } = details;
    if (value === undefined || value === '') return false;
    const latest = this.#latest.get(who);
    if (latest?.name === name && latest.value === value && latest.side === side) return true;
    if (latest !== undefined || this.#latest.size < MAX_WORKERS) this.#latest.set(who, { name, value, side });
    this.#keepSetting(line, name, details, who, String(value).slice(0, MAX_VALUE_CHARS));
    return true;
  }

  #keepSetting(line: LogLine, name: SettingName, details: SettingDetails, who: string, value: string): void {
    const { side, isDefault = false, keepsLargest = false, about } = details;
    const key = `${side}\n${who}\n${name}\n${value}`;
    if (this.#settings.has(key)) return;
    if (keepsLargest && !this.#isLargest(side, who, name, Number(value))) return;
    if (this.#settings.size >= MAX_SIGHTINGS) return;
    this.#settings.set(key, { side, who, name, value, isDefault, line, about });
  }

  /** Whether a number is larger than what is kept, which is then dropped. */
  #isLargest(side: string, who: string, name: SettingName, value: number): boolean {
    for (const [key, one] of this.#settings) {
      if (one.side !== side || one.who !== who || one.name !== name) continue;
      if (Number(one.value) >= value) return false;
      this.#settings.delete(key);
    }
    return true;
  }

  /** A worker starts: what one that served before said is dropped. */
  addStart(line: LogLine): void {
    const who = this.#whoOf(line);
    if (!this.#starts.isAnother(who)) return;
    for (const [key, one] of this.#sizes)
      if (one.side === 'worker' && one.who === who) this.#sizes.delete(key);
    for (const [key, one] of this.#settings)
      if (one.side === 'worker' && one.who === who) this.#settings.delete(key);
    this.#latest.delete(who);
  }

  /** A worker has served: its next start is another one. */
  addServed(line: LogLine): void {
    this.#starts.addServed(this.#whoOf(line));
  }

  addWindowPools(line: LogLine): void {
    this.#starts.addWindowPools(this.#whoOf(line));
  }

  /** Whether the line has tokens or bytes of a pool. */
  addPool(line: LogLine, { tokens, bytes, about }: PoolDetails): boolean {
    const all = this.#starts.bytesWith(this.#whoOf(line), tokens, bytes);
    const details = { side: 'worker', about, keepsLargest: true } as const;
    const hasBytes = this.addSetting(line, 'kv_cache_bytes', { ...details, value: all });
    return this.addSetting(line, 'kv_cache_tokens', { ...details, value: tokens }) || hasBytes;
  }

  /** The model of a worker, by its own name; of a log of one worker by what any of its lines says. */
  #modelOf({ side, who }: Pick<SizeSighting, 'side' | 'who'>): Pick<SizeSighting, 'model'> {
    if (side !== 'worker') return {};
    const named = [...this.#settings.values()].filter(
      (one) => one.name === 'served_model' && (one.who === who || one.who === '' || who === ''),
    );
    const models = new Set(named.map(({ value }) => value));
    const [model] = models;
    return model === undefined || models.size > 1 ? {} : { model };
  }

  finish(originOf: (line: LogLine, about: string) => Origin): Pick<LogSummary, 'sizes' | 'settings'> {
    return {
      sizes: [...this.#sizes.values()].map(({ line, about, ...one }) => ({
        ...one,
        ...this.#modelOf(one),
        origin: originOf(line, about),
      })),
      settings: [...this.#settings.values()].map(({ line, about, ...one }) => ({
        ...one,
        origin: originOf(line, about),
      })),
    };
  }
}
