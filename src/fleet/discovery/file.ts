import { type FileWatchModules, watchFile } from '../../edge/platform/files/file-watcher.js';
import { DiscoveryError } from './discovery-error.js';
import { MAX_FILE_BYTES } from './limits.js';
import { readWorkerList } from './read-worker-list.js';
import type { DiscoverySource, Endpoint } from './source.js';

export interface FileSourceOptions {
  readonly path: string;
  /** Between two looks at the file. Default 2,000 ms. */
  readonly intervalMs?: number;
}

/**
 * A file of workers, watched by its content; see `readWorkerList` for its
 * form. While the file is missing or broken the last good list stays, and the
 * error says which line to fix.
 */
export class FileSource implements DiscoverySource {
  readonly name: string;
  readonly isStatic = false;
  readonly #options: FileSourceOptions;
  readonly #modules: FileWatchModules;

  constructor(options: FileSourceOptions, modules: FileWatchModules) {
    this.name = options.path;
    this.#options = options;
    this.#modules = modules;
  }

  run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[]) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    const { path } = this.#options;
    return watchFile({ ...this.#options, maxBytes: MAX_FILE_BYTES }, this.#modules, signal, {
      onContent: (content) => {
        let endpoints: readonly Endpoint[];
        try {
          endpoints = readWorkerList(content.toString('utf8'), path);
        } catch (error) {
          onError(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        onList(endpoints);
      },
      onError: (error) => onError(new DiscoveryError('unreadable_file', error.message, { cause: error })),
    });
  }
}
