import type { Registry } from 'prom-client';
import type { AgreementOptions } from '../core/agreement/state/options.js';
import type { MemberView } from '../core/agreement/view/snapshot.js';
import type { Address } from '../edge/platform/address.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { createRegistry } from '../edge/platform/metrics/metrics.js';
import { systemRandom } from '../edge/platform/random.js';
import type { Security } from '../edge/security/security.js';
import type { ServedTls } from '../edge/security/served-tls.js';
import type { Aggregator } from '../fleet/aggregator/aggregator.js';
import type { DiscoverySource, Endpoint } from '../fleet/discovery/source.js';
import type { FleetIndexingOptions } from '../fleet/indexer/fleet-indexing.js';
import type { FleetRouter, FleetRouterOptions } from '../fleet/router/fleet-router.js';
import type { RouterMode, Routing } from '../fleet/router/routing.js';
import { type AgreementSettings, agreementOptionsOf } from './agreement-options.js';
import { createAggregator } from './create-aggregator.js';
import { type DirectEngines, directWorkersOf, loadEngineReader } from './direct-workers.js';
import { hasDiscovery } from './has-discovery.js';
import { type HttpSecuritySettings, httpSecurityOf } from './http-security.js';
import { openSecurity } from './open-security.js';
import { openSource, type SourceSettings } from './open-source.js';

/** How the index is kept. */
export interface IndexSettings {
  /** Whether it learns from KV events; else from what was sent where. */
  readonly kvEvents: boolean;
  /** Bound of the index of one model, in bytes. */
  readonly indexMemoryBytes: number;
  /** Without KV events: seconds after which a block is no longer expected where it was sent. */
  readonly routerTtlSecs: number;
  /** Without KV events: blocks that are expected somewhere. */
  readonly routerMaxTreeSize: number;
  /** Without KV events: the part of `routerMaxTreeSize` that is left when the oldest go, above 0 and at most 1. */
  readonly routerPruneTargetRatio: number;
}

/** How the router chooses; see `--router-…` of the commands. */
export interface RouterSettings {
  readonly routerMode: RouterMode;
  /** 0 takes the cheapest worker; more spreads requests over the others. */
  readonly routerTemperature: number;
  readonly kvOverlapScoreWeight: number;
  readonly routerHostCacheHitWeight: number;
  readonly routerDiskCacheHitWeight: number;
  readonly routerPredictOnRoute: boolean;
  /** What a millisecond of a transfer counts against an active block. */
  readonly pdTransferWeight: number;
  /** Requests of which fewer prompt tokens are to be computed go to one worker. */
  readonly pdMinPrefillTokens: number;
  readonly routerSeed: number | undefined;
  /** Failed requests after which a worker is ejected; 0: never. */
  readonly ejectAfter: number;
  readonly ejectTimeMs: number;
  readonly maxEjectTimeMs: number;
  /** What of decisions is logged follows from it: every candidate, the chosen one, or nothing. */
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
}

/** All that decides what an aggregator runs. */
export interface AggregatorSettings
  extends SourceSettings,
    AgreementSettings,
    DirectEngines,
    IndexSettings,
    RouterSettings,
    HttpSecuritySettings {
  readonly onChange: AgreementOptions['onChange'];
  /** Where gRPC is served. */
  readonly listen: Address;
  /** Where probes, metrics and the status page are served. */
  readonly httpListen: Address;
  /** Models that must always be served. */
  readonly expectedModels: readonly string[];
}

export interface OpenAggregatorModules {
  /** What the status page calls the process. Default `kv-accord aggregator`. */
  readonly title?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The product's version. */
  readonly version: string;
  /** Whether requests can be sent to a member; by default to each. */
  isReachable?(member: MemberView): boolean;
  /** Sees each list of discovery before the agreement does. Absent: nobody looks. */
  onEndpoints?(endpoints: readonly Endpoint[]): void;
}

/** An aggregator as the settings describe it, not started yet. */
export interface OpenedAggregator {
  readonly aggregator: Aggregator;
  readonly registry: Registry;
  /** Who decides where requests go. */
  readonly routing: Routing;
  /** `kvaccord.v1.Router`, to be served elsewhere too. */
  readonly routerServices: FleetRouter['services'];
  /** What it watches, in words. */
  readonly watched: string;
  /** How its ports are protected; undefined for plaintext. */
  readonly tls: ServedTls | undefined;
  /** The certificates and tokens of the settings, for further ports; closed with the aggregator. */
  readonly security: Security;
  /** Ends the aggregator and closes its files. */
  close(): Promise<void>;
}

