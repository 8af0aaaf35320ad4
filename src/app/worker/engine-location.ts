import type { EngineWord } from '../../core/contract/wire/engine-kinds.js';
import type { Address } from '../../edge/platform/address.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Environment } from '../../edge/platform/processes/environment.js';
import { engineOfWord } from '../../engines/catalogue/engines.js';
import type { ProbeModules, ProbeTarget } from '../../engines/probing/probe.js';
import { EngineLocator, fixedLocation } from '../../worker/sidecar/probing/engine-locator.js';
import type { EngineLocation } from '../../worker/sidecar/probing/engine-watch.js';
import type { SidecarModules } from '../../worker/sidecar/sidecar.js';

/** Where the operator says that the engine is. */
export interface EngineLocationSettings {
  /** Base URLs; `auto` alone looks at the usual local ports, `none` alone asks no HTTP. */
  readonly engine: readonly string[];
  readonly engineKind: 'auto' | EngineWord;
  /** The engine's own gRPC. */
  readonly engineGrpc: Address | undefined;
  /** TensorRT-LLM's YAML. */
  readonly trtllmConfig: string | undefined;
  /** Root folder of Dynamo's file discovery. */
  readonly dynamoFileKv: string | undefined;
}

/** What finds the engine, as the settings say. */
export function engineLocationOf(
  settings: EngineLocationSettings,
  modules: {
    readonly environment: Environment;
    readonly logger: Logger;
    readonly probeModules: ProbeModules;
  },
): SidecarModules['locate'] {
  const named = namedTarget(settings);
  const [first] = settings.engine;
  if (first === 'none') {
    // No HTTP. What else the operator named is asked all the same: an engine may serve gRPC alone.
    const isNamed = [named.grpcAddress, named.configFile, named.dynamoFileKv].some(
      (name) => name !== undefined,
    );
    const location: EngineLocation = isNamed ? fixedLocation([named]) : { type: 'none' };
    return async () => location;
  }
  if (first === 'auto' || first === undefined) {
    const { environment, logger, probeModules } = modules;
    const locator = new EngineLocator({ environment, named }, { logger, probeModules });
    return (state, signal) => locator.locate(state, signal);
  }
  // Every address is of the same engine, so what was said beside the addresses holds for all; a source
  // that two of them share is asked once.
  const location = fixedLocation(settings.engine.map((httpBaseUrl) => ({ ...named, httpBaseUrl })));
  return async () => location;
}

/** What the operator said of the engine beside its HTTP addresses. */
function namedTarget(settings: EngineLocationSettings): ProbeTarget {
  const { engineGrpc, trtllmConfig, dynamoFileKv } = settings;
  const engineKind = engineOfWord(settings.engineKind)?.kind;
  return {
    ...(engineKind === undefined ? {} : { engineKind }),
    ...(engineGrpc === undefined ? {} : { grpcAddress: engineGrpc.text }),
    ...(trtllmConfig === undefined ? {} : { configFile: trtllmConfig }),
    ...(dynamoFileKv === undefined ? {} : { dynamoFileKv }),
  };
}
