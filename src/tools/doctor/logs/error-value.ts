/** Characters of an error that distinguish it from others; what follows are names and numbers of one request. */
const MAX_ERROR_CHARS = 120;

/** An error as the value of a signal, by which lines of one kind are counted together. */
export function errorValue(error: string): string {
  return error.slice(0, MAX_ERROR_CHARS);
}
