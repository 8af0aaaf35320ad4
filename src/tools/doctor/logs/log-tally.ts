import type {
  Decision,
  DecisionKind,
  EnginePart,
  EngineReading,
  ErrorDetails,
  KnownFaultDetails,
  LogFindings,
  PoolDetails,
  RoomFacts,
  SettingDetails,
  SignalDetails,
  SizeDetails,
} from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import type { SettingName } from '../../../engines/diagnosis/sighting-words.js';
import type { Signal } from '../../../engines/diagnosis/signals.js';
import type { Origin } from '../sightings.js';
import { CostCount } from './cost-count.js';
import { CrashTally } from './crashes.js';
import { Decisions } from './decisions.js';
import { EngineCount } from './engine-count.js';
import { isWarning } from './error-level.js';
import { Failures } from './failures.js';
import { environmentKindOf } from './general/environment-kinds.js';
import { isHarmlessError } from './general/harmless-errors.js';
import { KnownFaultTally } from './known-fault-tally.js';
import { lastWords } from './last-words.js';
import type { LogSummary } from './log-summary.js';
import { excerptOf } from './masking.js';
import { shortenedBeforeAdvice } from './own-advice.js';
import { PanicReader } from './panics.js';
import { RoomTally } from './room-tally.js';
import { SightingTally } from './sighting-tally.js';
import { SignalCount, signalTally } from './signal-count.js';
import { lastLineOf } from './traceback-reader.js';
import { UnexplainedLines } from './unexplained-lines.js';

const MAX_INDEXERS = 64;
const MAX_VALUE_CHARS = 200;

