import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { packageRoot } from '../platform/files/package-root.js';
import type { HttpAnswer } from './answer.js';

/** The files of the web app that the page names, below `/page/`. */
const FILES = {
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
} as const;

type FileName = keyof typeof FILES;

interface LoadedFile {
  readonly body: Buffer;
  readonly gzipped: Buffer;
  /** Characters of its SHA-256: it changes with the file, so that a browser may keep the file. */
  readonly version: string;
}

/** Hex characters of a version: 64 bits. */
const VERSION_CHARS = 16;

/** What a browser may keep: the address changes with the file. Nothing of a fleet stands in it. */
const KEPT = 'public, max-age=31536000, immutable';

/**
 * The web app as the build made it (`dist/page`), read when the first browser
 * asks. It is the same for everybody and holds nothing of a fleet, so that
 * anyone who reaches the port may read it.
 */
export class PageFiles {
  readonly #folder: URL;
  #files: ReadonlyMap<string, LoadedFile> | undefined;

  /** `folder` has the files; default `dist/page` of the package. It ends with `/`. */
  constructor(folder: URL = new URL('dist/page/', packageRoot())) {
    this.#folder = folder;
  }

  /** Where the page finds a file, relative to itself, for prefixes that a proxy may add; undefined where nothing was built. */
  address(name: FileName): string | undefined {
    const file = this.#read().get(name);
    return file && `page/${name}?v=${file.version}`;
  }

  /** The file that stands at a path, as `/page/app.js`; undefined where there is none. */
  answer(path: string, acceptEncoding: string | undefined): HttpAnswer | undefined {
    const name = path.startsWith('/page/') ? path.slice('/page/'.length) : '';
    const file = this.#read().get(name);
    if (file === undefined) return undefined;
    const isGzip = /\bgzip\b/.test(acceptEncoding ?? '');
    return {
      status: 200,
      contentType: FILES[name as FileName],
      body: '',
      bytes: isGzip ? file.gzipped : file.body,
      headers: {
        'cache-control': KEPT,
        vary: 'accept-encoding',
        ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
      },
    };
  }

  #read(): ReadonlyMap<string, LoadedFile> {
    this.#files ??= new Map(
      Object.keys(FILES).flatMap((name) => {
        const body = readIfThere(new URL(name, this.#folder));
        if (body === undefined) return [];
        const version = createHash('sha256').update(body).digest('hex').slice(0, VERSION_CHARS);
        return [[name, { body, gzipped: gzipSync(body), version }] as const];
      }),
    );
    return this.#files;
  }
}

/** Sources that were not built have no web app, and the page does without. */
function readIfThere(file: URL): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
