/** Names a link by its two ends, in either order. */
export function linkKey(a: string, b: string): string {
  return a < b ? `${a} ${b}` : `${b} ${a}`;
}
