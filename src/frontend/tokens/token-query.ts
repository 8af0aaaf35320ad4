import { hash } from 'node:crypto';
import {
  type PromptRequest,
  type TokenEndpoint,
  wholeRequest,
  withoutMeaning,
} from '../../engines/descriptor/token-endpoint.js';
import type { CatalogueWorker } from '../../fleet/catalogue/catalogue.js';
import { spliceObject } from '../json/splice-object.js';
import type { RawBody } from './prompt-tokens.js';

/** A prompt that engines are asked about, as JSON: that of a long one takes as long as asking, so it is made once. */
export class TokenQuery {
  readonly prompt: PromptRequest;
  /** The name of the model that it is asked under. */
  readonly model: string;
  readonly #raw: RawBody | undefined;
  #whole: Buffer | undefined;

  /** `raw`: the text of all of `prompt.body`, where that is known. */
  constructor(prompt: PromptRequest, model: string, raw?: RawBody) {
    this.prompt = prompt;
    this.model = model;
    this.#raw = raw;
  }

  /** What is asked at an endpoint; undefined for what JSON cannot carry. */
  bodyFor(endpoint: TokenEndpoint): Buffer | undefined {
    const isWhole = endpoint.takesAll && this.prompt.media === undefined;
    return isWhole ? this.#wholeBody() : toJson(endpoint.body(this.prompt, this.model));
  }

  /** Names all that its tokens depend on; undefined for what JSON cannot carry. */
  keyFor(
    group: string,
    { tokenizerFingerprint, instanceId }: Pick<CatalogueWorker, 'tokenizerFingerprint' | 'instanceId'>,
  ): string | undefined {
    const whole = this.#wholeBody();
    if (whole === undefined) return undefined;
    const digest = hash('sha256', whole, 'base64');
    return JSON.stringify([group, tokenizerFingerprint ?? instanceId, this.prompt.kind, digest]);
  }

  #wholeBody(): Buffer | undefined {
    this.#whole ??=
      (this.#raw && cutOut(this.#raw, this.prompt, this.model)) ??
      toJson(wholeRequest(this.prompt, this.model));
    return this.#whole;
  }
}

/** The same as `wholeRequest`, out of the text that came: undefined where that cannot be cut. */
function cutOut({ bytes, scan }: RawBody, request: PromptRequest, model: string): Buffer | undefined {
  const hasNull = scan.fields.some(
    ({ valueStart, valueEnd }) =>
      valueEnd - valueStart < MAX_NULL_BYTES &&
      bytes.toString('latin1', valueStart, valueEnd).trim() === 'null',
  );
  if (hasNull || scan.hasTooManyFields || request.body['model'] !== model) return undefined;
  return spliceObject(bytes, scan, withoutMeaning(request), []);
}

/** Longest value that may be `null` with white space around it; engines take it for absent, in most fields. */
const MAX_NULL_BYTES = 64;

/** Undefined when it is nested deeper than the stack allows. */
function toJson(value: unknown): Buffer | undefined {
  try {
    return Buffer.from(JSON.stringify(value));
  } catch {
    // A `RangeError` of the stack. The request is then routed without its tokens.
    return undefined;
  }
}
