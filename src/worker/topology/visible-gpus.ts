import { type Gpu, Topology } from '../../gen/kvaccord/v1/capabilities.js';
import { MAX_NOTE_CHARS, plainText } from './limits.js';
import { selectContainer, selectOpened } from './visible-entries.js';

/**
 * Leaves in a topology only what this worker can use, as the environment of
 * its engine says. Pure. `NVIDIA_VISIBLE_DEVICES` narrows what the container
 * gets, `CUDA_VISIBLE_DEVICES` what the engine opens of that; for AMD GPUs
 * `ROCR_VISIBLE_DEVICES`, and then `HIP_VISIBLE_DEVICES` or, where that is not
 * set, `CUDA_VISIBLE_DEVICES`. Links and NICs that touch no GPU that is left,
 * and NUMA nodes that hold none, go too. Whatever an environment variable
 * hides or does not know is said in the notes.
 */
export function visibleGpus(
  topology: Topology,
  environment: Readonly<Record<string, string | undefined>>,
): Topology {
  const notes: string[] = [];
  const variable = (name: string): { name: string; value: string } | undefined => {
    const value = environment[name];
    return value === undefined ? undefined : { name, value };
  };

  const nvidia = inBusOrder(topology.gpus.filter((gpu) => !isAmd(gpu)));
  const amd = inBusOrder(topology.gpus.filter(isAmd));
  const inContainer = selectContainer(nvidia, variable('NVIDIA_VISIBLE_DEVICES'), notes);
  const cuda = selectOpened(inContainer, variable('CUDA_VISIBLE_DEVICES'), notes);
  const rocr = selectOpened(amd, variable('ROCR_VISIBLE_DEVICES'), notes);
  const hip = selectOpened(rocr, variable('HIP_VISIBLE_DEVICES') ?? variable('CUDA_VISIBLE_DEVICES'), notes);

  const kept = new Set<Gpu>([...cuda, ...hip]);
  const gpus = topology.gpus.filter((gpu) => kept.has(gpu));
  if (topology.gpus.length > 0 && gpus.length === 0)
    notes.push(`no GPU here is visible to this worker, of ${topology.gpus.length}`);
  return withoutTheRest({ ...topology, gpus, notes: [...topology.notes, ...notes] }, topology.gpus);
}

function isAmd(gpu: Gpu): boolean {
  return gpu.architecture?.startsWith('gfx') === true || /^amd |radeon|instinct/i.test(gpu.productName);
}

/** The order in which drivers count: by PCI address, slices in the order in which they are listed. */
function inBusOrder(gpus: readonly Gpu[]): Gpu[] {
  const key = (gpu: Gpu): string => gpu.pciBusId.padStart(16, '0');
  return [...gpus].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

function namesOf(gpus: readonly Gpu[]): ReadonlySet<string> {
  return new Set(gpus.flatMap((gpu) => [gpu.uuid || gpu.pciBusId, gpu.parentUuid ?? '']));
}

/** Links to the GPUs of other workers stay: they show how near these are. */
function withoutTheRest(topology: Topology, found: readonly Gpu[]): Topology {
  const names = namesOf(topology.gpus);
  const others = namesOf(found);
  const nicNames = new Set(topology.nics.map((nic) => nic.name));
  const links = topology.links.filter(
    ({ a, b }) =>
      (others.has(a) || nicNames.has(a)) &&
      (others.has(b) || nicNames.has(b)) &&
      (names.has(a) || names.has(b)),
  );
  const linked = new Set(links.flatMap(({ a, b }) => [a, b]));
  const nodes = new Set(topology.gpus.flatMap((gpu) => gpu.numaNode ?? []));
  // On a host without any GPU the nodes describe the worker's own CPUs, and
  // where no GPU reports its node nothing says which ones to leave out.
  const keepsNodes = found.length === 0 || (topology.gpus.length > 0 && nodes.size === 0);
  return Topology.create({
    ...topology,
    links,
    nics: topology.nics.filter((nic) => linked.has(nic.name)),
    numaNodes: topology.numaNodes.filter((node) => keepsNodes || nodes.has(node.index)),
    notes: topology.notes.map((note) => plainText(note, MAX_NOTE_CHARS)),
  });
}
