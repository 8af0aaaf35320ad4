import { INDEX_KERNEL_BASE64 } from './kernels/index-kernel.js';
import { PrefixIndexError } from './prefix-index-error.js';
import { type KernelFunction, KernelModule } from './wasm-kernel.js';

/** What `kernel/index` exports; the addresses are of where hashes are put and answers are found. */
export interface IndexFunctions {
  readonly maxHolders: KernelFunction;
  readonly inputHashes: KernelFunction;
  readonly inputAddress: KernelFunction;
  readonly holdersAddress: KernelFunction;
  readonly depthsAddress: KernelFunction;
  readonly scannedIdsAddress: KernelFunction;
  readonly find: KernelFunction;
  readonly findStart: KernelFunction;
  readonly findMore: KernelFunction;
  readonly findEnd: KernelFunction;
  readonly heldOf: KernelFunction;
  readonly storeAll: KernelFunction;
  readonly removeAll: KernelFunction;
  readonly outOfMemory: KernelFunction;
  readonly dropHolder: KernelFunction;
  readonly reuseHolder: KernelFunction;
  readonly sweepSegment: KernelFunction;
  readonly isSwept: KernelFunction;
  readonly blocksOf: KernelFunction;
  readonly entries: KernelFunction;
  readonly scan: KernelFunction;
  readonly scannedEntries: KernelFunction;
}

/** Memory of WebAssembly. It is a shared one because views of that stay valid when it grows; no other thread has it. */
export interface IndexMemory {
  readonly buffer: SharedArrayBuffer;
}

/** What is used of WebAssembly; TypeScript's own declarations come with those of a browser alone. */
interface WebAssemblyApi {
  readonly Instance: new (
    module: object,
    imports: { readonly env: { readonly memory: IndexMemory } },
  ) => { readonly exports: object };
  readonly Memory: new (limits: {
    readonly initial: number;
    readonly maximum: number;
    readonly shared: true;
  }) => IndexMemory;
}

const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };

const PAGE_BYTES = 65_536;
/** What an empty index has: the fixed part of its memory. */
const INITIAL_PAGES = 32;
const MAX_PAGES = 65_535;

const MODULE = new KernelModule(INDEX_KERNEL_BASE64);

/** Memory for an index that takes at most `maxBytes`. Only addresses are taken until it is used. */
export function makeIndexMemory(maxBytes: number | undefined): IndexMemory {
  const maximum = Math.min(MAX_PAGES, Math.floor((maxBytes ?? MAX_PAGES * PAGE_BYTES) / PAGE_BYTES));
  if (!(maximum >= INITIAL_PAGES)) {
    throw new PrefixIndexError(
      'no_memory',
      `a prefix index needs at least ${INITIAL_PAGES * PAGE_BYTES} bytes, and is allowed ${maxBytes}`,
    );
  }
  try {
    return new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum, shared: true });
  } catch (cause) {
    throw new PrefixIndexError(
      'no_memory',
      `cannot reserve ${maximum * PAGE_BYTES} bytes of addresses for a prefix index; is the address space of this process limited (ulimit -v)?`,
      { cause },
    );
  }
}

/** The kernel upon a memory. */
export function startIndexKernel(memory: IndexMemory): IndexFunctions {
  return new WebAssembly.Instance(MODULE.compiled, { env: { memory } }).exports as IndexFunctions;
}
