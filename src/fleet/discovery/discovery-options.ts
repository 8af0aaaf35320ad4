import type { Clock } from '../../edge/platform/clock.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Resolver } from '../../edge/platform/net/resolver.js';
import type { Environment } from '../../edge/platform/processes/environment.js';
import type { Random } from '../../edge/platform/random.js';

/** How an operator says where the workers are. */
export interface DiscoveryOptions {
  /** What `--workers` gave; may be empty. */
  readonly workers: readonly string[];
  /** What `--workers-file` gave. */
  readonly workersFile?: string | undefined;
  /** What `--dynamo-graph` gave. */
  readonly dynamoGraph?: string | undefined;
  /** What `--pool` gave. */
  readonly pool?: string | undefined;
  /** What `--kubeconfig` and `--kube-context` gave; see `openCluster`. */
  readonly kubeconfig?: string | undefined;
  readonly kubeContext?: string | undefined;
  /** `--min-workers auto`: the source is to report how many workers are expected. Default false. */
  readonly countsExpected?: boolean;
}

/** What sources work with. */
export interface DiscoveryModules {
  readonly clock: Clock;
  readonly random: Random;
  readonly resolver: Resolver;
  readonly logger: Logger;
  readonly environment: Environment;
}
