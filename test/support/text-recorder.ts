import type { TextOutput } from '../../src/platform/standard-streams.js';

/** Keeps what a command writes. */
export class TextRecorder implements TextOutput {
  text = '';
  readonly isTerminal: boolean;
  readonly columns: number | undefined;

  constructor(options: { readonly isTerminal?: boolean; readonly columns?: number } = {}) {
    this.isTerminal = options.isTerminal ?? false;
    this.columns = options.columns;
  }

  write(text: string): void {
    this.text += text;
  }
}
