import { LRUCache } from 'lru-cache';
import type { CatalogueGroup, CatalogueWorker } from '../../fleet/catalogue/catalogue.js';
import { OpenAiError } from '../errors/openai-error.js';

/** The worker that keeps a response. */
export interface Home {
  readonly group: string;
  /** Its name in discovery. */
  readonly target: string;
}

/** Asks a worker; undefined where it does not answer. Never rejects. */
export type AskWorker = (
  worker: CatalogueWorker,
  path: string,
) => Promise<{ readonly status: number } | undefined>;

/** Responses that are remembered: an entry takes some 300 bytes. */
const MAX_REMEMBERED = 65_536;
/** Searches at a time: each asks every worker that may have the response. */
const MAX_SEARCHES = 16;
/** Workers that one search asks at a time. */
const MAX_ASKED = 64;
/** Refusals for want of a key, which say nothing of what is kept. */
const UNSURE: ReadonlySet<number> = new Set([401, 403, 429]);
/** Longest id that is looked for; vLLM's have 37 characters. */
const MAX_ID_CHARS = 256;

/**
 * Knows which worker keeps what it answered: of the answers that went through
 * here, and for others, after a restart or of another frontend, by asking the
 * workers.
 */
export class ResponseHomes {
  readonly #ask: AskWorker;
  readonly #homes = new LRUCache<string, Home>({ max: MAX_REMEMBERED });
  #searches = 0;

  constructor(ask: AskWorker) {
    this.#ask = ask;
  }

  /** A worker has answered with this id. */
  remember(id: string, home: Home): void {
    if (id.length <= MAX_ID_CHARS) this.#homes.set(id, home);
  }

  /**
   * Which of the groups' workers keeps it. `collection` is the path below which
   * engines list what they keep: `/v1/responses`. Rejects with an `OpenAiError`:
   * 404 where none has it or the one that had it has left, 503 where it cannot
   * be found out.
   */
  async find(
    id: string,
    groups: readonly CatalogueGroup[],
    collection: string,
    param: string,
  ): Promise<Home> {
    if (id === '' || id.length > MAX_ID_CHARS) throw unknownError(id, param);
    const candidates = groups.flatMap(({ group, workers }) =>
      workers.flatMap((worker) =>
        worker.isOffered && worker.baseUrl !== undefined ? { group, worker } : [],
      ),
    );
    const known = this.#homes.get(id);
    const isHere = candidates.some(
      ({ group, worker }) => group === known?.group && worker.target === known.target,
    );
    if (known !== undefined && isHere) return known;
    // What a worker kept left with it, but a worker may have been given another name.
    const [only, ...others] = candidates;
    if (known === undefined && only !== undefined && others.length === 0)
      return { group: only.group, target: only.worker.target };
    if (this.#searches >= MAX_SEARCHES) throw unsureError();
    this.#searches += 1;
    try {
      return await this.#search(id, candidates, `${collection}/${encodeURIComponent(id)}`, {
        hasLeft: known !== undefined,
        param,
      });
    } finally {
      this.#searches -= 1;
    }
  }

  async #search(
    id: string,
    candidates: readonly { readonly group: string; readonly worker: CatalogueWorker }[],
    path: string,
    { hasLeft, param }: { readonly hasLeft: boolean; readonly param: string },
  ): Promise<Home> {
    let isSure = true;
    for (let from = 0; from < candidates.length; from += MAX_ASKED) {
      const asked = candidates.slice(from, from + MAX_ASKED);
      const answers = await Promise.all(asked.map(({ worker }) => this.#ask(worker, path)));
      const at = answers.findIndex((answer) => answer?.status === 200);
      const found = asked[at];
      if (found !== undefined) {
        const home = { group: found.group, target: found.worker.target };
        this.remember(id, home);
        return home;
      }
      isSure &&= answers.every(
        (answer) => answer !== undefined && !UNSURE.has(answer.status) && answer.status < 500,
      );
    }
    if (!isSure) throw unsureError();
    throw hasLeft ? leftError(id, param) : unknownError(id, param);
  }
}

const CODES: Readonly<Record<string, string>> = {
  previous_response_id: 'previous_response_not_found',
  conversation: 'conversation_not_found',
};

function unknownError(id: string, param: string): OpenAiError {
  return notFound(`No worker keeps '${id.slice(0, MAX_ID_CHARS)}'.`, param);
}

function leftError(id: string, param: string): OpenAiError {
  return notFound(`'${id}' is not kept any longer: the worker that had it has left.`, param);
}

function notFound(text: string, param: string): OpenAiError {
  return new OpenAiError(
    404,
    `${text} Engines keep responses in memory, and only where they were started so.`,
    {
      param,
      code: CODES[param] ?? 'response_not_found',
    },
  );
}

function unsureError(): OpenAiError {
  return new OpenAiError(503, 'It cannot be found out now which worker keeps this response.', {
    code: 'response_unknown',
    retryAfterSeconds: 1,
  });
}

/** Bytes of an answer in which its id is looked for: it stands at the beginning. */
const MAX_LOOKED_BYTES = 4_096;

const ID = /"id"\s*:\s*"([^"\\]{1,256})"/;

/** Looks for the id of a response while its answer passes. */
export class ResponseIdWatch {
  #text = '';
  #isOver = false;

  /** The id, once; undefined as long as it has not come, and after it. */
  add(piece: Buffer): string | undefined {
    if (this.#isOver) return undefined;
    this.#text += piece.toString('latin1', 0, MAX_LOOKED_BYTES - this.#text.length);
    const id = ID.exec(this.#text)?.[1];
    this.#isOver = id !== undefined || this.#text.length >= MAX_LOOKED_BYTES;
    if (this.#isOver) this.#text = '';
    return id;
  }
}
