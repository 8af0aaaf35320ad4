/** The two numbers of `16 -> 32`, as they were written: one of them may be no block size at all. */
export function pairOf(value: string): readonly [string, string] | undefined {
  const [, ours, theirs] = /^(\d{1,20}) -> (\d{1,20})$/.exec(value) ?? [];
  return ours === undefined || theirs === undefined ? undefined : [ours, theirs];
}
