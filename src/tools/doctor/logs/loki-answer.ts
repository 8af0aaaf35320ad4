import { MAX_LINE_BYTES } from './line-blocks.js';

/** How the answer of Loki's own API to a query of logs begins: all of it is one line. */
const BEGIN =
  /^\s{0,16}\{\s{0,16}"status"\s{0,4}:\s{0,4}"success"\s{0,4},\s{0,16}"data"\s{0,4}:\s{0,4}\{\s{0,16}"resultType"\s{0,4}:\s{0,4}"streams"/;
/** Bytes of the beginning by which it is recognised. */
export const LOKI_BEGIN_BYTES = 192;
/** The labels of a stream, or the time of an entry before its line. */
const NEXT = /"stream"\s{0,4}:\s{0,4}\{([^{}]{0,2048})\}|\[\s{0,32}"(\d{19})"\s{0,4},\s{0,32}"/g;
/** Characters of what has not been read that may be the beginning of a match. */
const LONGEST_MATCH = 2_176;
const OWNER = /"(?:pod|pod_name|container|service_name|app)"\s{0,4}:\s{0,4}"([\w.-]{1,253})"/;

/** Whether these bytes are the beginning of such an answer. */
export function isLokiAnswer(head: Uint8Array): boolean {
  return head[0] === 123 && BEGIN.test(Buffer.from(head.subarray(0, LOKI_BEGIN_BYTES)).toString('latin1'));
}

/** The entries of such an answer as lines of `logcli`, each with its time and whose it is. In memory is one entry at a time. */
export async function* linesOfLoki(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  let rest = '';
  let owner = '';
  for await (const piece of pieces) {
    rest += decoder.decode(piece, { stream: true });
    const lines: string[] = [];
    let at = 0;
    let isOpen = false;
    NEXT.lastIndex = 0;
    for (let match = NEXT.exec(rest); match !== null; match = NEXT.exec(rest)) {
      const [, labels, time = ''] = match;
      if (labels !== undefined) {
        owner = OWNER.exec(labels)?.[1] ?? '';
        at = NEXT.lastIndex;
        continue;
      }
      const end = endOfText(rest, NEXT.lastIndex);
      if (end === -1) {
        at = match.index;
        isOpen = true;
        break;
      }
      lines.push(lineOf(time, owner, rest.slice(NEXT.lastIndex - 1, end + 1)));
      at = end + 1;
      NEXT.lastIndex = at;
    }
    rest = rest.slice(isOpen ? at : Math.max(at, rest.length - LONGEST_MATCH));
    // An entry of which the end does not come is dropped.
    if (rest.length > 4 * MAX_LINE_BYTES) rest = rest.slice(-LONGEST_MATCH);
    if (lines.length > 0) yield Buffer.from(`${lines.join('\n')}\n`);
  }
}

/** The quotation mark that ends a text of JSON; -1 where it has not come. */
function endOfText(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === 92 && at - 1 - escapes >= from) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
  return -1;
}

function lineOf(nanoseconds: string, owner: string, quoted: string): string {
  const time = new Date(Number(nanoseconds.slice(0, 13))).toISOString();
  return `${time} {pod="${owner}"} ${textOf(quoted).replaceAll('\n', ' ')}`;
}

function textOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}
