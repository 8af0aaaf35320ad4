import { hash } from 'node:crypto';
import { type TokenEndpoint, wholeRequest } from '../../engines/descriptor/token-endpoint.js';
import type { CatalogueWorker } from '../../fleet/catalogue/catalogue.js';
import type { TextPrompt } from './read-prompt.js';

/** A prompt that engines are asked about, as JSON: that of a long one takes as long as asking, so it is made once. */
export class TokenQuery {
  readonly prompt: TextPrompt;
  /** The name of the model that it is asked under. */
  readonly model: string;
  #whole: Buffer | undefined;

  constructor(prompt: TextPrompt, model: string) {
    this.prompt = prompt;
    this.model = model;
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
    this.#whole ??= toJson(wholeRequest(this.prompt, this.model));
    return this.#whole;
  }
}

/** Undefined when it is nested deeper than the stack allows. */
function toJson(value: unknown): Buffer | undefined {
  try {
    return Buffer.from(JSON.stringify(value));
  } catch {
    return undefined;
  }
}
