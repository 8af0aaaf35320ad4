import { type Address, isLoopback } from '../../edge/platform/address.js';
import { reachableUrl } from '../../fleet/catalogue/reachable-url.js';

/** Where the status page of a router in another process is. */
export interface RouterPage {
  /** `http://10.0.0.2:9463/` */
  readonly url: string;
  /** The router, as it is dialled. */
  readonly router: string;
  /** Whether it can be opened on the router's machine alone, which is not this one. */
  readonly isLocal: boolean;
}

/** Characters of a URL that is shown. */
const MAX_URL_CHARS = 512;

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;

/** What a router says of its page, as a browser opens it: another machine's "any address" is that machine. Undefined for what is no web address. */
export function routerPage(reported: string, router: Address): RouterPage | undefined {
  if (reported.length > MAX_URL_CHARS || !URL.canParse(reported)) return undefined;
  const { protocol, hostname, origin } = new URL(reported);
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  const isLocal = LOOPBACK.test(hostname) && router.type === 'tcp' && !isLoopback(router);
  const url = isLocal ? origin : reachableUrl(origin, router.text);
  return url === undefined ? undefined : { url: `${url}/`, router: router.text, isLocal };
}
