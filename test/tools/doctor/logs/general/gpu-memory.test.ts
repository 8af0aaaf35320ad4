import { describe, expect, it } from 'vitest';

import {
  heldByOthers,
  isItsOwn,
  shortMemory,
} from '../../../../../src/tools/doctor/logs/general/gpu-memory.js';

const OWN =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of 44.40 GiB of which 570.31 MiB is free. Including non-PyTorch memory, this process has 43.82 GiB memory in use. Of the allocated memory 43.31 GiB is allocated by PyTorch, and 16.69 MiB is reserved by PyTorch but unallocated.';
const SHARED =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.25 GiB of which 1.25 GiB is free. Process 2201 has 40.00 GiB memory in use. Process 2202 has 37.90 GiB memory in use. Including non-PyTorch memory, this process has 38.00 GiB memory in use.';
const NPU =
  'RuntimeError: NPU out of memory. Tried to allocate 1.17 GiB (NPU 0; 60.97 GiB total capacity; 20.33 GiB already allocated; 20.33 GiB current active; 565.31 MiB free; 21.06 GiB reserved in total by PyTorch)';

describe('memory of a GPU in an error', () => {
  it('an error of memory keeps what was asked for and who has what', () => {
    expect(shortMemory(OWN)).toBe(
      'torch.OutOfMemoryError: CUDA out of memory: 896.00 MiB asked for, 0.56 of 44.40 GiB free, 43.82 GiB its own',
    );
    expect(shortMemory(NPU)).toBe(
      'RuntimeError: NPU out of memory: 1.17 GiB asked for, 0.55 of 60.97 GiB free, 21.06 GiB its own',
    );
  });

  it('a sentence without the numbers stays as it is', () => {
    const plain = 'RuntimeError: CUDA error: out of memory';
    expect(shortMemory(plain)).toBe(plain);
    expect(heldByOthers(plain)).toBeUndefined();
    expect(isItsOwn(plain)).toBe(false);
  });

  it('what neither is free nor its own is of other processes', () => {
    expect(heldByOthers(SHARED)?.gib).toBeCloseTo(40, 0);
    expect(heldByOthers(NPU)?.gib).toBeCloseTo(39.36, 1);
    expect(heldByOthers(OWN)).toBeUndefined();
  });

  it('a list of all processes has this one in it: the one alone that has what PyTorch allocated', () => {
    const listed = (...sizes: readonly string[]): string =>
      `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1002.00 MiB. GPU 0 has a total capacity of 79.18 GiB of which 586.38 MiB is free. ${sizes.map((size, at) => `Process ${at + 11} has ${size} memory in use. `).join('')}Of the allocated memory 12.60 GiB is allocated by PyTorch, and 100 MiB is reserved by PyTorch but unallocated.`;
    expect(heldByOthers(listed('588.00 MiB', '78.02 GiB'))).toBeUndefined();
    expect(isItsOwn(listed('588.00 MiB', '78.02 GiB'))).toBe(true);
    expect(heldByOthers(listed('64.90 GiB', '13.70 GiB'))?.gib).toBeCloseTo(66, 0);
  });

  it('a process that has nearly all of its GPU has nobody else to blame', () => {
    expect([OWN, SHARED, NPU].map(isItsOwn)).toEqual([true, false, false]);
  });

  it('a shortened sentence is read like the long one', () => {
    expect(heldByOthers(shortMemory(SHARED))?.gib).toBeCloseTo(40, 0);
    expect(isItsOwn(shortMemory(OWN))).toBe(true);
  });
});
