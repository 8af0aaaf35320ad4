/** One exported function of a kernel: it takes and returns 32-bit numbers. */
export type KernelFunction = (...values: readonly number[]) => number;

/** What is used of WebAssembly; TypeScript's own declarations come with those of a browser alone. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: { readonly env: { readonly memory: WebAssemblyMemory } },
  ) => { readonly exports: object };
  readonly Memory: new (limits: { readonly initial: number; readonly maximum: number }) => WebAssemblyMemory;
}

interface WebAssemblyMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };

const PAGE_BYTES = 65_536;

/** A module of `src/core/blocks/kernels`, compiled when it is first used. */
export class KernelModule {
  readonly #base64: string;
  #compiled: object | undefined;

  constructor(base64: string) {
    this.#base64 = base64;
  }

  /** Compiled once in a process: a module of a few kilobytes takes about a millisecond. */
  get compiled(): object {
    this.#compiled ??= new WebAssembly.Module(Buffer.from(this.#base64, 'base64'));
    return this.#compiled;
  }
}

/**
 * A kernel and its memory, for one thread. When the memory grows, all views
 * that were made of it before are empty.
 */
export class WasmKernel<Functions> {
  readonly functions: Functions;
  readonly #memory: WebAssemblyMemory;
  readonly #maximumBytes: number;
  #bytes: Uint8Array;
  #words: Uint32Array;

  /** Starts with one page of 64 KiB; `maximumBytes` takes addresses, but no memory until it grows. */
  constructor(module: KernelModule, maximumBytes: number) {
    const maximum = Math.ceil(maximumBytes / PAGE_BYTES);
    this.#maximumBytes = maximum * PAGE_BYTES;
    try {
      this.#memory = new WebAssembly.Memory({ initial: 1, maximum });
    } catch (cause) {
      throw new Error(`cannot get addresses for ${this.#maximumBytes} bytes of kernel memory`, { cause });
    }
    this.functions = new WebAssembly.Instance(module.compiled, { env: { memory: this.#memory } })
      .exports as Functions;
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#words = new Uint32Array(this.#memory.buffer);
  }

  /** The whole memory. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** The whole memory, as 32-bit words. */
  get words(): Uint32Array {
    return this.#words;
  }

  /** Makes the memory at least `bytes` long. Throws an error when it cannot be had. */
  reserve(bytes: number): void {
    const held = this.#bytes.length;
    if (bytes <= held) return;
    // Doubled, so that calls which ask for a little more each time seldom grow it.
    const wanted = Math.min(Math.max(bytes, 2 * held), Math.max(bytes, this.#maximumBytes));
    try {
      this.#memory.grow(Math.ceil((wanted - held) / PAGE_BYTES));
    } catch (cause) {
      throw new Error(`cannot get ${wanted} bytes of kernel memory`, { cause });
    }
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#words = new Uint32Array(this.#memory.buffer);
  }
}
