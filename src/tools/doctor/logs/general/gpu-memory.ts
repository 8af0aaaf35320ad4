/** Memory of a GPU as an error of PyTorch has it. */
interface GpuMemory {
  readonly asked: string;
  readonly freeGib: number;
  readonly totalGib: number;
  /** What the process itself has of it. */
  readonly ownGib: number;
}

const UNITS: Readonly<Record<string, number>> = {
  bytes: 2 ** -30,
  KiB: 2 ** -20,
  MiB: 2 ** -10,
  GiB: 1,
};
const SIZE = '([\\d.]{1,12}) (bytes|[KMG]iB)';

const ASKED = new RegExp(`Tried to allocate ${SIZE}`);
/** "GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free", before 2.2 "… total capacty …". */
const OF_WHICH = new RegExp(`total capaci?ty of ${SIZE} of which ${SIZE} is free`);
/** Before 2.1, and on NPUs: "(GPU 0; 44.56 GiB total capacity; 27.91 GiB already allocated; 565.31 MiB free; 27.93 GiB reserved in total by PyTorch)". */
const IN_BRACKETS = new RegExp(`; ${SIZE} total capacity; .{0,120}; ${SIZE} free; ${SIZE} reserved`);
/** "Including non-PyTorch memory, this process has 14.61 GiB memory in use." */
const OF_PROCESS = new RegExp(`this process has ${SIZE} memory in use`);
/** "Of the allocated memory 14.42 GiB is allocated by PyTorch, and 23.14 MiB is reserved by PyTorch": less, where processes are not kept apart. */
const OF_PYTORCH = new RegExp(`allocated memory ${SIZE} is allocated by PyTorch`);

/** "Process 2893782 has 78.02 GiB memory in use": each of the GPU, this one among them. */
const OF_ONE = new RegExp(`Process \\d{1,10} has ${SIZE} memory in use`, 'g');

/** What the process itself has, by a list of all: where one alone has what PyTorch allocated, that is it. */
function ownOf(sentence: string, pytorchGib: number): number {
  const large = [...sentence.matchAll(OF_ONE)]
    .map(([, size, unit]) => gibOf(size, unit))
    .filter((gib) => gib >= pytorchGib);
  const [only] = large;
  return only !== undefined && large.length === 1 ? only : pytorchGib;
}

function gibOf(size: string | undefined, unit: string | undefined): number {
  return Number(size ?? 0) * (UNITS[unit ?? ''] ?? 0);
}

function memoryIn(sentence: string): GpuMemory | undefined {
  const [, size, unit] = ASKED.exec(sentence) ?? [];
  if (size === undefined) return undefined;
  const asked = `${size} ${unit}`;
  const [, whole, wholeUnit, free, freeUnit] = OF_WHICH.exec(sentence) ?? [];
  if (whole !== undefined) {
    const [, held, heldUnit] = OF_PROCESS.exec(sentence) ?? [];
    const [, own, ownUnit] = OF_PYTORCH.exec(sentence) ?? [];
    const ownGib = Math.max(gibOf(held, heldUnit), ownOf(sentence, gibOf(own, ownUnit)));
    if (ownGib === 0) return undefined;
    return { asked, freeGib: gibOf(free, freeUnit), totalGib: gibOf(whole, wholeUnit), ownGib };
  }
  const [, total, totalUnit, left, leftUnit, reserved, reservedUnit] = IN_BRACKETS.exec(sentence) ?? [];
  if (total === undefined) return undefined;
  return {
    asked,
    freeGib: gibOf(left, leftUnit),
    totalGib: gibOf(total, totalUnit),
    ownGib: gibOf(reserved, reservedUnit),
  };
}

/** An error of memory in few words, with who has what; the sentence itself where it does not say that. */
export function shortMemory(sentence: string): string {
  const memory = memoryIn(sentence);
  if (memory === undefined) return sentence;
  const { asked, freeGib, totalGib, ownGib } = memory;
  const beginning = /^.{0,80}?out of memory/.exec(sentence)?.[0] ?? 'out of memory';
  return `${beginning}: ${asked} asked for, ${freeGib.toFixed(2)} of ${totalGib.toFixed(2)} GiB free, ${ownGib.toFixed(2)} GiB its own`;
}

/** The numbers of `shortMemory`; undefined where they are not known. */
function shareOf(
  sentence: string,
): { readonly freeGib: number; readonly totalGib: number; readonly ownGib: number } | undefined {
  const [, free, total, own] =
    /([\d.]{1,12}) of ([\d.]{1,12}) GiB free, ([\d.]{1,12}) GiB its own/.exec(shortMemory(sentence)) ?? [];
  return own === undefined
    ? undefined
    : { freeGib: Number(free), totalGib: Number(total), ownGib: Number(own) };
}

/** Part of a GPU from which on what others hold is worth to be named; contexts of CUDA are less. */
const MUCH = 0.08;

/** What other processes hold; undefined where that is little or not known. */
export function heldByOthers(
  sentence: string,
): { readonly gib: number; readonly totalGib: number } | undefined {
  const share = shareOf(sentence);
  if (share === undefined) return undefined;
  const { freeGib, totalGib, ownGib } = share;
  const gib = totalGib - freeGib - ownGib;
  return gib < Math.max(1, totalGib * MUCH) ? undefined : { gib, totalGib };
}

/** Part of a GPU from which on it is nearly all. */
const NEARLY_ALL = 0.85;

/** Whether the process itself has nearly all of its GPU. */
export function isItsOwn(sentence: string): boolean {
  const share = shareOf(sentence);
  return share !== undefined && share.ownGib >= NEARLY_ALL * share.totalGib;
}

/** "Tried to allocate 1.52 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free." */
export function askedAndFree(sentence: string): string | undefined {
  const asked = /Tried to allocate ([\d.]+ [KMGT]?i?B)/.exec(sentence)?.[1];
  // Of an NPU: "(NPU 2; 60.96 GiB total capacity; 57.10 GiB already allocated; 1.01 GiB free; …".
  const free = /(?:of which ([\d.]+ [KMGT]?i?B) is free|; ([\d.]+ [KMGT]?i?B) free;)/
    .exec(sentence)
    ?.slice(1)
    .find((size) => size !== undefined);
  if (asked === undefined) return undefined;
  return `${asked} are asked for${free === undefined ? '' : `, ${free} are free`}`;
}
