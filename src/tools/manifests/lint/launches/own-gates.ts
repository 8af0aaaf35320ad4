import type { Launch } from './launch.js';

/** kv-accord's commands that look for workers, and compare them with each other. */
const GATES: ReadonlySet<string> = new Set(
  ['exec', 'wait', 'aggregator', 'frontend', 'epp'].map((name) => `kv-accord ${name}`),
);

/**
 * Whether a program is one of kv-accord's that looks for workers. A sidecar beside an engine reports that engine alone, and
 * commands that a person calls, such as `kv-accord status`, route nothing.
 */
export function isOwnGate({ program }: Pick<Launch, 'program'>): boolean {
  return GATES.has(program);
}
