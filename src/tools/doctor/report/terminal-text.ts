/** What a terminal can show beside plain letters. */
export type Ink = 'red' | 'green' | 'yellow' | 'cyan' | 'bold' | 'dim';

const CODES: Readonly<Record<Ink, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };

/** Narrower than this nothing can be read. */
const MIN_COLUMNS = 40;
const DEFAULT_COLUMNS = 100;

/** Text for a terminal of some width: labelled, wrapped, and coloured only where that was asked for. */
export class TerminalText {
  readonly columns: number;
  readonly #isColoured: boolean;
  readonly #lines: string[] = [];

  constructor({ columns, isColoured }: { columns: number | undefined; isColoured: boolean }) {
    // A terminal that nobody has given a size yet says 0.
    this.columns = Math.max(MIN_COLUMNS, columns || DEFAULT_COLUMNS);
    this.#isColoured = isColoured;
  }

  get text(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  ink(text: string, ink: Ink | undefined): string {
    return this.#isColoured && ink !== undefined && text !== ''
      ? `\u001b[${CODES[ink]}m${text}\u001b[0m`
      : text;
  }

  /** As it is, whatever its width: diffs and commands, which have to survive a copy. */
  raw(text: string, ink?: Ink): void {
    this.#lines.push(this.ink(text.trimEnd(), ink));
  }

  /** An empty line, unless there is one. */
  gap(): void {
    if (this.#lines.length > 0 && this.#lines.at(-1) !== '') this.#lines.push('');
  }

  /** Wrapped behind `lead`; the lines that follow are as far in. At most `maxLines`, with an ellipsis. */
  paragraph(
    lead: string,
    text: string,
    {
      maxLines = Number.POSITIVE_INFINITY,
      leadInk,
      ink,
    }: { maxLines?: number; leadInk?: Ink; ink?: Ink } = {},
  ): void {
    const lines = wrapped(text, this.columns - lead.length, maxLines);
    const indent = ' '.repeat(lead.length);
    lines.forEach((line, index) => {
      const begin = index === 0 ? this.ink(lead, leadInk) : indent;
      this.#lines.push(`${begin}${this.ink(line, ink)}`.trimEnd());
    });
  }
}

function wrapped(text: string, width: number, maxLines: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/ +/)) {
    const longer = line === '' ? word : `${line} ${word}`;
    // A word that is too long by itself stays whole: paths and commands are copied.
    if (longer.length <= width || line === '') {
      line = longer;
      continue;
    }
    lines.push(line);
    line = word;
  }
  lines.push(line);
  if (lines.length <= maxLines) return lines;
  const kept = lines.slice(0, maxLines);
  const last = kept.at(-1) ?? '';
  return [
    ...kept.slice(0, -1),
    last.length < width ? `${last}…` : `${last.slice(0, Math.max(0, width - 1))}…`,
  ];
}
