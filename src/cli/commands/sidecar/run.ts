import { type Closing, closeAll } from '../../../app/closing.js';
import { httpSecurityOf } from '../../../app/http-security.js';
import { openEngineTrust } from '../../../app/open-engine-trust.js';
import { openSecurity } from '../../../app/open-security.js';
import { startOrExplain } from '../../../app/start-or-explain.js';
import { reportedSource } from '../../../core/contract/event-source.js';
import type { Fact } from '../../../core/contract/facts.js';
import { readTextFile } from '../../../edge/platform/files/file.js';
import { openFilePieces } from '../../../edge/platform/files/file-pieces.js';
import { listFolder } from '../../../edge/platform/files/list-folder.js';
import { createRegistry } from '../../../edge/platform/metrics/metrics.js';
import {
  createHttpGet,
  createHttpPost,
  createHttpPostJson,
  type HttpGetOptions,
} from '../../../edge/platform/net/http-get.js';
import type { Environment } from '../../../edge/platform/processes/environment.js';
import { readHostName } from '../../../edge/platform/processes/environment.js';
import { loadPart } from '../../../edge/platform/processes/load-part.js';
import { systemRandom } from '../../../edge/platform/random.js';
import { createEngineRpc } from '../../../edge/rpc/engine-rpc.js';
import { checkExposure } from '../../../edge/security/security.js';
import { declaredFacts } from '../../../engines/probing/declared.js';
import { ProbeError, type ProbeModules, type ProbeTarget } from '../../../engines/probing/probe.js';
import { EngineKind, EngineRole, Topology } from '../../../gen/kvaccord/v1/capabilities.js';
import { MAX_EVENTS_BYTES } from '../../../worker/kv-events/exact-json.js';
import type { EventSettings } from '../../../worker/sidecar/kv-events/kv-events-sources.js';
import { EngineLocator, fixedLocation } from '../../../worker/sidecar/probing/engine-locator.js';
import type { EngineLocation } from '../../../worker/sidecar/probing/engine-watch.js';
import { Sidecar, type SidecarModules } from '../../../worker/sidecar/sidecar.js';
import { TokenProber } from '../../../worker/sidecar/tokens/token-prober.js';
import type { CommandBody, CommandContext, WithCommon } from '../../command.js';
import { EXIT_OK } from '../../exit-codes.js';
import type { SettingsOf } from '../../settings/setting.js';
import { SettingError } from '../../settings/setting-error.js';
import { readEngineKey, readSettingFile } from '../../settings/setting-file.js';
import type { sidecarSettings } from './settings.js';

type Settings = SettingsOf<WithCommon<typeof sidecarSettings>>;
type Context = CommandContext<typeof sidecarSettings>;

/** Largest file of declared values, and of an engine's key. */
const MAX_DECLARE_BYTES = 64 * 1024;

const ENGINE_KINDS = {
  auto: undefined,
  vllm: EngineKind.VLLM,
  sglang: EngineKind.SGLANG,
  trtllm: EngineKind.TENSORRT_LLM,
  dynamo: EngineKind.DYNAMO,
} as const;

const ROLES = {
  aggregated: EngineRole.AGGREGATED,
  prefill: EngineRole.PREFILL,
  decode: EngineRole.DECODE,
} as const;