/** What rules found so far. All of it is bounded, whatever the log has. */
export class LogTally implements LogFindings {
  /** The worker that a process says itself to be; empty before it does. */
  ownWorker = '';
  /** The mode of the last decision. */
  routerMode = '';
  /** Signs, settings, sizes, decisions and readings that rules found so far: a line that adds none was not understood. */
  found = 0;
  readonly #unexplained = new UnexplainedLines({
    tally: this,
    onFault: (line, { signal, value }, text, count) =>
      this.#count(signal, line, { value, about: text.slice(0, 60), count }),
    isKnown: (line, text) => this.#readAgain(line, text),
    originOf: (line) => this.#originOf(line, ''),
  });
  readonly #readAgain: (line: LogLine, text: string) => boolean;
  readonly #name: string;
  readonly #who: string;
  readonly #signals = new Map<Signal, SignalCount>();
  readonly #decisions = new Decisions();
  readonly #sightings = new SightingTally((line) => this.#whoOf(line));
  /** Pods that run a standalone indexer; "" for a log without prefixes. */
  readonly #indexers = new Set<string>();
  #costs: CostCount | undefined;
  #engine: EngineCount | undefined;
  readonly #failures = new Failures();
  readonly #crashes = new CrashTally(this);
  readonly #panics = new PanicReader(this);
  readonly #knownFaults = new KnownFaultTally();
  readonly #room = new RoomTally((line, details) => this.#count('cache_memory_missing', line, details));

  /**
   * `who` is the pod or worker whose log it is, when that is known from elsewhere. `readAgain` reads a line by the rules with
   * another text, and says whether they made anything of it.
   */
  constructor(name: string, who: string, readAgain: (line: LogLine, text: string) => boolean) {
    this.#name = name;
    this.#who = who;
    this.#readAgain = readAgain;
  }

  /** Whether lines at error level that no rule understood are still counted. */
  get countsUnexplained(): boolean {
    return this.#unexplained.isCounting;
  }

  /** A line at error level of which no rule made anything. */
  addUnexplained(line: LogLine): void {
    if (isHarmlessError(line.text)) return;
    this.#crashes.addError(line, line.text);
    // Last words of a program in Rust are read below, without their quotation marks.
    const last = lastWords(line.text) === undefined ? lastLineOf(line.text) : undefined;
    if (last !== undefined && (this.#lacksReason(line) || environmentKindOf(last) !== undefined))
      this.addError(line, { sentence: last, about: last.slice(0, 60) });
    this.#unexplained.add(line);
  }

  /** Whether the exception of a traceback, whatever its name, is why the program ends or has ended. */
  #lacksReason({ lineNumber, who }: LogLine): boolean {
    const failures = this.#failures.of(who);
    return (
      failures.isBelowEntry(lineNumber) ||
      failures.isBelowPart(lineNumber) ||
      failures.lacksReason(lineNumber)
    );
  }

  addKnownFault(id: string, line: LogLine, details: KnownFaultDetails): void {
    if (!this.#knownFaults.isInPlace(details, line)) return;
    this.found += 1;
    this.#knownFaults.add(id, line.lineNumber, details, () => this.#originOf(line, details.about));
  }

  addMark(mark: string, line: LogLine): void {
    this.#knownFaults.addMark(mark, line);
  }

  addWords(mark: string, line: LogLine): void {
    this.#knownFaults.addWords(mark, line);
  }

  wordsAbove(marks: readonly string[] | undefined, line: LogLine): string {
    return marks === undefined ? '' : this.#knownFaults.wordsAbove(marks, line);
  }

  isKnown({ lineNumber }: LogLine): boolean {
    return this.#knownFaults.has(lineNumber);
  }

  addSignal(signal: Signal, line: LogLine, details: SignalDetails): void {
    this.found += 1;
    if (this.isKnown(line)) return;
    this.#knownFaults.understand(line.lineNumber);
    if (signal === 'cache_memory_missing') this.#room.add(line, details);
    else this.#count(signal, line, details);
  }

  addRoomFacts(line: LogLine, facts: RoomFacts): void {
    this.#room.addFacts(line, facts);
  }

  takenFor(line: LogLine): RoomFacts['taking'] {
    return this.#room.takenFor(line);
  }

  #count(signal: Signal, line: LogLine, details: SignalDetails): void {
    const { worker, value, about, count = 1 } = details;
    let tally = this.#signals.get(signal);
    if (tally === undefined) {
      tally = new SignalCount(this.#originOf(line, about));
      this.#signals.set(signal, tally);
    }
    tally.before ??= this.#unexplained.before(line);
    if (tally.lastLine === line.lineNumber) return;
    tally.lastLine = line.lineNumber;
    tally.count += count;
    tally.rate.addLine(line, 0, count);
    tally.byWorker.add(worker ?? this.#whoOf(line), count);
    if (value !== undefined) tally.values.add(value.slice(0, MAX_VALUE_CHARS), count);
  }

  addFrame(line: LogLine, isOfCache?: boolean): void {
    this.found += 1;
    this.#crashes.addFrame(line, isOfCache);
  }

  addReason(line: LogLine, sentence: string): void {
    this.#crashes.addReason(line, sentence);
  }

  exceptionBefore(line: LogLine): string {
    return this.#crashes.exceptionBefore(line);
  }

  addTraceback(): void {
    this.#crashes.begin();
  }

  /** Whether the next line belongs to a traceback, whatever it is. */
  get isWithinTraceback(): boolean {
    return this.#crashes.isOpen || this.#panics.isOpen || this.#unexplained.isOpen;
  }

  addPanic(line: LogLine): void {
    this.#panics.add(line);
  }

  follow(line: LogLine): void {
    if (this.#crashes.isOpen || this.#panics.isOpen) this.found += 1;
    this.#crashes.follow(line);
    this.#panics.follow(line);
    this.#unexplained.follow(line);
  }

  takeBack(signal: Signal, line: LogLine, worker: string = this.#whoOf(line)): void {
    const tally = this.#signals.get(signal);
    const passed = tally?.byWorker.counts.get(worker) ?? 0;
    if (tally === undefined || passed === 0) return;
    tally.count -= passed;
    tally.byWorker.add(worker, -passed);
    if (tally.count <= 0) this.#signals.delete(signal);
  }

  /** The line is of a standalone indexer. */
  addIndexer({ who }: LogLine): void {
    if (this.#indexers.size < MAX_INDEXERS) this.#indexers.add(who);
  }

  /** Whether a standalone indexer writes such lines: sizes in its warnings are its own. */
  isOfIndexer({ who }: LogLine): boolean {
    return this.#indexers.has(who);
  }

  addDecision(kind: DecisionKind, line: LogLine, decision: Decision): void {
    this.found += 1;
    this.#decisions.add(kind, line, decision);
  }

  addOverlap(ids: readonly string[], cachedBlocks: number): void {
    this.#decisions.addOverlap(ids, cachedBlocks);
  }

  addFirstToken(ids: readonly string[], firstTokenMs: number): void {
    this.#decisions.addFirstToken(ids, firstTokenMs);
  }

  addPrompt(line: LogLine, promptTokens: number, cachedTokens: number, model?: string): void {
    this.found += 1;
    this.#decisions.addPrompt(line, promptTokens, cachedTokens, model);
  }

  addCost(line: LogLine, cachedBlocks: number, overlapWeight: string | undefined): void {
    this.found += 1;
    this.#costs ??= new CostCount(this.#originOf(line, 'Formula for'));
    this.#costs.add(cachedBlocks, overlapWeight);
  }

  addSize(line: LogLine, details: SizeDetails): void {
    if (this.#sightings.addSize(line, details)) this.found += 1;
  }

  addSetting(line: LogLine, name: SettingName, details: SettingDetails): void {
    if (this.#sightings.addSetting(line, name, details)) this.found += 1;
  }

  addStart(line: LogLine): void {
    this.#sightings.addStart(line);
  }

  addWindowPools(line: LogLine): void {
    this.#sightings.addWindowPools(line);
  }

  addPool(line: LogLine, details: PoolDetails): void {
    if (this.#sightings.addPool(line, details)) this.found += 1;
  }

  addEngineReading(line: LogLine, reading: EngineReading): void {
    this.found += 1;
    this.#sightings.addServed(line);
    this.#engine ??= new EngineCount(line);
    this.#engine.add(reading, line);
  }

  addError(line: LogLine, { sentence, about, isNamed = false, isEnd = false }: ErrorDetails): void {
    this.#crashes.addError(line, sentence);
    // What a program only warns of does not end it, but for the warning that it has ended.
    if (isWarning(line.text) && !isEnd) return;
    this.#knownFaults.understand(line.lineNumber);
    this.#failures
      .of(line.who)
      .addError(
        line.lineNumber,
        excerptOf(shortenedBeforeAdvice(sentence, MAX_VALUE_CHARS), '').slice(0, MAX_VALUE_CHARS),
        isNamed || this.isKnown(line),
        () => this.#originOf(line, about),
      );
  }

  addEnd(line: LogLine, about: string): void {
    this.found += 1;
    this.#failures.of(line.who).addEnd(line.lineNumber, () => this.#originOf(line, about));
  }

  addEntry({ lineNumber, who }: LogLine, isServing = true): void {
    this.#failures.of(who).addEntry(isServing ? lineNumber : undefined);
  }

  addPart({ lineNumber, who }: LogLine, part: EnginePart): void {
    this.#failures.of(who).addPart(lineNumber, part);
  }

  addStop({ lineNumber, who }: LogLine): void {
    this.#failures.of(who).addStop(lineNumber);
  }

  /** `lines` are those of the whole log. */
  async finish(
    lines: number,
  ): Promise<
    Pick<
      LogSummary,
      | 'signals'
      | 'failures'
      | 'knownFaults'
      | 'unexplainedErrors'
      | 'decisions'
      | 'costs'
      | 'engine'
      | 'sizes'
      | 'settings'
    >
  > {
    const originOf = (line: LogLine, about = ''): Origin => this.#originOf(line, about);
    this.#crashes.finish();
    this.#panics.finish();
    const unexplainedErrors = this.#unexplained.finish(lines);
    this.#room.finish();
    const failures = this.#failures.finish(lines);
    const knownFaults = await this.#knownFaults.finish();
    return {
      signals: new Map([...this.#signals].map(([signal, count]) => [signal, signalTally(signal, count)])),
      ...(failures.length === 0 ? {} : { failures }),
      ...(unexplainedErrors === undefined ? {} : { unexplainedErrors }),
      ...(knownFaults.length === 0 ? {} : { knownFaults }),
      decisions: this.#decisions.finish(originOf),
      costs: this.#costs?.finish(),
      engine: this.#engine?.finish(originOf),
      ...this.#sightings.finish(originOf),
    };
  }

  #whoOf({ who }: LogLine): string {
    return who || this.#who || this.ownWorker;
  }

  #originOf({ lineNumber, text }: Pick<LogLine, 'lineNumber' | 'text'>, about: string): Origin {
    return { place: `${this.#name}:${lineNumber}`, text: excerptOf(text, about) };
  }
}
