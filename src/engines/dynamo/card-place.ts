import { hasUnprintable } from '../../core/text/printable.js';

/**
 * Longest name of a worker that is taken: a file name, of which it is made, has
 * at most 255 bytes.
 */
const MAX_WORKER_CHARS = 255;

/** What a model card is registered under: `<namespace>/<component>/<endpoint>/<instance id>[/<adapter>]`. */
export interface CardPlace {
  /** `dynamo/backend/generate/4f163da561a23766`, the name that Dynamo's own log gives the worker. */
  readonly worker: string;
  /** The worker instance, in hexadecimal: a random 64-bit number, too large for a JSON number to hold. */
  readonly instanceId: string;
  /** Set for the card of a LoRA adapter of that instance. */
  readonly adapter?: string;
}

/** Reads what a card is registered under; undefined for a text of another form. */
export function readCardPlace(text: string): CardPlace | undefined {
  const parts = text.split('/');
  const [namespace, component, endpoint, instanceId, adapter] = parts;
  if (parts.length < 4 || parts.length > 5 || instanceId === undefined) return undefined;
  if (!/^[0-9a-f]{1,16}$/.test(instanceId) || adapter === '') return undefined;
  if (namespace === '' || component === '' || endpoint === '') return undefined;
  if (text.length > MAX_WORKER_CHARS || hasUnprintable(text)) return undefined;
  return {
    worker: parts.slice(0, 4).join('/'),
    instanceId,
    ...(adapter === undefined ? {} : { adapter }),
  };
}

/**
 * Reads the name of a file in the folder of the cards, where all but letters
 * and digits is written with percent signs. Undefined for a file that is no
 * card, such as the temporary one in which a card is written at first.
 */
export function readCardFileName(name: string): CardPlace | undefined {
  try {
    return readCardPlace(decodeURIComponent(name));
  } catch {
    // A percent sign that encodes nothing: no file of Dynamo's.
    return undefined;
  }
}
