import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of one test file, made when it is first needed. */
export class TestFolder {
  #path: string | undefined;

  get path(): string {
    this.#path ??= mkdtempSync(join(tmpdir(), 'kv-accord-doctor-'));
    return this.#path;
  }

  /** Writes a file and says where it is. */
  write(name: string, content: string | Uint8Array): string {
    const path = join(this.path, name);
    writeFileSync(path, content);
    return path;
  }

  clear(): void {
    if (this.#path !== undefined) rmSync(this.#path, { recursive: true, force: true });
    this.#path = undefined;
  }
}
