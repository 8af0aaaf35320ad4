import { errors } from 'undici';
import { onOneLine } from '../../core/text/printable.js';
import { tryParseJson } from '../platform/data/bounded-json.js';
import { describeError } from '../platform/describe-error.js';
import { describeResource, readResourcePath, ruleFor } from './asked-resource.js';
import { ExchangeError } from './exchange.js';
import { KubernetesError, type KubernetesErrorCode } from './kubernetes-error.js';
import { textAt } from './read-json.js';

/** Longest part of a server's own words that a message repeats. */
const MAX_WORDS_CHARS = 300;

/** What was asked, and of whom. */
export interface Asked {
  /** `https://10.0.0.1:443`. */
  readonly server: string;
  readonly path: string;
  readonly isWatch: boolean;
  /** Where the credentials come from. */
  readonly loginFrom: string;
  /** Where the authority comes from that must have signed the server's certificate. */
  readonly caFrom: string;
}

/** What an answer that is no success means. `body` is what came of it. */
export function explainStatus(status: number, body: string, asked: Asked): KubernetesError {
  const message = messageOf(body);
  const words = message === undefined ? '' : `: ${onOneLine(message, MAX_WORDS_CHARS)}`;
  const refusal = (code: KubernetesErrorCode, text: string): KubernetesError =>
    new KubernetesError(code, `${asked.server}: ${text}`);
  switch (status) {
    case 401:
      return refusal(
        'unauthorized',
        `the credentials are not taken (401). They come from ${asked.loginFrom}; they may have expired, or be another cluster's`,
      );
    case 403:
      return refusal('forbidden', forbiddenMessage(message, asked));
    case 404:
      return refusal('not_found', `there is no ${whatOf(asked)} (404)${words}`);
    case 410:
      return refusal('expired', `the resource version is too old to go on from (410)${words}`);
    default:
      return refusal('refused', `answers ${asked.path} with status ${status}${words}`);
  }
}

function forbiddenMessage(message: string | undefined, asked: Asked): string {
  const user = /User "([^"]{1,512})"/.exec(message ?? '')?.[1];
  const who = user === undefined ? 'the user' : `the user ${onOneLine(user)}`;
  const resource = readResourcePath(asked.path, asked.isWatch);
  if (resource === undefined) return `${who} may not read ${asked.path} (403)`;
  const role =
    resource.namespace === undefined ? 'a ClusterRole' : `a Role in the namespace ${resource.namespace}`;
  const anonymous =
    user === 'system:anonymous'
      ? ` Nobody is known by the credentials, which come from ${asked.loginFrom}.`
      : '';
  // Admission and quotas refuse in words of their own, which a rule would not cure.
  const isRbac = message === undefined || /cannot (?:get|list|watch) resource/.test(message);
  const more = isRbac ? '' : ` The server says: ${onOneLine(message, MAX_WORDS_CHARS)}`;
  return `${who} may not ${resource.verb} ${describeResource(resource)} (403). Add to ${role} that is bound to it: ${ruleFor(resource)}.${anonymous}${more}`;
}

function whatOf({ path, isWatch }: Asked): string {
  const resource = readResourcePath(path, isWatch);
  return resource === undefined ? path : describeResource(resource);
}

/** The message of a `Status` object; undefined where the body is none. */
function messageOf(body: string): string | undefined {
  return textAt(tryParseJson(body), 'message');
}

/** What a connection that failed means. */
export function explainBreak(error: unknown, asked: Asked): KubernetesError {
  const code = codeOf(error);
  const hint = hintFor(code, asked);
  const why =
    error instanceof ExchangeError ? error.message : onOneLine(describeError(error), MAX_WORDS_CHARS);
  const isGarbage = error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError;
  const text = isGarbage ? `answers something that is no HTTP (${why})` : `cannot be reached: ${why}${hint}`;
  return new KubernetesError(isGarbage ? 'bad_answer' : 'unreachable', `${asked.server}: ${text}`, {
    cause: error,
  });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function hintFor(code: string, { caFrom }: Asked): string {
  switch (code) {
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_GET_ISSUER_CERT':
      return `; its certificate is not signed by ${caFrom}`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return '; its certificate has another name: set tls-server-name where that is right';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return '; its name is not known here';
    case 'UND_ERR_CONNECT_TIMEOUT':
      return '; where a NetworkPolicy or a firewall drops the packets, it has to let them out to this address';
    default:
      return '';
  }
}
