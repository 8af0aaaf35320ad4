/**
 * What can go wrong between us and an API server: the closed list.
 * - `no_configuration`: there is no kubeconfig and this is no pod, or what there is cannot be read;
 * - `unreachable`: no connection, no TLS, or no answer in time;
 * - `unauthorized`: 401, the token or certificate is not taken (any more);
 * - `forbidden`: 403, the message names verb, resource and namespace, and the rule that would allow it;
 * - `not_found`: 404, the object or its whole kind is not there;
 * - `expired`: 410, the resource version is too old to go on from;
 * - `refused`: any other status that is no success;
 * - `too_large`: an answer that is larger than is taken; fewer objects of a page may be taken;
 * - `bad_answer`: an answer that is not what the API has.
 */
export type KubernetesErrorCode =
  | 'no_configuration'
  | 'unreachable'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'expired'
  | 'refused'
  | 'too_large'
  | 'bad_answer';

/** Why the API server did not do what was asked, in words an operator can act on; never with a secret in them. */
export class KubernetesError extends Error {
  readonly code: KubernetesErrorCode;

  constructor(code: KubernetesErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KubernetesError';
    this.code = code;
  }
}
