import type { Clock } from '../../platform/clock.js';
import type { Random } from '../../platform/random.js';
import type { Resolver } from '../../platform/resolver.js';
import { CombinedSource } from './combined.js';
import { DnsSource } from './dns.js';
import { FileSource } from './file.js';
import { parseTargets } from './parse-target.js';
import type { DiscoverySource } from './source.js';
import { StaticSource } from './static.js';

export interface DiscoveryOptions {
  /** What `--workers` gave; may be empty. */
  readonly workers: readonly string[];
  /** What `--workers-file` gave. */
  readonly workersFile?: string | undefined;
}

export interface DiscoveryModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly resolver: Resolver;
}

/**
 * Makes the one source of a fleet out of what an operator wrote. Throws a
 * `DiscoveryError` for a target that is wrong; nothing has been started then.
 */
export function createDiscoverySource(options: DiscoveryOptions, modules: DiscoveryModules): DiscoverySource {
  const targets = parseTargets(options.workers);
  const addresses = targets.flatMap((target) => (target.type === 'address' ? [target.address] : []));
  const sources: DiscoverySource[] = [];
  if (addresses.length > 0) sources.push(new StaticSource({ addresses }));
  for (const target of targets) {
    if (target.type === 'dns') sources.push(new DnsSource(target, modules));
  }
  if (options.workersFile !== undefined)
    sources.push(new FileSource({ path: options.workersFile }, { clock: modules.clock }));
  const [only] = sources;
  return sources.length === 1 && only !== undefined ? only : new CombinedSource({ sources });
}
