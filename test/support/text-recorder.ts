import type { TextOutput } from '../../src/edge/platform/streams/standard-streams.js';

/** Keeps what a command writes. */
export class TextRecorder implements TextOutput {
  text = '';
  readonly isTerminal: boolean;
  readonly columns: number | undefined;
  readonly rows: number | undefined;

  constructor(
    options: { readonly isTerminal?: boolean; readonly columns?: number; readonly rows?: number } = {},
  ) {
    this.isTerminal = options.isTerminal ?? false;
    this.columns = options.columns;
    this.rows = options.rows;
  }

  write(text: string): void {
    this.text += text;
  }

  taken(): Promise<void> {
    return Promise.resolve();
  }
}
