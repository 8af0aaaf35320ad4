import { onOneLine } from '../../../core/text/printable.js';
import type { Assessment, Clue, Confidence, Diagnosis, ProposedFix } from '../diagnosis.js';
import type { Evidence } from '../evidence.js';
import { masked } from '../logs/masking.js';
import type { Step } from '../memory/memory-arithmetic.js';
import { amountText, countText, dateText, durationText, isoText, shareText } from './figures.js';
import { CONFIDENCES, DISTURBANCES, STATUSES, VERDICTS } from './labels.js';
import { type MemorySlice, slicesOf } from './memory-slices.js';
import { type RateRow, rateRows } from './rate-rows.js';
import type { ReportOptions } from './report-options.js';
import { placeText, rawText, shownDiff } from './safe-text.js';
import { memorySentence, routingSentence, sourceDetail, sourceName, sourcesSentence } from './sentences.js';
import { settingTable } from './setting-rows.js';
import { type SizeRow, sizeRows, sizeTable } from './size-rows.js';
import { type Table, tableOf } from './table.js';

/** One sentence with its evidence; `place` and `raw` are empty where there is none. */
export interface ShownClue extends Pick<Clue, 'says'> {
  readonly place: string;
  readonly raw: string;
}

/** A proposed change, as it may be shown to anyone. */
export interface ShownFix extends Pick<ProposedFix, 'says' | 'why' | 'commands' | 'verify'> {
  /** What restarts: `restarts the frontend`. */
  readonly effect: string;
  /** Files that change, with a diff that has no secrets; the diff is empty where nothing differs. */
  readonly files: readonly { readonly file: string; readonly diff: string }[];
}

/** One cause with all that speaks for and against it. */
export interface CauseSection extends Pick<Assessment, 'confidence' | 'headline' | 'explanation'> {
  readonly id: Assessment['cause'];
  /** What the confidence rests on, and whether somebody may want it so. */
  readonly confidenceText: string;
  /** Its name beside others: `events_off (possible; may be meant)`. */
  readonly label: string;
  readonly cluesFor: readonly ShownClue[];
  readonly cluesAgainst: readonly ShownClue[];
  readonly fixes: readonly ShownFix[];
}

/** One line of the arithmetic of memory. */
export interface ShownStep extends Pick<Step, 'says' | 'expression'> {
  readonly result: string;
  /** Where its numbers come from, joined by commas. */
  readonly places: string;
}

/** The memory of one worker. */
export interface MemorySection {
  /** Empty when it is not known whose it is. */
  readonly who: string;
  readonly sentence: string;
  readonly steps: readonly ShownStep[];
  readonly slices: readonly MemorySlice[];
}

/** How routing went. */
export interface RoutingSection {
  readonly sentence: string;
  readonly figures: readonly { readonly name: string; readonly value: string }[];
  readonly byWorker: readonly { readonly worker: string; readonly count: number }[];
  readonly byWorkerTable: Table;
}

/** All that a report shows. Its texts are on one line each, without secrets and control characters; renderers only lay them out. */
export interface ReportDocument extends Pick<Diagnosis, 'verdict' | 'headline' | 'advice' | 'unknowns'> {
  readonly verdictText: string;
  /** Undefined when nothing was found. */
  readonly confidence: { readonly name: Confidence; readonly text: string } | undefined;
  /** The most likely first. */
  readonly causes: readonly CauseSection[];
  /** Ways to leave more of the cache to prefixes, beside a finding of another kind. */
  readonly options: readonly ShownFix[];
  /** Questions, each with its answer or what is missing for one. */
  readonly checks: Table;
  /** How many of the questions have an answer: `14 of 19 questions answered`. */
  readonly checksSentence: string;
  readonly sizes: Table;
  readonly sizeRows: readonly SizeRow[];
  readonly memory: readonly MemorySection[];
  readonly routing: RoutingSection | undefined;
  readonly rates: readonly RateRow[];
  readonly settings: Table;
  readonly sources: Table;
  readonly sourcesSentence: string;
  readonly version: string;
  /** `2026-02-16 14:38:53 UTC`, and the same in ISO 8601. */
  readonly date: string;
  readonly isoDate: string;
}

