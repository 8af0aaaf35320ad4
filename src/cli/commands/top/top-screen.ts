import { countOf } from '../../../core/text/lists.js';
import type { ViewDocument } from '../../../core/view/view-document.js';
import { type Screen, ScrollView } from '../status/scroll-view.js';
import { decisionLines, timelineLines } from './event-lines.js';
import { timeOfDay } from './format-number.js';
import { Rates } from './rates.js';
import { SORTS, type Sort } from './settings.js';
import { summaryLines } from './summary-lines.js';
import { drawLine, type Line } from './top-line.js';
import { workerLines } from './worker-lines.js';

/** What stands below the summary. */
const PAGES = ['workers', 'decisions', 'timeline'] as const;
type Page = (typeof PAGES)[number];

/** Longest filter. */
const MAX_FILTER_CHARS = 100;

/** Lines of the table that are left however long the summary is. */
const MIN_BODY_ROWS = 4;

export interface TopScreenOptions {
  readonly address: string;
  readonly sort: Sort;
  readonly filter: string;
  readonly group: string | undefined;
  readonly hasColours: boolean;
  /** True where the terminal shows ASCII alone. */
  readonly isPlain: boolean;
}

/** What `kv-accord top` shows, and what keys do with it. */
export class TopScreen {
  readonly #options: TopScreenOptions;
  readonly #rates = new Rates();
  readonly #view = new ScrollView();
  #document: ViewDocument | undefined;
  #problem = '';
  #page: Page = 'workers';
  #sort: Sort;
  #isReversed = false;
  #filter: string;
  #isTyping = false;
  #group: string | undefined;
  /** Lines above the table, as they were drawn last. */
  #aboveCount = 0;

  constructor(options: TopScreenOptions) {
    this.#options = options;
    this.#sort = options.sort;
    this.#filter = options.filter;
    this.#group = options.group;
  }

  /** Shows this from now on. */
  take(document: ViewDocument): void {
    this.#document = document;
    this.#problem = '';
    this.#rates.add(document);
  }

  /** Says why nothing new comes; what is known stays. */
  fail(problem: string): void {
    this.#problem = problem;
  }

