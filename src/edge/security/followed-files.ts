import { type Clock, sleep } from '../platform/clock.js';
import { explainSystemError } from '../platform/files/file.js';
import { readWholeFile, watchFile } from '../platform/files/file-watcher.js';
import type { Logger } from '../platform/logger.js';
import { SecurityError } from './security-error.js';

/** A setting and the file that it names. */
export interface FileField {
  /** The flag: `--tls-cert`. */
  readonly field: string;
  readonly path: string;
}

export interface FollowedFilesOptions<T> {
  readonly files: readonly FileField[];
  /** What they hold, for the log: `TLS certificates`. */
  readonly what: string;
  /** Makes the value of the files' texts, in their order; throws a `SecurityError` when they are no good. */
  readonly parse: (texts: readonly string[]) => T;
  /** A new value was taken up. */
  readonly onChange?: (value: T) => void;
}

export interface FollowedFilesModules {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Reads a whole file. Default `readWholeFile`. */
  readonly readFile?: (path: string, maxBytes: number) => Promise<Buffer>;
}

/** Largest file of certificates, keys or tokens: the public web's root store has 220 KiB. */
const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Files that are written one after the other do not fit together for a moment.
 * Only when they still do not at the next try, this much later, is it worth a word.
 */
const RETRY_MS = 1_000;

/** A value that is made of files and follows them. */
export class FollowedFiles<T> {
  readonly #options: FollowedFilesOptions<T>;
  readonly #modules: FollowedFilesModules;
  readonly #end = new AbortController();
  #texts: readonly string[];
  #value: T;
  #isReloading = false;
  #mustReloadAgain = false;
  #loggedProblem: string | undefined;

  private constructor(
    options: FollowedFilesOptions<T>,
    modules: FollowedFilesModules,
    texts: readonly string[],
  ) {
    this.#options = options;
    this.#modules = modules;
    this.#texts = texts;
    this.#value = options.parse(texts);
  }

  /** Reads the files and begins to follow them. Rejects with a `SecurityError`; then nothing runs. */
  static async load<T>(
    options: FollowedFilesOptions<T>,
    modules: FollowedFilesModules,
  ): Promise<FollowedFiles<T>> {
    const texts = await readAll(options.files, modules);
    const followed = new FollowedFiles(options, modules, texts);
    followed.#watch();
    return followed;
  }

  /** The newest value that was good. */
  get current(): T {
    return this.#value;
  }

  /** Follows no more; the value stays. */
  close(): void {
    this.#end.abort();
  }

  #watch(): void {
    // All files are read again, for one alone says nothing; what is wrong with them is found there too.
    const listener = { onContent: () => void this.#reload(), onError: () => void this.#reload() };
    for (const { path } of this.#options.files) {
      // It cannot reject: the listener does not throw.
      void watchFile({ path, maxBytes: MAX_FILE_BYTES }, this.#modules, this.#end.signal, listener);
    }
  }

  async #reload(): Promise<void> {
    this.#mustReloadAgain = true;
    if (this.#isReloading) return;
    this.#isReloading = true;
    while (this.#mustReloadAgain) {
      this.#mustReloadAgain = false;
      let problem = await this.#tryReload();
      // Tried again without a change too: a certificate can become valid by the clock alone.
      while (problem !== undefined && !this.#end.signal.aborted) {
        await sleep(this.#modules.clock, RETRY_MS, this.#end.signal);
        problem = await this.#tryReload();
        if (problem !== undefined) this.#logProblem(problem);
      }
    }
    this.#isReloading = false;
  }

  /** Takes up what the files hold now; what is wrong with it when that cannot be. */
  async #tryReload(): Promise<SecurityError | undefined> {
    const { files, parse, onChange, what } = this.#options;
    const { logger } = this.#modules;
    try {
      const texts = await readAll(files, this.#modules);
      if (this.#end.signal.aborted) return undefined;
      if (texts.every((text, at) => text === this.#texts[at])) {
        this.#loggedProblem = undefined;
        return undefined;
      }
      const value = parse(texts);
      this.#value = value;
      this.#texts = texts;
      this.#loggedProblem = undefined;
      onChange?.(value);
      logger.info({ files: files.map(({ path }) => path) }, `Took up new ${what}`);
      return undefined;
    } catch (error) {
      if (error instanceof SecurityError) return error;
      throw error;
    }
  }

  #logProblem(error: SecurityError): void {
    // Not by the message, in which the time of day may stand.
    const problem = `${error.field} ${error.code}`;
    if (problem === this.#loggedProblem || this.#end.signal.aborted) return;
    this.#loggedProblem = problem;
    this.#modules.logger.error(
      { error },
      `The ${this.#options.what} in the files cannot be used; those before stay`,
    );
  }
}

async function readAll(
  files: readonly FileField[],
  modules: Pick<FollowedFilesModules, 'readFile'>,
): Promise<string[]> {
  const readFile = modules.readFile ?? readWholeFile;
  return Promise.all(
    files.map(async ({ field, path }) => {
      try {
        return (await readFile(path, MAX_FILE_BYTES)).toString('utf8');
      } catch (error) {
        throw new SecurityError('unreadable', field, `${path}: ${explainSystemError(error)}`);
      }
    }),
  );
}
