import type { Address } from '../../edge/platform/address.js';
import { createRegistry } from '../../edge/platform/metrics/metrics.js';
import { type Environment, readHostName } from '../../edge/platform/processes/environment.js';
import { systemRandom } from '../../edge/platform/random.js';
import { checkExposure } from '../../edge/security/security.js';
import type { Sidecar } from '../../worker/sidecar/sidecar.js';
import { type Closing, closeAll } from '../closing.js';
import { type HttpSecuritySettings, httpSecurityOf } from '../http-security.js';
import { openEngineTrust } from '../open-engine-trust.js';
import { openSecurity } from '../open-security.js';
import { SettingError } from '../setting-error.js';
import { readEngineKey } from '../setting-file.js';
import { createSidecar } from './create-sidecar.js';
import { type DeclarationSettings, readDeclaration } from './declaration.js';
import { type EngineLocationSettings, engineLocationOf } from './engine-location.js';
import { eventSettingsOf } from './event-settings.js';
import { openTopology, type TopologyModules, type TopologySettings } from './open-topology.js';

/** All that decides what a sidecar runs. */
export interface SidecarSettings
  extends HttpSecuritySettings,
    DeclarationSettings,
    EngineLocationSettings,
    TopologySettings {
  /** File with the key that the engine's HTTP asks for. */
  readonly engineApiKeyFile: string | undefined;
  /** File with the authorities of the engine's certificates. */
  readonly engineTlsCa: string | undefined;
  /** Default: the pod's UID, else the host name. */
  readonly workerId: string | undefined;
  readonly canary: 'auto' | 'off';
  /** Whether side channels are asked. */
  readonly transferProbe: 'auto' | 'off';
  readonly probeIntervalMs: number;
  /** Where gRPC is served. */
  readonly listen: Address;
  /** Where probes, metrics and the status page are served. */
  readonly httpListen: Address;
  readonly drainTimeoutMs: number;
}

export interface OpenSidecarModules extends TopologyModules {
  /** The product's version. */
  readonly version: string;
}

/** A sidecar as the settings describe it, not started yet. */
export interface OpenedSidecar {
  readonly sidecar: Sidecar;
  /** Closes the files that it follows; after the sidecar has ended. */
  close(): Promise<void>;
}

/**
 * Makes what `kv-accord sidecar` runs. What is wrong with the settings rejects
 * with a `SettingError`, before a port is taken; nothing is left open then.
 */
export async function openSidecar(
  settings: SidecarSettings,
  modules: OpenSidecarModules,
): Promise<OpenedSidecar> {
  const { clock, logger, environment, signal, version } = modules;
  const declared = await readDeclaration(settings, environment, clock.wallMs());
  const readTopology = await openTopology(settings, modules);
  const bearerKey = await readEngineKey(settings.engineApiKeyFile);
  const security = await openSecurity(settings, modules);
  const closing: Closing = [() => security.close()];
  try {
    const trust = await openEngineTrust(settings.engineTlsCa, modules);
    closing.push(() => trust.close());
    const exposed =
      checkExposure(settings.listen, security) ??
      checkExposure(settings.httpListen, security, '--http-listen');
    if (exposed !== undefined) throw new SettingError(exposed);
    const sidecar = createSidecar(
      {
        version,
        workerId: workerIdOf(settings.workerId, environment),
        listen: settings.listen,
        httpListen: settings.httpListen,
        drainTimeoutMs: settings.drainTimeoutMs,
        probeIntervalMs: settings.probeIntervalMs,
        declaredFacts: declared,
        engineHttp: { ca: trust.ca, ...(bearerKey === undefined ? {} : { bearerKey }) },
        events: eventSettingsOf(settings),
        learnsFacts: true,
        asksSideChannels: settings.transferProbe !== 'off',
        hasCanary: settings.canary !== 'off',
      },
      {
        clock,
        logger,
        signal,
        random: systemRandom,
        security,
        httpSecurity: httpSecurityOf(security, settings),
        registry: createRegistry({ version }),
        locate: (probeModules) => engineLocationOf(settings, { environment, logger, probeModules }),
        ...(readTopology === undefined ? {} : { readTopology }),
      },
    );
    return { sidecar, close: () => closeAll(closing) };
  } catch (error) {
    await closeAll(closing);
    throw error;
  }
}

/** The pod's UID as the downward API gives it, else the host name, which is the pod's name there. */
function workerIdOf(configured: string | undefined, environment: Environment): string {
  const candidates = [configured, environment['POD_UID'], readHostName()];
  return candidates.find((id) => id !== undefined && id !== '') ?? 'worker';
}
