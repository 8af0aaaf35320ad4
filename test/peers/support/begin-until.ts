declare module 'vitest' {
  export interface ProvidedContext {
    /** See the function of this name. */
    beginUntilS: number | undefined;
  }
}

const NAME = 'KV_ACCORD_PEERS_BEGIN_UNTIL_S';

/**
 * The time after which no file is begun, in seconds since 1970; undefined where `KV_ACCORD_PEERS_BEGIN_UNTIL_S` is empty or
 * not set. Throws where it is no such number.
 */
export function beginUntilS(environment: Readonly<Record<string, string | undefined>>): number | undefined {
  const text = environment[NAME] ?? '';
  if (text === '') return undefined;
  if (!/^[0-9]+$/.test(text)) throw new Error(`${NAME} is "${text}", and must be seconds since 1970`);
  return Number(text);
}
