/** One list item is `7` or `0-55`; the kernel's form for CPUs and NUMA nodes. */
const LIST = /^\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?)*$/;

/** Longest list that is believed: one with every second of 1,024 CPUs. */
const MAX_LIST_CHARS = 4_096;

/** The list as it is when it has the kernel's form (`0-55,112-167`), else undefined. */
export function kernelListOf(text: string): string | undefined {
  const list = text.trim();
  return list.length <= MAX_LIST_CHARS && LIST.test(list) ? list : undefined;
}

/** The lowest number of a kernel list; undefined when it is none. */
export function firstOfKernelList(text: string): number | undefined {
  const list = kernelListOf(text);
  if (list === undefined) return undefined;
  return Math.min(...list.split(',').map((item) => Number.parseInt(item, 10)));
}

/** Whether a kernel list names a number. */
export function kernelListHas(text: string, wanted: number): boolean {
  return (kernelListOf(text) ?? '').split(',').some((item) => {
    const [first, last] = item.split('-').map((end) => Number.parseInt(end, 10));
    return first !== undefined && wanted >= first && wanted <= (last ?? first);
  });
}

/**
 * A NUMA node as sources write it: `0`, `-1` for "unknown", `N/A`, or on Grace
 * systems a list like `0,3-9,11-17`. There the first node holds the CPUs and
 * the others only memory, so the lowest is meant.
 */
export function numaNodeOf(text: string): number | undefined {
  return firstOfKernelList(text);
}
