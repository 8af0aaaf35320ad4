import type { TransferProtocol } from '../../core/contract/transfer/connector-rules.js';
import { isGiven } from '../../edge/platform/data/json-object.js';
import type { Api } from '../apis/api.js';
import { spliceObject } from '../json/splice-object.js';
import type { SplitBodies } from '../proxy/proxied-request.js';
import { cacheUseOf } from './cache-use.js';
import type { AskedBody, ReadBody } from './request-body.js';

const NONE: readonly TransferProtocol[] = [];
const BOTH: readonly TransferProtocol[] = ['nixl', 'bootstrap'];
const NIXL: readonly TransferProtocol[] = ['nixl'];

/**
 * In which ways a request can be split between two engines; none where that is impossible, or would cost more than it saves:
 * - vLLM 0.32 takes `kv_transfer_params` for chats, completions, responses and messages, SGLang 0.5.23 its `bootstrap_…`
 *   fields as well; a response that both engines of a bootstrap would keep is not split so;
 * - a decode engine does not read its cache for the log probabilities of a prompt, and computes all of it again;
 * - of several answers to a prompt each would fetch the blocks, which are free after the first;
 * - vLLM answers to several prompts in one request with the parameters of the first;
 * - with parameters of its own another router splits it.
 */
export function splitProtocols({ prompt, path }: Api, { value }: AskedBody): readonly TransferProtocol[] {
  if (prompt === undefined || cacheUseOf(value) !== 'plain') return NONE;
  if (isGiven(value['kv_transfer_params']) || isGiven(value['bootstrap_room'])) return NONE;
  if (prompt === 'completion') return isOnePrompt(value['prompt']) ? BOTH : NONE;
  return path === '/v1/responses' ? NIXL : BOTH;
}

/** The bodies of a request for two engines, made when they are asked for. */
export function splitBodies({ bytes, scan }: ReadBody, { path }: Pick<Api, 'path'>): SplitBodies {
  return {
    forPrefill: () => spliceObject(bytes, scan, LENGTH_FIELDS, prefillFields(path)),
    withTransfer: (parameters) =>
      spliceObject(bytes, scan, TRANSFER_FIELDS, [
        Buffer.concat([Buffer.from('"kv_transfer_params":'), parameters]),
      ]),
    withBootstrap: (host, port, room) =>
      spliceObject(bytes, scan, BOOTSTRAP_FIELDS, [
        `"bootstrap_host":${JSON.stringify(host)}`,
        `"bootstrap_port":${port}`,
        `"bootstrap_room":${room}`,
      ]),
  };
}

/** Of the prefill engine one token is wanted, in one piece: vLLM refuses `stream_options` without a stream, and a least number of tokens above the most. */
const LENGTH_FIELDS: ReadonlySet<unknown> = new Set([
  'kv_transfer_params',
  'max_completion_tokens',
  'max_output_tokens',
  'max_tokens',
  'min_tokens',
  'store',
  'stream',
  'stream_options',
]);
const TRANSFER_FIELDS: ReadonlySet<unknown> = new Set(['kv_transfer_params']);
const BOOTSTRAP_FIELDS: ReadonlySet<unknown> = new Set([
  'bootstrap_host',
  'bootstrap_port',
  'bootstrap_room',
]);

function prefillFields(path: Api['path']): readonly string[] {
  const length = path === '/v1/responses' ? ['"max_output_tokens":1', '"store":false'] : ['"max_tokens":1'];
  return [
    ...length,
    '"stream":false',
    '"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false}',
  ];
}

/** A text, or the token ids of one; of a list of texts each is a prompt. */
function isOnePrompt(prompt: unknown): boolean {
  if (typeof prompt === 'string' || prompt instanceof Uint32Array) return true;
  return Array.isArray(prompt) && prompt.length > 0 && typeof prompt[0] === 'number';
}
