import type { Code, Root, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';

/** A block of code in a Markdown document. */
export interface CodeBlock {
  /** The fence's language in lower case; empty when it names none. */
  readonly language: string;
  /** Offset of the first character of the first line of code. */
  readonly start: number;
  /** Offset behind the last line of code, before the closing fence. */
  readonly end: number;
  /** Offset behind the whole block, fence included. */
  readonly blockEnd: number;
  /** What is said directly before and after it, as Markdown. */
  readonly before: string;
  readonly after: string;
}

/** Blocks of one document; a page of examples has some dozens. */
const MAX_BLOCKS = 1_000;

/** The fenced blocks of code of a document, wherever they are nested. */
export function readCodeBlocks(text: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  collect(fromMarkdown(text), text, blocks);
  return blocks;
}

function collect(
  parent: Root | (RootContent & { children: unknown }),
  text: string,
  blocks: CodeBlock[],
): void {
  const children = parent.children as readonly RootContent[];
  children.forEach((node, index) => {
    if (blocks.length >= MAX_BLOCKS) return;
    if (node.type === 'code') {
      const block = toBlock(node, text);
      if (block === undefined) return;
      const before = sliceOf(children[index - 1], text);
      const after = sliceOf(children[index + 1], text);
      blocks.push({ ...block, before, after });
    } else if ('children' in node) {
      collect(node, text, blocks);
    }
  });
}

/** Undefined for code by indentation, which has no fence and is mostly output. */
function toBlock(node: Code, text: string): Omit<CodeBlock, 'before' | 'after'> | undefined {
  const start = node.position?.start.offset;
  const blockEnd = node.position?.end.offset;
  if (start === undefined || blockEnd === undefined) return undefined;
  const whole = text.slice(start, blockEnd);
  const first = whole.indexOf('\n');
  const isClosed = /\n[ \t>]*(?:`{3,}|~{3,})[ \t]*$/.test(whole);
  if (!/^(?:`{3,}|~{3,})/.test(whole) || first === -1) return undefined;
  const last = isClosed ? whole.lastIndexOf('\n') + 1 : whole.length;
  return {
    language: (node.lang ?? '').toLowerCase(),
    start: start + first + 1,
    end: start + Math.max(last, first + 1),
    blockEnd,
  };
}

/** What a neighbour says, as far as it is prose. */
function sliceOf(node: RootContent | undefined, text: string): string {
  if (node === undefined || node.type === 'code' || node.type === 'heading') return '';
  return text.slice(node.position?.start.offset ?? 0, node.position?.end.offset ?? 0);
}
