import type { IncomingMessage } from 'node:http';
import { GatheredBytes } from '../../edge/platform/data/gathered-bytes.js';
import { isJsonObject } from '../../edge/platform/data/json-object.js';
import { JsonScan } from '../../edge/platform/data/json-scan.js';
import type { PromptKind } from '../../engines/descriptor/token-endpoint.js';
import { OpenAiError } from '../errors/openai-error.js';
import { findJsonExcess, MAX_JSON_DEPTH } from '../json/json-bounds.js';
import { keyOf, type LightJson, parseLightJson } from '../json/light-json.js';
import { losesNumber } from '../json/number-loss.js';
import { boundaryOf, formField } from './multipart.js';

/** Bodies that are held at a time, in whole ones of the greatest length. */
const MAX_FULL_BODIES = 16;

/** A request that is held in memory, or comes into it. */
export interface HeldBody {
  /** Bytes that it takes now. */
  bytes: number;
}

/** A body that came in whole. */
export interface ReadBody {
  readonly bytes: Buffer;
  /** What was seen in it while it came. */
  readonly scan: JsonScan;
  /** Between the parts of a form; undefined for JSON. */
  readonly boundary?: string | undefined;
}

/** A body while its pieces come. */
export interface ComingBody {
  /** Takes the next piece; comes back with why the body is refused, and nothing of it is held then. */
  add(piece: Buffer): OpenAiError | undefined;
  /** All of it. */
  end(): ReadBody;
}

export interface RequestBodyOptions {
  /** Longest body, in bytes. */
  readonly limitBytes: number;
}

/**
 * Reads bodies into memory, each up to a limit and all of them together up to
 * sixteen times that: what many clients send slowly at the same time is bounded
 * as what one sends.
 */
export class BodyReader {
  readonly #limitBytes: number;
  #heldBytes = 0;

  constructor({ limitBytes }: RequestBodyOptions) {
    this.#limitBytes = limitBytes;
  }

  /** Bytes that are held now. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Why a request is refused before its body is read; undefined when it is not. */
  findHeaderProblem(
    { headers }: Pick<IncomingMessage, 'headers'>,
    reads: 'json' | 'multipart' = 'json',
  ): OpenAiError | undefined {
    const type = headers['content-type'];
    if (reads === 'multipart') {
      if (boundaryOf(type) === undefined)
        return new OpenAiError(415, 'The Content-Type must be multipart/form-data with a boundary.');
    } else if (type !== undefined && !JSON_TYPE.test(type))
      return new OpenAiError(415, 'The Content-Type must be application/json.');
    const encoding = headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity')
      return new OpenAiError(415, 'The body must not be compressed: no Content-Encoding is understood.');
    // RFC 9112, 6.1: the parser takes the chunks apart, and leaves what stands before them as it is.
    const coding = headers['transfer-encoding'];
    if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
      return new OpenAiError(501, 'Of Transfer-Encoding only chunked is understood.');
    return Number(headers['content-length'] ?? 0) > this.#limitBytes ? this.#tooLarge() : undefined;
  }

  /**
   * Reads a body and counts it in `held`, which is to be released when it is
   * no longer needed. Each piece is measured as it comes, so that a large body
   * never holds up the event loop, and one that is refused is not waited for.
   * `done` is called once, or never when the client leaves.
   */
  read(
    request: IncomingMessage,
    held: HeldBody,
    done: (error: OpenAiError | null, body?: ReadBody) => void,
  ): void {
    const coming = this.begin(held, request.headers['content-type']);
    const onData = (piece: Buffer): void => {
      const error = coming.add(piece);
      if (error === undefined) return;
      request.off('data', onData).off('end', onEnd);
      done(error);
    };
    const onEnd = (): void => done(null, coming.end());
    request.on('data', onData).on('end', onEnd);
  }

