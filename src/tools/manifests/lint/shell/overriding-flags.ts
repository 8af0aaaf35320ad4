import { UNKNOWN, type Word } from './words.js';

/** The name of a flag with a value of its own, in one word or two. */
const FLAG = /^(--?[A-Za-z][\w.-]*)(=|$)/;

/**
 * What a branch that may run adds to arguments, as far as it gives a flag another time: the last one counts, and which that is is not known.
 * `open` is a word that is not known.
 */
export function overridingWords(
  before: readonly Word[],
  added: readonly Word[],
  open: Word,
): readonly Word[] {
  const known = new Set(before.flatMap(({ value, known: parts }) => nameOf(value ?? parts?.prefix) ?? []));
  return added.flatMap(({ value, known: parts, span }): readonly Word[] => {
    const text = value ?? parts?.prefix;
    const name = nameOf(text);
    if (name === undefined || !known.has(name)) return [];
    const isJoined = text?.startsWith(`${name}=`) === true;
    return isJoined
      ? [
          {
            value: undefined,
            span: { ...span, isExact: false },
            mayBeMore: false,
            known: { prefix: `${name}=`, suffix: '' },
          },
        ]
      : [
          { value: name, span: { ...span, isExact: false }, mayBeMore: false },
          { ...open, mayBeMore: false },
        ];
  });
}

/** The same in a text of a command. */
export function overridingText(before: string, added: string): string {
  const known = new Set(before.split(/\s+/).flatMap((word) => nameOf(word) ?? []));
  return added
    .split(/\s+/)
    .flatMap((word) => {
      const name = nameOf(word);
      if (name === undefined || !known.has(name)) return [];
      return word.startsWith(`${name}=`) ? [`${name}=${UNKNOWN}`] : [name, UNKNOWN];
    })
    .join(' ');
}

function nameOf(text: string | undefined): string | undefined {
  return FLAG.exec(text ?? '')?.[1];
}
