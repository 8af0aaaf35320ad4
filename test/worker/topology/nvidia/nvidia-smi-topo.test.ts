import { describe, expect, it } from 'vitest';
import { type GpuLink, LinkKind, linkKindToJSON } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { parseNvidiaSmiList } from '../../../../src/worker/topology/nvidia/nvidia-smi-list.js';
import {
  nvidiaSmiTopoReader,
  parseNvidiaSmiTopo,
} from '../../../../src/worker/topology/nvidia/nvidia-smi-topo.js';
import { madeHost, never, recordedHost, recording } from '../support.js';

/** GPUs named `G0`, `G1`, … for matrices written here. */
const listed = (count: number) =>
  Array.from({ length: count }, (_none, index) => ({
    index,
    uuid: `G${index}`,
    productName: 'GPU',
    migDevices: [],
  }));
const uuidsOf = (name: string): string[] =>
  parseNvidiaSmiList(recording(`${name}/commands/nvidia-smi -L.txt`)).map((gpu) => gpu.uuid);
const between = (links: readonly GpuLink[], a: string | undefined, b: string | undefined) =>
  links.find((link) => link.a === a && link.b === b);
const counts = (links: readonly GpuLink[]): Record<string, number> => {
  const result: Record<string, number> = {};
  for (const link of links) {
    const name = linkKindToJSON(link.kind);
    result[name] = (result[name] ?? 0) + 1;
  }
  return result;
};

