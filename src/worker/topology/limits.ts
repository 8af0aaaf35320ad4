import { inPlainText } from '../../core/text/printable.js';

/** Most GPUs, MIG slices counted: 16 GPUs in 7 slices each are 112. */
export const MAX_GPUS = 256;
/** Most links: each of 256 GPUs with every other device would be 65,280. */
export const MAX_LINKS = 65_536;
/** Most NICs; servers with virtual functions show some dozens. */
export const MAX_NICS = 256;
/** Most NUMA nodes, the kernel's own bound (`CONFIG_NODES_SHIFT` of 10). */
export const MAX_NUMA_NODES = 1_024;
/** Most notes; each reader has a handful. */
export const MAX_NOTES = 64;
/** Longest note: one line for a person. */
export const MAX_NOTE_CHARS = 512;
/** Longest name or value that is believed; Kubernetes labels have at most 63 characters. */
export const MAX_VALUE_CHARS = 256;
/** Most topology domains of a placement; real ones are zone, block, rack and host. */
export const MAX_TOPOLOGY_DOMAINS = 64;

/** A value of a source, made safe to show: one line, no control characters, at most `maxChars`. */
export function plainText(value: string, maxChars: number = MAX_VALUE_CHARS): string {
  const line = inPlainText(value).replace(/\s+/g, ' ').trim();
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1)}…`;
}