  /** What a key does: `quit`, or whether the screen is another one now. */
  press(key: string, screen: Screen): 'quit' | boolean {
    if (this.#isTyping) return this.#type(key);
    switch (key) {
      case 'q':
        return 'quit';
      case 's':
        this.#sort = SORTS[(SORTS.indexOf(this.#sort) + 1) % SORTS.length] ?? 'state';
        return true;
      case 'r':
        this.#isReversed = !this.#isReversed;
        return true;
      case '/':
        this.#isTyping = true;
        return true;
      case 'escape':
        this.#filter = '';
        return true;
      case 'm':
        return this.#nextGroup();
      case 'tab':
        return this.#open(PAGES[(PAGES.indexOf(this.#page) + 1) % PAGES.length]);
      case '1':
      case '2':
      case '3':
        return this.#open(PAGES[Number(key) - 1]);
      default:
        return this.#view.press(key, { ...screen, rows: this.#bodyRows(screen) });
    }
  }

  /** The whole screen, or, without rows, all lines. */
  draw(screen: Screen, nowMs: number): string {
    const { hasColours } = this.#options;
    const { columns } = screen;
    const draw = (line: Line): string => drawLine(line, columns, hasColours);
    const { head, body } = this.#body(columns, nowMs);
    const above = [...this.#head(columns, nowMs), this.#bar(), ...head].map(draw);
    this.#view.setText(body.map(draw).join('\n'));
    if (screen.rows === Number.POSITIVE_INFINITY) return `${[...above, ...body.map(draw)].join('\n')}\n`;
    this.#aboveCount = above.length;
    const rows = this.#bodyRows(screen);
    // What has no room is left out of the middle of the summary, never of the table.
    const room = Math.max(0, screen.rows - rows);
    const titles = 1 + head.length;
    const kept =
      above.length <= room
        ? above
        : [...above.slice(0, Math.max(0, room - titles)), ...above.slice(-titles)].slice(-room);
    const lines = [...(room === 0 ? [] : kept), ...this.#view.draw({ columns, rows }).trimEnd().split('\n')];
    return lines.slice(0, screen.rows).join('\n');
  }

  #bodyRows({ rows }: Screen): number {
    return Math.max(MIN_BODY_ROWS, rows - this.#aboveCount);
  }

  #type(key: string): boolean {
    if (key === 'return' || key === 'enter') this.#isTyping = false;
    else if (key === 'escape') {
      this.#isTyping = false;
      this.#filter = '';
    } else if (key === 'backspace') this.#filter = this.#filter.slice(0, -1);
    else {
      const character = key === 'space' ? ' ' : key.replace(/^shift\+/, '');
      if (character.length !== 1 || this.#filter.length >= MAX_FILTER_CHARS) return false;
      this.#filter += character;
    }
    return true;
  }

  #open(page: Page | undefined): boolean {
    this.#page = page ?? 'workers';
    this.#view.press('home', { columns: 0, rows: 1 });
    return true;
  }

  #nextGroup(): boolean {
    const groups = this.#document?.models.map(({ group }) => group) ?? [];
    const at = this.#group === undefined ? -1 : groups.indexOf(this.#group);
    this.#group = groups[at + 1];
    return groups.length > 1;
  }

  #head(columns: number, nowMs: number): Line[] {
    const document = this.#document;
    const { address, isPlain } = this.#options;
    if (document === undefined) return [{ text: this.#problem || `waiting for ${address}`, tone: 'warn' }];
    const { headline, atMs, workerCount } = document;
    const about = document.process;
    const [first = '', ...rest] = headline.text.split('\n');
    const more = rest.length > 0 ? ` (and ${rest.length} more)` : '';
    const title = `${about.title} ${about.productVersion} at ${address}  ${timeOfDay(nowMs)} UTC  ${countOf(workerCount, 'worker')}`;
    return [
      { text: title, tone: 'title' },
      ...(this.#problem === ''
        ? []
        : [{ text: `${this.#problem}; what follows is of ${timeOfDay(atMs)}`, tone: 'bad' as const }]),
      // Models say the same of themselves, where there are any.
      ...(document.models.length > 0 && headline.tone !== 'bad'
        ? []
        : [{ text: `${first}${more}`, tone: headline.tone }]),
      ...summaryLines(document, this.#group, isPlain).map((line) =>
        columns > 0 ? line : { ...line, text: '' },
      ),
    ];
  }

  #bar(): Line {
    const pages = PAGES.map((page, at) =>
      page === this.#page ? `[${at + 1} ${page}]` : ` ${at + 1} ${page} `,
    ).join('');
    const sort =
      this.#page === 'workers' ? `  sort: ${this.#sort}${this.#isReversed ? ' reversed' : ''}` : '';
    const filter = this.#isTyping
      ? `  filter: ${this.#filter}_`
      : this.#filter === ''
        ? ''
        : `  filter: ${this.#filter}`;
    const group = this.#group === undefined ? '' : `  model: ${this.#group}`;
    return { text: `${pages}${filter}${sort}${group}`, tone: 'title' };
  }

  #body(columns: number, nowMs: number): { readonly head: readonly Line[]; readonly body: readonly Line[] } {
    const document = this.#document;
    const filter = this.#filter.toLowerCase();
    const group = this.#group;
    if (document === undefined) return { head: [], body: [] };
    const { isPlain } = this.#options;
    const none = (what: string): readonly Line[] => [
      { text: filter === '' ? `No ${what} yet.` : `No ${what} with "${filter}".`, tone: 'plain' },
    ];
    if (this.#page === 'workers') {
      const { head, lines, count } = workerLines(document, this.#rates, {
        columns,
        sort: this.#sort,
        isReversed: this.#isReversed,
        filter,
        group,
        isPlain,
        nowMs,
      });
      return count === 0 ? { head: [], body: none('worker') } : { head: [head], body: lines };
    }
    const lines =
      this.#page === 'decisions'
        ? decisionLines(document, group, filter)
        : timelineLines(document, group, filter, columns);
    if (lines.length > 0) return { head: [], body: lines };
    const isElsewhere = this.#page === 'decisions' && !document.process.routes;
    return {
      head: [],
      body: isElsewhere
        ? document.process.notes.map((text): Line => ({ text, tone: 'plain' }))
        : none(this.#page === 'decisions' ? 'decision' : 'entry'),
    };
  }
}
