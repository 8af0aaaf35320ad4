import { groupBy } from '../../core/data/group-by.js';
import type { Gpu } from '../../gen/kvaccord/v1/capabilities.js';
import { plainText } from './limits.js';

/** An environment variable that is set, perhaps to nothing. */
export interface Variable {
  readonly name: string;
  readonly value: string;
}

/** Most entries that are read of one variable, more than there can be devices. */
const MAX_ENTRIES = 1_024;
/** How drivers before 470 name a MIG slice, and newer ones still accept: GPU, GPU instance, compute instance. */
const OLD_MIG_FORM = /^mig-(gpu-[0-9a-f-]+)\/\d+\/\d+$/i;

/**
 * The GPUs that `NVIDIA_VISIBLE_DEVICES` gives to the container. Unset, empty,
 * `void` and `all` say nothing: with CDI and volume mounts the runtime itself
 * sets `void`, and what the container has is what the tools show. `none` is
 * no GPU. Else indices, UUIDs, MIG devices as `0:1` or by UUID, and CDI names
 * such as `nvidia.com/gpu=0`; an entry that names nothing here is noted.
 */
export function selectContainer(
  gpus: readonly Gpu[],
  variable: Variable | undefined,
  notes: string[],
): Gpu[] {
  const value = variable?.value.trim() ?? '';
  if (variable === undefined || value === '' || value === 'void' || value === 'all') return [...gpus];
  if (value === 'none') return [];
  const entries = entriesOf(value).map((entry) => entry.slice(entry.lastIndexOf('=') + 1));
  if (entries.includes('all')) return [...gpus];
  if (entries.every((entry) => !isDeviceName(entry))) {
    // The device plugin's volume-mount strategy puts a path here.
    notes.push(`${variable.name}=${plainText(value)} names no GPU; all that are seen are kept`);
    return [...gpus];
  }
  // Indices count the host's GPUs, but inside the container the ones it was
  // given are counted again from 0: when there are as many as were asked for,
  // the runtime has narrowed them already.
  const whole = wholeGpus(gpus);
  const indices = new Set(entries);
  if (entries.every((entry) => /^\d+$/.test(entry)) && indices.size === whole.length) return [...gpus];
  const kept = new Set<Gpu>();
  for (const entry of entries) {
    const found = /^\d+(?::\d+)?$/.test(entry) ? byIndex(whole, entry) : byUuid(gpus, entry);
    if (found.length === 0)
      notes.push(
        `${variable.name} names ${plainText(entry, 80)}, which is not among the ${whole.length} GPUs here`,
      );
    for (const gpu of found) kept.add(gpu);
  }
  return gpus.filter((gpu) => kept.has(gpu));
}

/**
 * The GPUs that a runtime opens: unset is all, empty is none; indices into what the container has, or UUIDs; an entry that
 * names nothing hides itself and all after it.
 *
 * - CUDA (programming guide, "CUDA Environment Variables"): UUIDs may be cut as long as one device is meant, or are of MIG devices.
 * - ROCm: `ROCR_VISIBLE_DEVICES` takes indices and UUIDs (`GPU-<16 hex digits>`), `HIP_VISIBLE_DEVICES` indices.
 */
export function selectOpened(gpus: readonly Gpu[], variable: Variable | undefined, notes: string[]): Gpu[] {
  return selectInOrder(gpus, variable, notes, (entry) => {
    if (/^\d+$/.test(entry)) return gpus.slice(Number(entry), Number(entry) + 1);
    return byUuid(gpus, entry);
  });
}

function selectInOrder(
  gpus: readonly Gpu[],
  variable: Variable | undefined,
  notes: string[],
  find: (entry: string) => readonly Gpu[],
): Gpu[] {
  if (variable === undefined || gpus.length === 0) return [...gpus];
  const kept = new Set<Gpu>();
  for (const entry of entriesOf(variable.value)) {
    const found = find(entry);
    if (found.length === 0) {
      notes.push(
        `${variable.name}=${plainText(variable.value, 200)}: ${JSON.stringify(plainText(entry, 80))} names no GPU here, which hides it and all after it`,
      );
      break;
    }
    if (found.length > 1 && OLD_MIG_FORM.test(entry))
      notes.push(
        `${variable.name}: ${plainText(entry, 80)} is one of the ${found.length} slices of its GPU; which one is not known, so all are kept`,
      );
    for (const gpu of found) kept.add(gpu);
  }
  return gpus.filter((gpu) => kept.has(gpu));
}

function entriesOf(value: string): string[] {
  if (value.trim() === '') return [];
  return value.split(',', MAX_ENTRIES).map((entry) => entry.trim());
}

function isDeviceName(entry: string): boolean {
  return /^\d+(?::\d+)?$/.test(entry) || /^(?:GPU|MIG)-/i.test(entry);
}

/** One entry for each physical GPU: itself, or the slices that it is cut into. */
function wholeGpus(gpus: readonly Gpu[]): Gpu[][] {
  return [...groupBy(gpus, ({ parentUuid, uuid, pciBusId }) => parentUuid ?? (uuid || pciBusId)).values()];
}

/** `1` is the second GPU with all its slices, `1:0` its first slice. */
function byIndex(whole: readonly Gpu[][], entry: string): readonly Gpu[] {
  const [gpu = '', slice] = entry.split(':');
  const devices = whole[Number(gpu)] ?? [];
  return slice === undefined ? devices : devices.slice(Number(slice), Number(slice) + 1);
}

/**
 * The device that a UUID, whole or cut, names; none when it could be several.
 * A GPU's UUID stands for its slices, and so does the older form of a slice's
 * name where slices are known by their own UUIDs: instance numbers are not kept.
 */
function byUuid(gpus: readonly Gpu[], entry: string): readonly Gpu[] {
  const wanted = entry.toLowerCase();
  if (!/^(?:gpu|mig)-[0-9a-z]/.test(wanted)) return [];
  const named = gpus.filter((gpu) => gpu.uuid.toLowerCase().startsWith(wanted));
  if (named.length > 0)
    return named.length === 1 ? named : named.filter((gpu) => gpu.uuid.toLowerCase() === wanted);
  const parentOfOldForm = OLD_MIG_FORM.exec(wanted)?.[1];
  const slices = gpus.filter((gpu) => {
    const parent = gpu.parentUuid?.toLowerCase();
    return parentOfOldForm === undefined ? parent?.startsWith(wanted) : parent === parentOfOldForm;
  });
  const parents = new Set(slices.map((gpu) => gpu.parentUuid));
  return parents.size === 1 ? slices : [];
}
