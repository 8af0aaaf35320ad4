import { nameSome } from '../../../../core/text/lists.js';
import { inPlainText } from '../../../../core/text/printable.js';
import type { NotChecked } from '../facts/not-checked.js';

/** Places of one program that a line names. */
const MAX_PLACES = 3;

/** `seen and not checked: 3 × Ollama, no rule knows it (a.yaml:12, …)`, with its line end; empty for none. */
export function notCheckedLine(programs: readonly NotChecked[]): string {
  return programs.length === 0 ? '' : `seen and not checked: ${nameSome(programs.map(describe))}\n`;
}

function describe({ program, reason, count, places }: NotChecked): string {
  const shown = places.slice(0, MAX_PLACES).map(({ file, line }) => `${file}:${line}`);
  const more = count > shown.length ? ', …' : '';
  return inPlainText(`${count} × ${program}, ${reason} (${shown.join(', ')}${more})`);
}
