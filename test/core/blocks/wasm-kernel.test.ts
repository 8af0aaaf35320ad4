import { describe, expect, it } from 'vitest';
import { HASH_KERNEL_BASE64 } from '../../../src/core/blocks/kernels/hash-kernel.js';
import { KernelModule, WasmKernel } from '../../../src/core/blocks/wasm-kernel.js';

const MODULE = new KernelModule(HASH_KERNEL_BASE64);

describe('a kernel and its memory', () => {
  it('compiles a module once', () => {
    expect(MODULE.compiled).toBe(MODULE.compiled);
  });

  it('starts with a page of 64 KiB and grows to what is asked for, at least twofold', () => {
    const kernel = new WasmKernel(MODULE, 1_048_576);
    expect(kernel.bytes.length).toBe(65_536);
    kernel.reserve(65_537);
    expect(kernel.bytes.length).toBe(131_072);
    kernel.reserve(500_000);
    expect(kernel.bytes.length).toBe(524_288);
    expect(kernel.words.buffer).toBe(kernel.bytes.buffer);
  });

  it('keeps what the memory holds when it grows', () => {
    const kernel = new WasmKernel(MODULE, 1_048_576);
    kernel.bytes[65_535] = 7;
    kernel.reserve(1_000_000);
    expect(kernel.bytes[65_535]).toBe(7);
  });

  it('does not grow beyond its maximum, and says so', () => {
    const kernel = new WasmKernel(MODULE, 100_000);
    kernel.reserve(131_072);
    expect(() => kernel.reserve(131_073)).toThrow('cannot get 131073 bytes of kernel memory');
    expect(kernel.bytes.length).toBe(131_072);
  });

  it('says when there are no addresses for it', () => {
    expect(() => new WasmKernel(MODULE, 2 ** 40)).toThrow(
      'cannot get addresses for 1099511627776 bytes of kernel memory',
    );
  });
});