/** Runs `kv-accord sidecar` until it is asked to end. */
export const runSidecar: CommandBody<typeof sidecarSettings> = async (settings, context) => {
  const { clock, logger, environment, stdout, version } = context;
  // All that can be wrong with the settings is found before a port is taken.
  const facts = await readDeclaration(settings, clock.wallMs());
  const readHostTopology = await openTopology(settings, context);
  const bearerKey = await readEngineKey(settings.engineApiKeyFile);
  const security = await openSecurity(settings, context);
  const closing: Closing = [() => security.close()];
  try {
    const trust = await openEngineTrust(settings.engineTlsCa, context);
    closing.push(() => trust.close());
    const engineHttp: HttpGetOptions = { ca: trust.ca, ...(bearerKey === undefined ? {} : { bearerKey }) };
    const exposed =
      checkExposure(settings.listen, security) ??
      checkExposure(settings.httpListen, security, '--http-listen');
    if (exposed !== undefined) throw new SettingError(exposed);
    const probeModules: ProbeModules = {
      clock,
      httpGet: createHttpGet(engineHttp, { clock }),
      rpc: createEngineRpc({}, { clock }),
      readFile: readTextFile,
      listFiles: listFolder,
    };
    const prober = new TokenProber({ clock, postJson: createHttpPostJson(engineHttp, { clock }) });
    const sidecar = new Sidecar(
      {
        version,
        workerId: workerIdOf(settings.workerId, environment),
        listen: settings.listen,
        httpListen: settings.httpListen,
        drainTimeoutMs: settings.drainTimeoutMs,
        probeIntervalMs: settings.probeIntervalMs,
        declaredFacts: facts,
      },
      {
        clock,
        logger,
        random: systemRandom,
        security,
        httpSecurity: httpSecurityOf(security, settings),
        registry: createRegistry({ version }),
        openFile: openFilePieces,
        probeModules,
        learnTokens: (engine, signal) => prober.learn(engine, signal),
        loadProbes: async () =>
          (await loadPart(() => import('../../../engines/probing/index.js'), context))?.ENGINE_PROBES ?? [],
        locate: locationOf(settings, context, probeModules),
        ...eventReadingOf(settings, context, engineHttp),
        ...(settings.canary === 'off'
          ? {}
          : { canary: { get: probeModules.httpGet, post: createHttpPostJson(engineHttp, { clock }) } }),
        ...(readHostTopology === undefined ? {} : { readTopology: readHostTopology }),
      },
    );
    const { grpc, http } = await startOrExplain(sidecar);
    const served = { grpc: grpc.text, http: http.text };
    stdout.write(
      settings.json
        ? `${JSON.stringify(served)}\n`
        : `kv-accord sidecar: gRPC on ${served.grpc}, HTTP on ${served.http}\n`,
    );
    logger.info(served, `Serving gRPC on ${served.grpc} and HTTP on ${served.http}.`);
    await sidecar.run(context.signal);
    return EXIT_OK;
  } finally {
    await closeAll(closing);
  }
};

/** The pod's UID as the downward API gives it, else the host name, which is the pod's name there. */
function workerIdOf(configured: string | undefined, environment: Environment): string {
  const candidates = [configured, environment['POD_UID'], readHostName()];
  return candidates.find((id) => id !== undefined && id !== '') ?? 'worker';
}

/** What the operator said of the engine beside its HTTP addresses. */
function namedTarget(settings: Settings): ProbeTarget {
  const { engineGrpc, trtllmConfig, dynamoFileKv } = settings;
  const engineKind = ENGINE_KINDS[settings.engineKind];
  return {
    ...(engineKind === undefined ? {} : { engineKind }),
    ...(engineGrpc === undefined ? {} : { grpcAddress: engineGrpc.text }),
    ...(trtllmConfig === undefined ? {} : { configFile: trtllmConfig }),
    ...(dynamoFileKv === undefined ? {} : { dynamoFileKv }),
  };
}

function locationOf(
  settings: Settings,
  context: Context,
  probeModules: ProbeModules,
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
    const { environment, logger } = context;
    const locator = new EngineLocator({ environment, named }, { logger, probeModules });
    return (state, signal) => locator.locate(state, signal);
  }
  // Every frontend is of the same engine, so what was said beside the addresses holds for all; a source
  // that two of them share is asked once.
  const location = fixedLocation(settings.engine.map((httpBaseUrl) => ({ ...named, httpBaseUrl })));
  return async () => location;
}

/** How KV events are read; the library that reads them is loaded when there is something to read. */
function eventReadingOf(
  settings: Settings,
  context: Context,
  engineHttp: HttpGetOptions,
): Pick<SidecarModules, 'eventReading'> {
  const eventSettings = eventSettingsOf(settings);
  if (eventSettings === undefined) return {};
  const { clock } = context;
  const postJson = createHttpPost({ ...engineHttp, maxBodyBytes: MAX_EVENTS_BYTES }, { clock });
  return {
    eventReading: {
      settings: eventSettings,
      async loadReader(modules) {
        const part = await loadPart(
          () => import('../../../worker/kv-events/engine-event-reader.js'),
          context,
        );
        if (part === undefined) throw new Error('the sidecar ends');
        return new part.EngineEventReader({}, { ...modules, postJson });
      },
    },
  };
}

