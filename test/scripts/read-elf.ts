import { readFileSync } from 'node:fs';

/** What a native library asks of the machine that loads it. */
export interface ElfFacts {
  /** As Node names it. */
  readonly processor: string;
  /** The newest version that it needs of each of the system's libraries: `GLIBC` to `2.14`. */
  readonly needs: Readonly<Record<string, string>>;
}

/** The field `e_machine` of the ELF header. */
const PROCESSORS: Readonly<Record<number, string>> = { 62: 'x64', 183: 'arm64' };

/** Reads the head of a 64-bit ELF file, and the versioned names of the system's libraries in it. */
export function readElf(file: string): ElfFacts {
  const bytes = readFileSync(file);
  if (bytes.toString('latin1', 0, 4) !== '\x7fELF' || bytes[4] !== 2)
    throw new Error(`${file} is no 64-bit ELF`);
  const needs: Record<string, string> = {};
  for (const [, name = '', version = ''] of bytes
    .toString('latin1')
    .matchAll(/\0(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+)+)(?=\0)/g)) {
    const before = needs[name];
    if (before === undefined || isNewer(version, before)) needs[name] = version;
  }
  const machine = bytes.readUInt16LE(18);
  return { processor: PROCESSORS[machine] ?? `machine ${machine}`, needs };
}

/** Whether one dotted version comes after another. */
export function isNewer(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) > 0;
}
