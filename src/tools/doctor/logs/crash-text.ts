import { plain } from './general/fault-classes.js';
import { excerptOf } from './masking.js';

/** An exception within a part that moves or keeps KV blocks. */
export interface Crash {
  /** The file from its package on, or the library: `vllm/v1/core/block_pool.py`, `UCX`, `Mooncake`; empty where only the sentence is known. */
  readonly path: string;
  /** The function; empty where it is not known. */
  readonly place: string;
  /** The exception with its words; empty where the log does not have it. */
  readonly sentence: string;
}

/** As a value of the sign `connector_crashed`: `vllm/v1/core/block_pool.py in touch: KeyError: 7`. */
export function crashText({ path, place, sentence }: Crash): string {
  const where = place === '' ? path : `${path} in ${place}`;
  return sentence === '' ? where : `${where}: ${plain(excerptOf(sentence, ''))}`;
}

/** Reads such a value. */
export function readCrash(value: string): Crash {
  const [, path, place = '', sentence = ''] =
    /^([\w./-]{1,160}\.(?:py|cpp|h|rs)|UCX|Mooncake)(?: in ([\w.<>]{1,80}))?(?:: (.*))?$/.exec(value) ?? [];
  return path === undefined ? { path: '', place: '', sentence: value } : { path, place, sentence };
}

/** `(nixl_connector.py in get_finished)`; empty where nothing is known. */
export function crashPlace({ path, place }: Crash): string {
  const file = path.split('/').at(-1) ?? '';
  if (file === '') return '';
  return place === '' ? ` (${file})` : ` (${file} in ${place})`;
}
