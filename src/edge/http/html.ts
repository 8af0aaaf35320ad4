import { withoutControls } from '../../core/text/printable.js';

/** Text that is already HTML. Only `html` and `verbatim` make it. */
class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type { Html };

/** A text of the program's own that is HTML as it stands, such as a style sheet; never data. */
export function verbatim(text: string): Html {
  return new Html(text);
}

type Part = string | number | Html | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A template whose parts are escaped, and shown without control characters, unless they come from `html` themselves; attributes must stand in quotes. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((text, index) => text + toHtml(parts[index])).join(''));
}

function toHtml(part: Part | undefined): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(({ text }) => text).join('');
  return withoutControls(String(part)).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