describe('nvidia-smi topo -m', () => {
  it('reads an NVSwitch server: 18 bonded links everywhere, NICs by their names, both sockets', async () => {
    const { topology } = await nvidiaSmiTopoReader.read(recordedHost('h100-nvswitch'), never);
    const uuids = uuidsOf('h100-nvswitch');
    expect(counts(topology.links)).toEqual({
      LINK_KIND_NVLINK: 28,
      LINK_KIND_PXB: 4,
      LINK_KIND_NODE: 20,
      LINK_KIND_SYS: 24,
    });
    expect(between(topology.links, uuids[0], uuids[7])).toMatchObject({ laneCount: 18 });
    expect(between(topology.links, uuids[1], 'mlx5_3')?.kind).toBe(LinkKind.PXB);
    expect(topology.nics.map((nic) => nic.name)).toEqual([
      'mlx5_0',
      'mlx5_1',
      'mlx5_2',
      'mlx5_3',
      'mlx5_4',
      'mlx5_5',
    ]);
    expect(topology.gpus[0]).toMatchObject({ uuid: uuids[0], cpuAffinity: '0-55,112-167', numaNode: 0 });
    expect(topology.gpus[7]).toMatchObject({ uuid: uuids[7], cpuAffinity: '56-111,168-223', numaNode: 1 });
    expect(topology.notes).toEqual([]);
  });

  it("takes the NUMA node that holds CPUs from a list, never the GPU's own memory node (GB200)", async () => {
    const { topology } = await nvidiaSmiTopoReader.read(recordedHost('gb200'), never);
    expect(topology.gpus.map((gpu) => [gpu.cpuAffinity, gpu.numaNode])).toEqual([
      ['0-71', 0],
      ['0-71', 0],
      ['72-143', 1],
    ]);
  });

  it('reads PCIe servers: PHB to the one GPU that is next to the NICs', async () => {
    const { topology } = await nvidiaSmiTopoReader.read(recordedHost('rtx-4090-nics'), never);
    const uuids = uuidsOf('rtx-4090-nics');
    expect(counts(topology.links)).toEqual({ LINK_KIND_SYS: 28 + 14, LINK_KIND_PHB: 2 });
    expect(between(topology.links, uuids[6], 'NIC1')?.kind).toBe(LinkKind.PHB);
  });

  it('reads a header that underlines itself', async () => {
    const { topology } = await nvidiaSmiTopoReader.read(recordedHost('six-gpus-ansi'), never);
    expect(counts(topology.links)).toEqual({ LINK_KIND_PIX: 3, LINK_KIND_NODE: 4, LINK_KIND_SYS: 8 });
    expect(topology.gpus.map((gpu) => gpu.numaNode)).toEqual([0, 0, 0, 0, 1, 1]);
  });

  it('reads a single GPU with a NIC, copied with blanks', async () => {
    const { topology } = await nvidiaSmiTopoReader.read(recordedHost('h100-pcie'), never);
    expect(topology.links).toEqual([
      expect.objectContaining({ a: uuidsOf('h100-pcie')[0], b: 'mlx5_0', kind: LinkKind.PHB }),
    ]);
    expect(topology.gpus[0]).toMatchObject({ cpuAffinity: '0-251', numaNode: 0 });
  });

  it('reads older drivers, which have no column GPU NUMA ID', () => {
    const topology = parseNvidiaSmiTopo(recording('topo/no-gpu-numa-id.txt'), listed(4));
    expect(topology.gpus[3]).toMatchObject({ uuid: 'G3', cpuAffinity: '0-47,96-143', numaNode: 0 });
    expect(between(topology.links, 'G0', 'G3')).toMatchObject({ laneCount: 8 });
    expect(between(topology.links, 'G0', 'NIC2')?.kind).toBe(LinkKind.PIX);
  });

  it('reads drivers that have no affinity columns, call SYS "SOC" and name NICs in the matrix', () => {
    const text = '\tGPU0\tGPU1\tmlx5_0\nGPU0\t X \tSOC\tPHB\nGPU1\tSOC\t X \tSOC\nmlx5_0\tPHB\tSOC\t X \n';
    const topology = parseNvidiaSmiTopo(text, listed(2));
    expect(between(topology.links, 'G0', 'G1')?.kind).toBe(LinkKind.SYS);
    expect(between(topology.links, 'G0', 'mlx5_0')?.kind).toBe(LinkKind.PHB);
    expect(topology.gpus[0]).toMatchObject({ cpuAffinity: undefined, numaNode: undefined });
  });

  it('keeps apart affinities of which one is empty', () => {
    const text = '\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t0\t\tN/A\n';
    expect(parseNvidiaSmiTopo(text, listed(1)).gpus[0]).toMatchObject({
      cpuAffinity: undefined,
      numaNode: 0,
    });
    const nothing = '\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t\t\tN/A\n';
    expect(parseNvidiaSmiTopo(nothing, listed(1)).gpus[0]?.numaNode).toBeUndefined();
  });

  it('leaves out a row that does not line up, rather than shift its cells', () => {
    const glued = recording('topo/glued-by-a-terminal.txt');
    const gpus = [
      { ...listed(1)[0], index: 0 },
      { ...listed(1)[0], index: 4, uuid: 'G4' },
    ] as ReturnType<typeof listed>;
    const { gpus: read, links, notes } = parseNvidiaSmiTopo(glued, gpus);
    // The header has one glued name, so that the row of GPU0 has a cell too many; GPU4's is glued likewise.
    expect(notes).toEqual([
      'nvidia-smi topo -m: the row of GPU0 does not line up with the header and is left out',
    ]);
    expect(read.map((gpu) => gpu.uuid)).toEqual(['G4']);
    expect(links.map((link) => [link.a, link.b])).toEqual([
      ['G0', 'G4'],
      ['G4', 'NIC7'],
      ['G4', 'NIC10'],
    ]);
  });

  it('leaves out an unknown link with a note and keeps the others', () => {
    const text = '\tGPU0\tGPU1\tGPU2\nGPU0\t X \tWARP9\tNV4\nGPU1\tWARP9\t X \tPIX\nGPU2\tNV4\tPIX\t X \n';
    const topology = parseNvidiaSmiTopo(text, listed(3));
    expect(topology.links).toHaveLength(2);
    expect(topology.notes).toEqual(['nvidia-smi topo -m: unknown link WARP9 is left out']);
  });

  it('leaves out GPUs that nvidia-smi -L does not name', () => {
    const text = '\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n';
    const topology = parseNvidiaSmiTopo(text, listed(1));
    expect(topology.links).toEqual([]);
    expect(topology.notes).toEqual(['nvidia-smi topo -m: GPU1 is not in nvidia-smi -L and is left out']);
  });

  it.each([
    ['a web page', '<html>GPU0</html>'],
    ['nothing', ''],
    ['an error', 'Failed to run topological matrix'],
  ])('refuses %s', (_what, text) => {
    expect(() => parseNvidiaSmiTopo(text, listed(1))).toThrow('printed no matrix');
  });

  it('refuses a matrix wider than any server', () => {
    expect(() => parseNvidiaSmiTopo(`\tGPU0${'\tNIC0'.repeat(600)}\n`, listed(1))).toThrow(
      '601 columns; at most 512',
    );
  });

  it('says why topo -m alone failed', async () => {
    const host = madeHost({
      commands: { 'nvidia-smi topo -m': { stdout: 'Not supported', stderr: '', exitCode: 3 } },
    });
    expect((await nvidiaSmiTopoReader.read(host, never)).topology.notes).toEqual([
      'nvidia-smi topo -m ended with exit code 3: Not supported',
    ]);
  });
});