/** Makes the document of a diagnosis. */
export function reportDocument(
  diagnosis: Diagnosis,
  evidence: Evidence,
  { version, generatedAtMs }: ReportOptions,
): ReportDocument {
  const { verdict, headline, advice, assessments, unknowns, memory } = diagnosis;
  const name = verdict === 'findings' ? assessments[0]?.confidence : undefined;
  const rows = sizeRows(evidence);
  return {
    verdict,
    verdictText: VERDICTS[verdict],
    headline: onOneLine(headline),
    advice: onOneLine(advice),
    confidence: name === undefined ? undefined : { name, text: CONFIDENCES[name] },
    causes: assessments.map(causeSection),
    options: diagnosis.options.map(shownFix),
    checks: checkTable(diagnosis),
    checksSentence: checksSentence(diagnosis),
    sizes: sizeTable(rows),
    sizeRows: rows,
    memory: memory.map((one) => memorySection(one, evidence)),
    routing: routingSection(diagnosis),
    rates: rateRows(evidence.logs),
    settings: settingTable(evidence),
    sources: tableOf(
      ['Source', 'Kind', 'Status', 'Detail'],
      evidence.sources.map((source) => [
        sourceName(source),
        source.kind,
        STATUSES[source.status],
        sourceDetail(source),
      ]),
    ),
    sourcesSentence: sourcesSentence(evidence.sources),
    unknowns: unknowns.map((unknown) => onOneLine(unknown)),
    version: onOneLine(version),
    date: dateText(generatedAtMs),
    isoDate: isoText(generatedAtMs),
  };
}

function checkTable({ checks }: Diagnosis): Table {
  return tableOf(
    ['Question', 'Answer', 'From'],
    checks.map(({ asks, answer, missing, origin }) => [
      asks,
      onOneLine(masked(answer ?? `Not answered. ${missing ?? ''}`)),
      origin === undefined ? '-' : placeText(origin),
    ]),
  );
}

function checksSentence({ checks }: Diagnosis): string {
  const answered = checks.filter(({ answer }) => answer !== undefined);
  return `${answered.length} of ${checks.length} questions of an investigation are answered`;
}

function causeSection(assessment: Assessment): CauseSection {
  const { cause, confidence, headline, explanation, cluesFor, cluesAgainst, fixes, mayBeMeant } = assessment;
  const meant = mayBeMeant === true ? '; may be meant' : '';
  return {
    id: cause,
    confidence,
    confidenceText: `${CONFIDENCES[confidence]}${meant}`,
    label: `${cause} (${confidence}${meant})`,
    headline: onOneLine(headline),
    explanation: onOneLine(explanation),
    cluesFor: cluesFor.map(shownClue),
    cluesAgainst: cluesAgainst.map(shownClue),
    fixes: fixes.map(shownFix),
  };
}

function shownClue({ says, origin }: Clue): ShownClue {
  return origin === undefined
    ? { says: onOneLine(says), place: '', raw: '' }
    : { says: onOneLine(says), place: placeText(origin), raw: rawText(origin) };
}

function shownFix({ says, why, disturbs, files, commands, verify }: ProposedFix): ShownFix {
  return {
    says: onOneLine(says),
    why: onOneLine(why),
    effect: DISTURBANCES[disturbs],
    files: files.map((file) => ({ file: onOneLine(file.file), diff: shownDiff(file) })),
    commands: commands.map((command) => onOneLine(command)),
    verify: verify.map((check) => onOneLine(check)),
  };
}

function memorySection(memory: Diagnosis['memory'][number], { gpus }: Evidence): MemorySection {
  return {
    who: onOneLine(memory.who),
    sentence: memorySentence(memory),
    steps: memory.steps.map(({ says, expression, value, unit, origins }) => ({
      says: onOneLine(says),
      expression: onOneLine(expression),
      result: amountText(value, unit),
      places: [...new Set(origins.map(placeText))].join(', '),
    })),
    slices: slicesOf(memory, gpus),
  };
}

function routingSection({ routing }: Diagnosis): RoutingSection | undefined {
  if (routing === undefined) return undefined;
  const { decisions, decisionsByWorker, routerHitRate, engineHitRate, firstTokenSeconds } = routing;
  const figure = (name: string, value: number | undefined, textOf: (value: number) => string) =>
    value === undefined ? [] : [{ name, value: textOf(value) }];
  const byWorker = [...decisionsByWorker].map(([worker, count]) => ({
    worker: worker === '' ? 'others' : onOneLine(worker),
    count,
  }));
  return {
    sentence: routingSentence(routing),
    figures: [
      ...figure('decisions', decisions, countText),
      ...figure('the router expected cached', routerHitRate, shareText),
      ...figure('engines really had', engineHitRate, shareText),
      ...figure('first token, first turns', firstTokenSeconds.cold, durationText),
      ...figure('first token, follow-ups', firstTokenSeconds.warm, durationText),
    ],
    byWorker,
    byWorkerTable: tableOf(
      ['Worker', '#Decisions'],
      byWorker.map(({ worker, count }) => [worker, countText(count)]),
    ),
  };
}