  /** Begins to read a body whose pieces come by themselves. Counts it in `held`, as `read` does. */
  begin(held: HeldBody, contentType: string | undefined): ComingBody {
    const gathered = new GatheredBytes();
    const scan = new JsonScan();
    const boundary = boundaryOf(contentType);
    const findProblem = (piece: Buffer): OpenAiError | undefined => {
      held.bytes += piece.length;
      this.#heldBytes += piece.length;
      if (held.bytes > this.#limitBytes) return this.#tooLarge();
      if (this.#heldBytes > this.#limitBytes * MAX_FULL_BODIES) return tooMuch();
      if (boundary !== undefined) return undefined;
      scan.add(piece);
      const excess = findJsonExcess(scan);
      return excess === undefined ? undefined : new OpenAiError(400, EXCESS[excess]);
    };
    return {
      add: (piece) => {
        const problem = findProblem(piece);
        if (problem === undefined) gathered.add(piece);
        else this.release(held);
        return problem;
      },
      end: () => ({ bytes: gathered.whole(), scan, boundary }),
    };
  }

  /** Its memory is free again; may be called again. */
  release(held: HeldBody): void {
    this.#heldBytes -= held.bytes;
    held.bytes = 0;
  }

  #tooLarge(): OpenAiError {
    return new OpenAiError(413, `The body is longer than the limit of ${this.#limitBytes} bytes.`, {
      code: 'request_too_large',
    });
  }
}

const JSON_TYPE = /^\s*application\/json\s*(?:;|$)/i;

function tooMuch(): OpenAiError {
  return new OpenAiError(503, 'Too much is being sent by too many clients.', {
    code: 'overloaded',
    retryAfterSeconds: 1,
  });
}

/** A body that asks for something to be computed. */
export interface AskedBody {
  /** The name of the model, or of a LoRA adapter of it. */
  readonly model: string;
  /** vLLM's: keeps apart the caches of those who do not share them; empty for none. */
  readonly cacheSalt: string;
  /** What stands in it, but for what is too heavy to be parsed here. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Whether something was too heavy. */
  readonly isCut: boolean;
  /** The text that `value` was parsed of; undefined for a form. */
  readonly raw: ReadBody | undefined;
  /** Whether what a template may print has a number that JavaScript does not keep: 1.0 became 1. Looked for when it is asked. */
  losesNumbers(): boolean;
}

/** Outermost fields whose numbers a template may print. */
const PRINTED_FIELDS: ReadonlySet<unknown> = new Set(['tools', 'documents', 'chat_template_kwargs']);
/** Here what a tool was called with stands in a message as an object; in a chat it is a text. */
const PRINTED_OF_MESSAGES: ReadonlySet<unknown> = new Set([...PRINTED_FIELDS, 'messages']);

/** Longest name of a model, as in reports. */
const MAX_MODEL_CHARS = 1_024;

/** Reads what a router needs of a body; throws an `OpenAiError` with what is wrong. */
export function parseBody(body: ReadBody, kind?: PromptKind): AskedBody {
  if (body.boundary !== undefined) return parseForm(body.bytes, body.boundary);
  const printed = kind === 'messages' ? PRINTED_OF_MESSAGES : PRINTED_FIELDS;
  if (body.bytes.length === 0)
    throw new OpenAiError(400, 'The request has no body: a JSON object is expected.');
  const { value, isCut } = parseBytes(body);
  if (isCut && value === undefined) throw new OpenAiError(400, EXCESS.too_many_values);
  if (!isJsonObject(value))
    throw new OpenAiError(400, `The body must be a JSON object, not ${nameOf(value)}.`);
  const { model, cache_salt: cacheSalt } = value;
  return {
    model: checkedModel(model),
    cacheSalt: typeof cacheSalt === 'string' ? cacheSalt : '',
    value,
    isCut,
    raw: body,
    losesNumbers: () =>
      body.scan.fields.some(
        (field) =>
          printed.has(keyOf(body.bytes, field)) && losesNumber(body.bytes, field.valueStart, field.valueEnd),
      ),
  };
}

/** Of a form only the model is read: its files are for the engine. */
function parseForm(bytes: Buffer, boundary: string): AskedBody {
  const model = checkedModel(formField(bytes, boundary, 'model'));
  return { model, cacheSalt: '', value: {}, isCut: false, raw: undefined, losesNumbers: () => false };
}

function checkedModel(model: unknown): string {
  if (model === undefined || model === null || model === '')
    throw new OpenAiError(400, 'You must provide a model parameter.', { param: 'model' });
  if (typeof model === 'string' && model.length <= MAX_MODEL_CHARS) return model;
  throw new OpenAiError(400, `The model must be a string of at most ${MAX_MODEL_CHARS} characters.`, {
    param: 'model',
  });
}

const EXCESS = {
  too_deep: `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`,
  too_many_values: 'The body has too many values.',
} as const;

function parseBytes({ bytes, scan }: ReadBody): LightJson {
  try {
    return parseLightJson(bytes, scan, 'prompt');
  } catch (error) {
    // The parser quotes a few characters around the place, which the client has sent itself.
    throw new OpenAiError(400, `The body is not valid JSON: ${(error as Error).message}.`);
  }
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
