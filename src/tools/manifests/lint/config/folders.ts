import { posix } from 'node:path';

/** The folder of a file in a set; objects of a cluster are all in one. */
export function folderOf(file: string): string {
  return /^cluster:/.test(file) ? 'cluster:' : posix.dirname(file);
}

/** Whether one of two files is in the folder of the other, or in one directly below or beside it. */
export function areNear(one: string, other: string): boolean {
  const a = folderOf(one);
  const b = folderOf(other);
  const [aboveA, aboveB] = [posix.dirname(a), posix.dirname(b)];
  return a === b || aboveA === b || aboveB === a || aboveA === aboveB;
}
