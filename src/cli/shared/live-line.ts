import { onOneLine } from '../../core/text/printable.js';
import { cutToWidth } from '../../core/text/text-width.js';
import { workerName } from '../../core/text/worker-name.js';
import type { TextOutput } from '../../edge/platform/streams/standard-streams.js';
import type { AgreementSource } from '../../fleet/aggregator/agreement-source.js';
import type { Agreement } from '../../gen/kvaccord/v1/fleet.js';

/** Goes to the start of the line and clears it. */
const CLEAR_LINE = '\r\u001b[2K';

const DEFAULT_COLUMNS = 80;

/** Workers that are looked at for one line; no terminal has room for more. */
const MAX_WORKERS = 200;

/** One line on a terminal, each in the place of the one before: who has reported what so far. */
export class LiveLine {
  readonly #output: TextOutput;
  #shown = '';

  constructor(output: TextOutput) {
    this.#output = output;
  }

  /** Shows the state of the agreement in one line of the terminal's width. */
  show(source: AgreementSource): void {
    this.showText(summarise(source));
  }

  /** Shows a text, which is on one line, cut to the terminal's width. */
  showText(line: string): void {
    // A terminal without a size yet says 0.
    const columns = this.#output.columns || DEFAULT_COLUMNS;
    const text = cutToWidth(line, columns - 1);
    if (text === this.#shown) return;
    this.#shown = text;
    // The cursor goes back to the start, so that a line of the log takes this one's place.
    this.#output.write(`${CLEAR_LINE}${text}\r`);
  }

  /** Takes the line away; nothing is written when there is none. */
  clear(): void {
    if (this.#shown === '') return;
    this.#shown = '';
    this.#output.write(CLEAR_LINE);
  }
}

function summarise(source: AgreementSource): string {
  const { agreements, problem } = source;
  const reported = agreements.flatMap(reportedSizes);
  // Those that are missing stand in the reasons, with what hinders them.
  const missing = agreements.flatMap(({ reasons }) => reasons.map(({ text }) => text));
  const parts = [...reported, ...missing, ...(problem === undefined ? [] : [problem])];
  return onOneLine([...new Set(parts)].join('  '));
}

function reportedSizes({ members }: Agreement): string[] {
  return members
    .slice(0, MAX_WORKERS)
    .flatMap((member) =>
      member.tokensPerBlock === undefined ? [] : [`${workerName(member)}: ${member.tokensPerBlock}`],
    );
}
