/** Most processes that serve HTTP: more than one machine has cores for. */
export const MAX_THREADS = 256;

/** Reads `--threads`; undefined where it is none. `cores` is what `auto` stands for. */
export function readThreadCount(text: string, cores: () => number): number | undefined {
  if (text === 'auto') return Math.min(cores(), MAX_THREADS);
  if (!/^[1-9]\d{0,2}$/.test(text)) return undefined;
  const count = Number(text);
  return count <= MAX_THREADS ? count : undefined;
}