function eventSettingsOf({
  kvEventSources,
  kvReplaySources,
  trtllmDrainEvents,
}: Settings): EventSettings | undefined {
  const [word] = kvEventSources;
  if (word === 'off') return undefined;
  if (word === 'auto') return { from: 'engine', drainsTrtllm: trtllmDrainEvents };
  const sources = kvEventSources.map((endpoint, rank) => {
    const replayEndpoint = kvReplaySources[rank];
    const replay = replayEndpoint === undefined ? {} : { replayEndpoint };
    return { kind: 'zmq', rank, endpoint, topic: '', ...replay } as const;
  });
  return { from: 'operator', sources };
}

async function readDeclaration(settings: Settings, nowMs: number): Promise<readonly Fact[]> {
  const { tokensPerBlock, model, role, advertiseEngine, declare } = settings;
  const engineKind = ENGINE_KINDS[settings.engineKind];
  const events = eventSettingsOf(settings);
  const text =
    declare === undefined ? undefined : await readSettingFile('--declare', declare, MAX_DECLARE_BYTES);
  try {
    return await declaredFacts(
      {
        ...(tokensPerBlock === undefined
          ? {}
          : { tokensPerBlock: { value: tokensPerBlock, origin: '--tokens-per-block' } }),
        ...(model === undefined ? {} : { model: { value: model, origin: '--model' } }),
        ...(engineKind === undefined ? {} : { engineKind: { value: engineKind, origin: '--engine-kind' } }),
        ...(role === undefined ? {} : { role: { value: ROLES[role], origin: '--role' } }),
        ...(advertiseEngine.length === 0
          ? {}
          : { advertisedUrls: { value: advertiseEngine, origin: '--advertise-engine' } }),
        ...(events?.from === 'operator'
          ? { eventSources: { value: events.sources.map(reportedSource), origin: '--kv-event-sources' } }
          : {}),
        ...(declare === undefined || text === undefined ? {} : { file: { path: declare, text } }),
      },
      nowMs,
    );
  } catch (error) {
    throw error instanceof ProbeError ? new SettingError(`--declare: ${error.message}`) : error;
  }
}

/** The key that an engine's HTTP asks for: the file's one line. */
/** Where the operator says that the worker runs, under the names that the placement reader looks for first. */
function placementOf({ nodeName, zone, rack }: Settings): Environment {
  return {
    ...(nodeName === undefined ? {} : { KV_ACCORD_NODE_NAME: nodeName }),
    ...(zone === undefined ? {} : { KV_ACCORD_ZONE: zone }),
    ...(rack === undefined ? {} : { KV_ACCORD_RACK: rack }),
  };
}

/**
 * The readers are loaded when they read: they bring parsers along that would
 * delay the first answer, and the topology comes after that anyway.
 */
async function openTopology(
  settings: Settings,
  context: Context,
): Promise<((signal: AbortSignal) => Promise<Topology>) | undefined> {
  const { clock, environment } = context;
  const { topology, hostRoot, engineDevices } = settings;
  const readDevices =
    engineDevices === undefined
      ? {}
      : { readDevices: () => readSettingFile('--engine-devices', engineDevices, MAX_DECLARE_BYTES) };
  if (topology === 'off') return undefined;
  const load = async () => {
    const [{ openHost }, { readTopology }] = await Promise.all([
      import('../../../edge/platform/processes/host.js'),
      import('../../../worker/topology/read-topology.js'),
    ]);
    const placed = { ...environment, ...placementOf(settings) };
    return { host: openHost({ rootFolder: hostRoot, environment: placed }), readTopology };
  };
  if (topology === 'auto') {
    return async (signal) => {
      const part = await loadPart(
        () => Promise.all([load(), import('../../../worker/topology/readers.js')]),
        context,
      );
      if (part === undefined) return Topology.create();
      const [{ host, readTopology }, { topologyReaders }] = part;
      return readTopology({ readers: topologyReaders, host, clock, ...readDevices }, signal);
    };
  }
  const { topologyFileReader } = await import('../../../worker/topology/topology-file.js');
  const reader = topologyFileReader({ path: topology }, { readFile: readTextFile });
  const { host, readTopology } = await load();
  try {
    await reader.read(host, new AbortController().signal);
  } catch (error) {
    throw new SettingError(`--topology: ${error instanceof Error ? error.message : String(error)}`);
  }
  return (signal) => readTopology({ readers: [reader], host, clock, onlyVisible: false }, signal);
}
