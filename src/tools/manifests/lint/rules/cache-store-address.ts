import type { PodSite } from '../../pod-site.js';
import { readLmcacheFile } from '../config/lmcache-file.js';
import type { Fleet } from '../facts/fleet.js';
import type { PlacedSite } from '../facts/material.js';
import { carries, isBeside, isSelected } from '../facts/networks.js';
import type { Finding, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import type { SettingValue } from '../launches/setting-value.js';
import { variableOf } from '../launches/settings.js';
import type { NetworkSite } from '../readers/network-site.js';

/** A worker looks for its shared store where these files show that nobody, or another program, listens. */
export const cacheStoreAddress: Rule = {
  id: 'cache-store-address',
  severity: 'error',
  summary: 'The address of a shared store of KV blocks is none at which these files have that store.',
  explanation:
    'LMCache does without a store that it does not reach: the engine starts and answers, stores nothing there, and finds nothing that another engine stored.',
};

/** A remote URL of LMCache, as far as it names a host. */
interface StoreAddress {
  readonly setting: SettingValue;
  readonly url: string;
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
}

/** Schemes whose URL has the host and the port of a server (`lmcache/v1/storage_backend/connector`). */
const ADDRESS =
  /^(lm|redis|rediss|valkey|infinistore):\/\/(?:[^/@]*@)?([\w.-]+|\[[0-9a-f:]+\]):(\d{1,5})(?:[/?]|$)/;

/** LMCache's own server, which speaks a protocol of its own. */
const SERVER = 'LMCache server';

/** Programs that hold a store, in the words of a pod's containers. */
const STORES = /lmcache_server|lmcache\.v1\.server|redis|valkey|dragonfly|keydb|infinistore|mooncake/i;

/** Looks at the shared store of each worker, with the Services and the pods beside it. */
export function findWrongStores(
  fleets: readonly Fleet[],
  networks: readonly NetworkSite[],
  sites: readonly PlacedSite[],
): readonly Finding[] {
  const found = new Map<string, Finding>();
  for (const { workers, unchecked } of fleets)
    for (const { launch } of workers) {
      const address = addressOf(launch);
      if (address === undefined) continue;
      const servers = unchecked.filter(({ program }) => program === SERVER);
      const finding =
        nobodyInPod(launch, address) ??
        atService(launch, address, networks, sites) ??
        atServer(launch, address, servers);
      if (finding !== undefined) found.set(`${finding.file} ${finding.line}:${finding.column}`, finding);
    }
  return [...found.values()];
}

/** Of the variable, else of the file: LMCache reads the file first, then its variables. */
function addressOf(launch: Launch): StoreAddress | undefined {
  const setting = variableOf(launch, 'LMCACHE_REMOTE_URL') ?? readLmcacheFile(launch)?.get('remote_url');
  const url = setting?.value?.trim();
  const [, scheme, host, port] = ADDRESS.exec(url ?? '') ?? [];
  return setting === undefined || url === undefined || scheme === undefined || host === undefined
    ? undefined
    : { setting, url, scheme, host, port: Number(port) };
}

/** An engine that looks into its own pod, where no container can be the store. */
function nobodyInPod(launch: Launch, { setting, url, host }: StoreAddress): Finding | undefined {
  const { site, container } = launch;
  if (!isLoopback(host) || site === undefined || container === undefined || site.isOnHostNetwork)
    return undefined;
  const all = [...site.containers, ...site.initContainers.filter(({ restartsAlways }) => restartsAlways)];
  const holdsStore = all.some((one) => {
    // The words of another container may start anything.
    const words = [...one.command, ...one.args].map(({ value }) => value);
    return STORES.test([one.image?.value ?? '', ...words].join(' '));
  });
  const others = all.filter((one) => one !== container && !/kv-accord/.test(one.image?.value ?? ''));
  if (holdsStore || others.length > 0) return undefined;
  return findingAt(cacheStoreAddress, setting.span, {
    message: `${nameOf(launch)} looks for its shared store at ${url}, and nothing else runs in its pod`,
    advice: `Give ${setting.name} the name of the store's Service in place of ${host}.`,
    related: [{ span: launch.at, says: 'the engine' }],
  });
}

/** A Service of these files that has no such port, or leads to pods of another program. */
function atService(
  launch: Launch,
  { setting, url, scheme, host, port }: StoreAddress,
  networks: readonly NetworkSite[],
  sites: readonly PlacedSite[],
): Finding | undefined {
  const { site, source } = launch;
  const [name, namespace] = host.split('.');
  if (site === undefined) return undefined;
  const services = networks.filter(
    (one): one is Extract<NetworkSite, { kind: 'Service' }> =>
      one.kind === 'Service' && one.name === name && isBeside(one, site, source.file),
  );
  const [service] = services;
  const isElsewhere =
    namespace !== undefined && service?.namespace !== undefined && service.namespace !== namespace;
  if (service === undefined || services.length > 1 || isElsewhere) return undefined;
  const related = [{ span: service.at, says: `the Service ${service.name}` }];
  // By the name of a headless one, pods are reached themselves.
  if (!service.isHeadless && service.ports.length > 0 && !carries(service.ports, port, 1)) {
    const has = service.ports.map(({ first }) => first).join(', ');
    return findingAt(cacheStoreAddress, setting.span, {
      message: `${nameOf(launch)} looks for its shared store at ${url}, and the Service ${service.name} has port ${has} alone`,
      advice: `Write port ${has} into ${setting.name}, or add port ${port} to the Service.`,
      related,
    });
  }
  const { labels } = service;
  const wanted = new Set(
    labels === undefined || labels.size === 0
      ? []
      : sites.filter((one) => isSelected(labels, one.site)).map((one) => schemeOf(one.site)),
  );
  const [right] = wanted;
  if (wanted.size !== 1 || right === undefined || right.test(scheme)) return undefined;
  return wrongScheme(launch, setting, url, right, related);
}

/** A server of LMCache that the same script or compose file starts. */
function atServer(
  launch: Launch,
  { setting, url, scheme, host, port }: StoreAddress,
  servers: readonly Launch[],
): Finding | undefined {
  const [server] = servers;
  if (launch.site !== undefined || server === undefined || servers.length > 1) return undefined;
  const isMeant =
    server.service === undefined
      ? isLoopback(host) && launch.service === undefined && server.network === launch.network
      : server.service === host;
  const own = server.args.map(({ value }) => value).filter((value) => value !== undefined);
  const at = own.find((value) => /^\d{2,5}$/.test(value));
  if (!isMeant || server.source !== launch.source || at === undefined) return undefined;
  const related = [{ span: server.at, says: "LMCache's server" }];
  if (!LM.test(scheme))
    return Number(at) === port ? wrongScheme(launch, setting, url, LM, related) : undefined;
  if (Number(at) === port) return undefined;
  return findingAt(cacheStoreAddress, setting.span, {
    message: `${nameOf(launch)} looks for LMCache's server at ${url}, and that listens at port ${at}`,
    advice: `Write port ${at} into ${setting.name}.`,
    related,
  });
}

const LM = /^lm$/;
const REDIS = /^(?:rediss?|valkey)$/;

function wrongScheme(
  launch: Launch,
  setting: SettingValue,
  url: string,
  right: RegExp,
  related: readonly { readonly span: Launch['at']; readonly says: string }[],
): Finding {
  const [program, scheme] = right === LM ? ["LMCache's server", 'lm'] : ['Redis or Valkey', 'redis'];
  return findingAt(cacheStoreAddress, setting.span, {
    message: `${nameOf(launch)} speaks with its shared store by ${url}, and ${program} listens there`,
    advice: `Write ${scheme}:// into ${setting.name}: ${url.replace(/^\w+/, scheme)}.`,
    related,
  });
}

/** By which schemes the program of a pod is spoken with; undefined where that is not known. */
function schemeOf({ containers }: PodSite): RegExp | undefined {
  const texts = containers.map(({ image, command, args }) =>
    [image?.value ?? '', ...[...command, ...args].map(({ value }) => value)].join(' '),
  );
  const isServer = texts.some((text) => /lmcache_server|lmcache\.v1\.server/.test(text));
  const isRedis = texts.some((text) =>
    /(?:^|\/)(?:redis|valkey)(?::|@|\s)|(?:redis|valkey)-server/.test(text),
  );
  return isServer === isRedis ? undefined : isServer ? LM : REDIS;
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);
}
