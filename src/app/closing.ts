/** What was opened, with how it is closed; the last one first. */
export type Closing = (() => unknown)[];

/**
 * Closes all of it, the last one first, each when the one before it is done.
 * What goes wrong with one leaves none of the others open; the first problem
 * is thrown at the end.
 */
export async function closeAll(closing: Closing): Promise<void> {
  const problems: unknown[] = [];
  for (const close of closing.splice(0).reverse()) {
    try {
      await close();
    } catch (error) {
      problems.push(error);
    }
  }
  if (problems.length > 0) throw problems[0];
}
