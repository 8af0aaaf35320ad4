/** Offset at which the line of `offset` begins. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

/** Offset behind the line of `offset`, its line end included. */
export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end + 1;
}

/** The lines of a text, each with its line end; the last one may have none. */
export function splitLines(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** How lines end in a text: as its first one does. */
export function lineEndOf(text: string): '\n' | '\r\n' {
  const first = text.indexOf('\n');
  return first > 0 && text[first - 1] === '\r' ? '\r\n' : '\n';
}

/** Characters between the beginning of its line and `offset`. */
export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

/** Whether nothing but spaces stands before `offset` on its line. */
export function beginsItsLine(text: string, offset: number): boolean {
  return /^\uFEFF? *$/.test(text.slice(lineStart(text, offset), offset));
}

/** Where comments and blank lines directly above the line of `offset` begin. */
export function startAboveComments(text: string, offset: number): number {
  let start = lineStart(text, offset);
  while (start > 0) {
    const above = lineStart(text, start - 1);
    if (!/^[ \t]*(?:#.*)?\r?\n?$/.test(text.slice(above, start))) break;
    start = above;
  }
  return start;
}
