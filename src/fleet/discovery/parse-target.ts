import { isIPv4, isIPv6 } from 'node:net';
import { ADDRESS_FORMS, type Address, formatTcp, parseAddress } from '../../edge/platform/address.js';
import { DiscoveryError } from './discovery-error.js';
import {
  type ClusterTarget,
  parseDynamoKubernetesTarget,
  parseKubernetesTarget,
  parsePoolTarget,
} from './kubernetes/parse-cluster-target.js';
import { MAX_ENDPOINTS } from './limits.js';
import { quoteTarget, wrongTarget } from './wrong-target.js';

/** Where workers are to be found, as an operator wrote it. */
export type Target =
  /** One worker at a fixed place. */
  | { readonly type: 'address'; readonly address: Address }
  /** Every address behind a name; `host` is lower-case. */
  | { readonly type: 'dns'; readonly host: string; readonly port: number; readonly text: string }
  /** Model cards of Dynamo's file discovery; `folder` is absolute. */
  | { readonly type: 'dynamo-file'; readonly folder: string; readonly text: string }
  | ClusterTarget;

/** What `parseTarget` takes, for messages and help. */
const TARGET_FORMS =
  'HOST:PORT, [::1]:PORT, unix:/path, dns:///NAME:PORT, k8s://NAMESPACE/SERVICE:PORT, k8s://NAMESPACE?selector=LABEL=VALUE, pool://NAMESPACE/NAME, dynamo-file:///DIR or dynamo-k8s://NAMESPACE';

/**
 * Reads one target. Names come out in lower case and IPv6 addresses in their
 * shortest form, so that one place has one spelling. Throws a `DiscoveryError`
 * (`invalid_target`) that names the value and the allowed forms.
 * @internal
 */
export function parseTarget(text: string): Target {
  const scheme = /^([a-z][a-z0-9-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  switch (scheme) {
    case 'dns':
      return parseDns(text);
    case 'k8s':
      return parseKubernetesTarget(text);
    case 'pool':
      return parsePoolTarget(text);
    case 'dynamo-file':
      return parseDynamoFile(text);
    case 'dynamo-k8s':
      return parseDynamoKubernetesTarget(text);
    default:
      return { type: 'address', address: parseWorkerAddress(text, TARGET_FORMS) };
  }
}

/**
 * Reads several targets, such as those of `--workers`. Throws what
 * `parseTarget` throws, and `duplicate_target`: the same place twice is nearly
 * always a mistyped port, and going on would open the gate without the worker
 * that was meant.
 */
export function parseTargets(texts: readonly string[]): Target[] {
  if (texts.length > MAX_ENDPOINTS) {
    throw new DiscoveryError(
      'too_many_endpoints',
      `${texts.length} targets are listed, at most ${MAX_ENDPOINTS} are allowed`,
    );
  }
  const firstTexts = new Map<string, string>();
  return texts.map((text) => {
    const target = parseTarget(text);
    const canonical = target.type === 'address' ? target.address.text : target.text;
    const first = firstTexts.get(canonical);
    if (first !== undefined) {
      const other = first === text ? '' : ` (also written as ${quoteTarget(first)})`;
      throw new DiscoveryError(
        'duplicate_target',
        `${quoteTarget(text)} is listed twice${other}; list it once`,
      );
    }
    firstTexts.set(canonical, text);
    return target;
  });
}

/**
 * Reads the address of one worker: `HOST:PORT`, `[::1]:PORT` or `unix:/path`.
 * Throws like `parseTarget`; `forms` says what the place allows.
 */
export function parseWorkerAddress(text: string, forms: string = ADDRESS_FORMS): Address {
  const address = parseAddress(text);
  if (address === undefined) throw wrongTarget(text, `must be ${forms}`);
  if (address.type === 'unix') return address;
  if (address.port === 0) throw wrongTarget(text, 'must have a port from 1 to 65535');
  const host = canonicalHost(text, address.host);
  return { type: 'tcp', host, port: address.port, text: formatTcp(host, address.port) };
}

/** `dns:///NAME:PORT`. The third slash ends an authority (a name server of one's own), which must be empty. */
function parseDns(text: string): Target {
  const rest = /^dns:\/\/\/(.*)$/i.exec(text)?.[1];
  if (rest === undefined) throw wrongTarget(text, 'must have three slashes: dns:///NAME:PORT');
  const address = parseAddress(rest);
  if (address?.type !== 'tcp') throw wrongTarget(text, 'must be dns:///NAME:PORT');
  if (address.port === 0) throw wrongTarget(text, 'must have a port from 1 to 65535');
  const host = canonicalHost(text, address.host);
  return { type: 'dns', host, port: address.port, text: `dns:///${formatTcp(host, address.port)}` };
}

/** `dynamo-file:///DIR`: two slashes of the scheme, then an absolute path, which is taken as it is written. */
function parseDynamoFile(text: string): Target {
  const path = text.slice('dynamo-file://'.length);
  if (!path.startsWith('/') || path.includes('\0'))
    throw wrongTarget(
      text,
      'must be dynamo-file:// and an absolute path, such as dynamo-file:///tmp/dynamo_store_kv',
    );
  const folder = path.replace(/\/+$/, '') || '/';
  return { type: 'dynamo-file', folder, text: `dynamo-file://${folder}` };
}

function canonicalHost(text: string, host: string): string {
  if (host.includes(':')) {
    if (!isIPv6(host))
      throw wrongTarget(text, 'must have an IPv6 address in the brackets, such as [fd00::1]:50061');
    // A zone (fe80::1%eth0) is outside the URL standard, which shortens all others.
    return host.includes('%') ? host.toLowerCase() : new URL(`http://[${host}]`).hostname.slice(1, -1);
  }
  // Every resolver would look a wrong IPv4 address up as a name, and say only that there is none.
  if (/^[\d.]+$/.test(host) && !isIPv4(host))
    throw wrongTarget(text, 'must have four numbers from 0 to 255 in its IPv4 address');
  const labels = host.replace(/\.$/, '').split('.');
  if (labels.some((label) => label === '' || label.length > 63))
    throw wrongTarget(text, 'must have a host name whose parts have 1 to 63 characters');
  return host.toLowerCase();
}
