/** Causes of causes that one line names; more would bury the first. */
const MAX_CAUSES = 4;

/**
 * Makes one line out of anything that was thrown: its message, with the causes
 * behind it; the stack when `withStack`.
 */
export function describeError(error: unknown, withStack = false): string {
  if (!(error instanceof Error)) return String(error);
  if (withStack && error.stack !== undefined) return error.stack;
  const parts: string[] = [];
  for (let at: unknown = error; at instanceof Error && parts.length < MAX_CAUSES; at = at.cause) {
    const text = at.message === '' ? at.name : at.message;
    if (!parts.some((part) => part.includes(text))) parts.push(text);
  }
  return parts.join(': ');
}

/** The message of anything that was thrown, without its causes. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
