import type { Logger } from '../../edge/platform/logger.js';

/** What a gateway did, by the code of Node's error, and what to do about it. */
const PROBLEMS: readonly (readonly [code: RegExp, problem: string])[] = [
  [
    /^ERR_SSL_(?:WRONG_VERSION_NUMBER|HTTP_REQUEST)$/,
    'it speaks plaintext. Let the gateway speak TLS to its picker, or start kv-accord epp with --secure-serving=false',
  ],
  [
    /^ERR_SSL_\w*ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|CERTIFICATE_\w+)$/,
    'it refuses the certificate that it is shown. Give --tls-cert and --tls-key what its authorities have signed for the name that it asks for',
  ],
  [
    /^ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE$/,
    'it shows no certificate, and --tls-client-auth require asks for one',
  ],
  [/^ERR_SSL_UNSUPPORTED_PROTOCOL$/, 'it speaks a TLS older than 1.2'],
];

/**
 * Says why gateways cannot connect: their clients see a status 500 without a reason. Each problem once, since anyone may connect;
 * a connection that ends in its handshake without a word is a probe's, and nothing is said of it.
 */
export class GatewayHandshakes {
  readonly #logger: Logger;
  readonly #logged = new Set<string>();

  constructor({ logger }: { readonly logger: Logger }) {
    this.#logger = logger;
  }

  /** A handshake failed. */
  failed({ code = '' }: NodeJS.ErrnoException, peer: string | undefined): void {
    const problem = PROBLEMS.find(([known]) => known.test(code))?.[1];
    if (problem === undefined || this.#logged.has(problem)) return;
    this.#logged.add(problem);
    const from = peer === undefined ? '' : ` from ${peer.replace(/^::ffff:/, '')}`;
    this.#logger.warn(
      { code },
      `A connection to --ext-proc-listen${from} failed in its TLS handshake: ${problem}. Others like it are not logged.`,
    );
  }
}
