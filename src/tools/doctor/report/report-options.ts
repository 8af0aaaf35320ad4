/** How a report is to look. */
export interface ReportOptions {
  readonly format: 'text' | 'json' | 'markdown' | 'html';
  /** Everything, not only the first screen. Of text alone: the other forms always have everything. */
  readonly isVerbose: boolean;
  /** Whether a terminal shows it. Of text alone. */
  readonly isColoured: boolean;
  /** Width of the terminal in characters; undefined or 0 is taken for 100. Of text alone. */
  readonly columns: number | undefined;
  /** The product's version. */
  readonly version: string;
  /** Wall-clock milliseconds. */
  readonly generatedAtMs: number;
}
