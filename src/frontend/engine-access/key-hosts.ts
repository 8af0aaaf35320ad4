import { BlockList, isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { type NamedWorker, workerName } from '../../core/text/worker-name.js';
import { isLoopback, parseAddress } from '../../edge/platform/address.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { GivenUrls } from '../../fleet/catalogue/catalogue.js';
import { readKeyHost } from './key-host.js';

/** Whether an engine at `baseUrl` may see keys. */
export type MayHaveKeys = (worker: NamedWorker, baseUrl: string) => boolean;

/** Who may see keys beside the hosts of the sidecars themselves. */
export interface KeyHostsOptions {
  /** `--engine-key-hosts`: host names, `*.DOMAIN`, IP addresses and networks in CIDR form. */
  readonly allowed: readonly string[];
  /** `--worker-urls`, which the operator wrote: keys go there. */
  readonly given: GivenUrls;
}

/** Decisions that are remembered: two for each of the largest number of workers. */
const MAX_REMEMBERED = 16_384;

/**
 * Decides which engines may see the key of `--engine-api-key-file`, or the
 * `Authorization` of clients. A sidecar may report any URL, and anyone who can
 * join the fleet must not be given the key of all engines: it goes to the
 * sidecar's own host, to URLs of the operator, and to hosts that are allowed.
 */
export class KeyHosts {
  readonly #names = new Set<string>();
  readonly #domains: string[] = [];
  readonly #networks = new BlockList();
  readonly #given: GivenUrls;
  readonly #logger: Logger;
  readonly #known = new LRUCache<string, { readonly isAllowed: boolean }>({ max: MAX_REMEMBERED });

  /** Throws a `RangeError` that names the first of `allowed` that `readKeyHost` does not know. */
  constructor({ allowed, given }: KeyHostsOptions, { logger }: { readonly logger: Logger }) {
    this.#given = given;
    this.#logger = logger;
    for (const each of allowed) this.#allow(each);
  }

  /** Whether an engine may see keys; a refusal is logged once for a worker and its URL. */
  readonly mayHaveKeys: MayHaveKeys = (worker, baseUrl) => {
    const { target } = worker;
    const key = `${target} ${baseUrl}`;
    let known = this.#known.get(key);
    if (known === undefined) {
      known = { isAllowed: this.#isAllowed(worker, baseUrl) };
      this.#known.set(key, known);
      if (!known.isAllowed) this.#warn(worker, baseUrl);
    }
    return known.isAllowed;
  };

  #isAllowed(worker: NamedWorker, baseUrl: string): boolean {
    if (this.#given.get(worker.target) === baseUrl || isOnSidecarsHost(worker, baseUrl)) return true;
    const host = hostOf(baseUrl);
    if (host === undefined) return false;
    const family = isIP(host);
    if (family !== 0) return this.#networks.check(host, family === 6 ? 'ipv6' : 'ipv4');
    return this.#names.has(host) || this.#domains.some((domain) => host.endsWith(domain));
  }

  #allow(each: string): void {
    const form = readKeyHost(each);
    if (form === undefined) throw new RangeError(`${each} is no host, domain, address or network`);
    if (form.kind === 'name') this.#names.add(form.name);
    else if (form.kind === 'domain') this.#domains.push(form.suffix);
    else this.#networks.addSubnet(form.address, form.bits, form.family);
  }

  #warn(worker: NamedWorker, baseUrl: string): void {
    const host = hostOf(baseUrl) ?? baseUrl;
    this.#logger.warn(
      { worker_id: worker.workerId, worker: worker.target, url: baseUrl },
      `No key is sent to ${baseUrl}: worker ${workerName(worker)} reports an engine on another host than its own. If it is yours, allow it with --engine-key-hosts ${host}, or name its URL with --worker-urls.`,
    );
  }
}

/** Whether a URL is on the host of the sidecar that reports it, by the names of both. */
export function isOnSidecarsHost({ target }: Pick<NamedWorker, 'target'>, baseUrl: string): boolean {
  const host = hostOf(baseUrl);
  const sidecar = parseAddress(target);
  if (host === undefined) return false;
  // What reports its engine on loopback and is not elsewhere itself is on this host, and so is its engine.
  if (isLoopback({ type: 'tcp', host, port: 0, text: '' }))
    return sidecar === undefined || isLoopback(sidecar);
  if (sidecar?.type !== 'tcp') return false;
  const own = hostOf(`http://${sidecar.host.includes(':') ? `[${sidecar.host}]` : sidecar.host}`);
  return own === host;
}

/** In the form that URLs give it, without brackets and the dot of a full name; undefined where there is none. */
function hostOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  return new URL(url).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}