/**
 * Makes what `kv-accord aggregator` and all that is built on it run. What is
 * wrong with the settings rejects with a `SettingError`.
 */
export async function openAggregator(
  settings: AggregatorSettings,
  modules: OpenAggregatorModules,
): Promise<OpenedAggregator> {
  const { clock, logger, version, title, isReachable, onEndpoints } = modules;
  const opened = await openSource(settings, { clock, logger });
  const source = onEndpoints === undefined ? opened : seenSource(opened, onEndpoints);
  const security = await openSecurity(settings, modules);
  const httpSecurity = httpSecurityOf(security, settings);
  const registry = createRegistry({ version });
  const directWorkers = directWorkersOf(settings, version);
  const { aggregator, routing } = createAggregator(
    {
      agreement: agreementOptionsOf(settings, {
        onChange: settings.onChange,
        kvEvents: settings.kvEvents ? 'exact' : 'approximate',
        isStaticDiscovery: source.isStatic,
      }),
      listen: settings.listen,
      httpListen: settings.httpListen,
      expectedModels: settings.expectedModels,
      version,
      ...(title === undefined ? {} : { title }),
      indexing: { directWorkers, ...indexingOptionsOf(settings) },
      routing: routingOptionsOf(settings),
    },
    {
      clock,
      logger,
      random: systemRandom,
      source,
      security,
      httpSecurity,
      registry,
      createEngineReader: await loadEngineReader(directWorkers),
      ...(isReachable === undefined ? {} : { isReachable }),
    },
  );
  return {
    aggregator,
    registry,
    routing: routing(),
    routerServices: routing().services,
    tls: httpSecurity.tls,
    security,
    watched: [
      ...(hasDiscovery(settings) ? [source.name] : []),
      ...(directWorkers.length > 0 ? [`engines read directly: ${directWorkers.length}`] : []),
    ].join(', '),
    close: async () => {
      await aggregator.stop();
      security.close();
    },
  };
}

/** A source whose lists someone else sees first. */
function seenSource(
  source: DiscoverySource,
  onEndpoints: (endpoints: readonly Endpoint[]) => void,
): DiscoverySource {
  return {
    name: source.name,
    isStatic: source.isStatic,
    run: (signal, onList, onError) =>
      source.run(
        signal,
        (endpoints, expected) => {
          onEndpoints(endpoints);
          onList(endpoints, expected);
        },
        onError,
      ),
    ...(source.health === undefined ? {} : { health: () => source.health?.() ?? [] }),
  };
}

function indexingOptionsOf(settings: IndexSettings): FleetIndexingOptions {
  const maxBytes = settings.indexMemoryBytes;
  if (settings.kvEvents) return { maxBytes };
  return {
    maxBytes,
    approximate: {
      ttlMs: settings.routerTtlSecs * 1_000,
      maxBlocks: settings.routerMaxTreeSize,
      pruneTargetRatio: settings.routerPruneTargetRatio,
    },
  };
}

function routingOptionsOf(settings: RouterSettings): FleetRouterOptions {
  const { logLevel } = settings;
  return {
    mode: settings.routerMode,
    temperature: settings.routerTemperature,
    weights: {
      overlapScoreWeight: settings.kvOverlapScoreWeight,
      hostCacheHitWeight: settings.routerHostCacheHitWeight,
      diskCacheHitWeight: settings.routerDiskCacheHitWeight,
    },
    predictsOnRoute: settings.routerPredictOnRoute,
    pairs: {
      transferWeight: settings.pdTransferWeight,
      minPrefillTokens: settings.pdMinPrefillTokens,
    },
    seed: settings.routerSeed,
    ejection: {
      afterFailures: settings.ejectAfter,
      baseMs: settings.ejectTimeMs,
      maxMs: settings.maxEjectTimeMs,
    },
    decisionLog: logLevel === 'debug' ? 'candidates' : logLevel === 'info' ? 'chosen' : 'none',
  };
}
