import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { gatherGpus } from '../../../../src/tools/doctor/gather/gpus.js';
import { TestFolder } from '../support/folder.js';

const folder = new TestFolder();
afterEach(() => folder.clear());

const modules = { environment: { PATH: '' }, timeoutMs: 5_000 };
const MIB = 1_048_576;
const FIXTURES = new URL('../../../fixtures/', import.meta.url);

const TABLE = `
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    0 |
| N/A   38C    P0            118W /  700W |   74012MiB /  81559MiB |      0%      Default |
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:2A:00.0 Off |                    0 |
| N/A   36C    P0            115W /  700W |   74008MiB /  81559MiB |      0%      Default |
`;

describe('the memory of GPUs', () => {
  it.each([
    ['CSV', 'index, name, memory.total [MiB], memory.used [MiB]\n0, NVIDIA H100, 81559 MiB, 74012 MiB\n'],
    ['CSV in another order', 'memory.used [MiB], memory.total [MiB], index\n74012 MiB, 81559 MiB, 0\n'],
    ['CSV without units and head', '0, NVIDIA H100, 81559, 74012\n'],
    ['the table', TABLE.split('\n').slice(0, 5).join('\n')],
    ['DCGM', 'DCGM_FI_DEV_FB_USED{gpu="0"} 74012\nDCGM_FI_DEV_FB_FREE{gpu="0"} 7547\n'],
  ])('is read of %s', async (_, text) => {
    const part = await gatherGpus(folder.write('gpus.txt', text), modules);
    expect(part.gpus).toMatchObject([{ index: 0, totalBytes: 81_559 * MIB, usedBytes: 74_012 * MIB }]);
    expect(part.source).toMatchObject({ kind: 'gpu', status: 'read' });
  });

  it.each([
    [
      'nvidia-smi.txt',
      { product: 'NVIDIA H100 80GB HBM3', totalBytes: 81_559 * MIB, usedBytes: 41_579 * MIB },
    ],
    ['nvidia-smi -q.txt', { product: 'NVIDIA H100 80GB HBM3', totalBytes: 81_559 * MIB, usedBytes: 0 }],
    ['nvidia-smi -q -d MEMORY.txt', { product: '', totalBytes: 81_559 * MIB, usedBytes: 0 }],
    ['rocm-smi --showmeminfo vram.txt', { product: '', totalBytes: 4_278_190_080, usedBytes: 108_814_336 }],
    [
      'rocm-smi --csv.txt',
      { product: 'Radeon RX 7900 XT', totalBytes: 21_458_059_264, usedBytes: 27_856_896 },
    ],
  ])('is read of a recording: %s', async (name, expected) => {
    const part = await gatherGpus(fileURLToPath(new URL(`doctor-gpus/${name}`, FIXTURES)), modules);
    expect(part.gpus).toEqual([expect.objectContaining({ index: 0, ...expected })]);
  });

  it('of a card that is cut into slices of MIG is that of its slices, as a worker has one of them', async () => {
    const recording = new URL('topology/a100-mig/commands/nvidia-smi -q -x.txt', FIXTURES);
    const xml = (await readFile(recording, 'utf8')).replace(/<total>(.*)<\/total>/g, '$&<used>1 MiB</used>');
    const part = await gatherGpus(folder.write('query.xml', xml.replaceAll('<used>', '\n<used>')), modules);
    const cards = new Set(part.gpus?.map(({ index }) => index));
    expect(part.gpus?.length).toBe(cards.size * 4);
    expect(part.gpus?.[0]).toMatchObject({
      product: 'NVIDIA A100-SXM4-80GB, slice of MIG',
      totalBytes: 19_968 * MIB,
    });
  });

  const CUT_TABLE = `
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                   On |
| N/A   34C    P0             80W /  400W |   38000MiB /  81920MiB |     N/A      Default |
|                                         |                        |              Enabled |
|   1  NVIDIA A100-SXM4-80GB          On  |   00000000:0F:00.0 Off |                    0 |
| N/A   34C    P0             80W /  400W |     500MiB /  81920MiB |      0%      Default |
|                                         |                        |             Disabled |
| MIG devices:                                                                            |
|  0    1   0   0  |           37800MiB / 40192MiB    | 42      0 |  3   0    2    0    0 |
|                  |               2MiB / 65535MiB    |           |                       |
|  0    2   0   1  |             200MiB / 40192MiB    | 42      0 |  3   0    2    0    0 |
`;
  const CUT_QUERY = `
GPU 00000000:07:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    MIG Mode
        Current                           : Enabled
        Pending                           : Enabled
    MIG Device
        Index                             : 0
        FB Memory Usage
            Total                         : 40192 MiB
            Used                          : 37800 MiB
        BAR1 Memory Usage
            Total                         : 65535 MiB
            Used                          : 2 MiB
    FB Memory Usage
        Total                             : 81920 MiB
        Used                              : 38000 MiB
GPU 00000000:0F:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    MIG Mode
        Current                           : Disabled
    ECC Mode
        Current                           : Enabled
    FB Memory Usage
        Total                             : 81920 MiB
        Used                              : 500 MiB
`;

  it.each([
    ['the table', CUT_TABLE, ['1 81920', '0 40192', '0 40192']],
    ['-q', CUT_QUERY, ['0 40192', '1 81920']],
  ])('of slices of MIG is read of %s, beside cards that are whole', async (_, text, expected) => {
    const part = await gatherGpus(folder.write('smi.txt', text), modules);
    expect(part.gpus?.map(({ index, totalBytes }) => `${index} ${totalBytes / MIB}`)).toEqual(expected);
  });

  it('of amd-smi is read, with the numbers of its GPUs', async () => {
    const of = (index: number): string =>
      `GPU: ${index}\n    MEM_USAGE:\n        TOTAL_VRAM: 196592 MB\n        USED_VRAM: 283 MB\n        FREE_VRAM: 196309 MB\n`;
    const part = await gatherGpus(folder.write('amd-smi.txt', of(0) + of(3)), modules);
    expect(part.gpus?.map(({ index, usedBytes }) => [index, usedBytes])).toEqual([
      [0, 283 * MIB],
      [3, 283 * MIB],
    ]);
  });

  it('is read of every GPU of a table', async () => {
    const part = await gatherGpus(folder.write('gpus.txt', TABLE), modules);
    expect(part.gpus?.map(({ index, product }) => `${index} ${product}`)).toEqual([
      '0 NVIDIA H100 80GB HBM3',
      '1 NVIDIA H100 80GB HBM3',
    ]);
  });

  it('that is not reported is named', async () => {
    const details = [
      await gatherGpus(folder.write('a', 'index, name, memory.total [MiB]\n0, x, [N/A]\n'), modules),
      await gatherGpus(folder.write('b', ''), modules),
      await gatherGpus(`${folder.path}/none`, modules),
      await gatherGpus('nvidia-smi', modules),
    ].map(({ source }) => `${source.status}: ${source.detail}`);
    expect(details[0]).toMatch(/^not_read: has no GPU memory: give the output of nvidia-smi --query-gpu/);
    expect(details[1]).toMatch(/^not_read: has no GPU memory/);
    expect(details[2]).toBe('not_read: does not exist');
    expect(details[3]).toMatch(/^not_read: .*run it where the GPUs are, and give its output as a file$/);
  });
});
