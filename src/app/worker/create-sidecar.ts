import { readTextFile } from '../../edge/platform/files/file.js';
import { openFilePieces } from '../../edge/platform/files/file-pieces.js';
import { listFolder } from '../../edge/platform/files/list-folder.js';
import {
  createHttpGet,
  createHttpPost,
  createHttpPostJson,
  type HttpGetOptions,
} from '../../edge/platform/net/http-get.js';
import { ownHosts } from '../../edge/platform/net/own-hosts.js';
import { loadPart } from '../../edge/platform/processes/load-part.js';
import { createEngineRpc } from '../../edge/rpc/engine-rpc.js';
import { ENGINES, loadEngineProbes } from '../../engines/catalogue/engines.js';
import type { ProbeModules } from '../../engines/probing/probe.js';
import { MAX_EVENTS_BYTES } from '../../worker/kv-events/decode/exact-json.js';
import type { EngineEventReaderOptions } from '../../worker/kv-events/engine-event-reader.js';
import { ApiProber } from '../../worker/sidecar/apis/api-prober.js';
import type { EventSettings } from '../../worker/sidecar/kv-events/kv-events-sources.js';
import { learnAll } from '../../worker/sidecar/probing/learn-once.js';
import { Sidecar, type SidecarModules, type SidecarOptions } from '../../worker/sidecar/sidecar.js';
import { TokenProber } from '../../worker/sidecar/tokens/token-prober.js';
import { MAX_ANSWER_BYTES } from '../../worker/sidecar/transfer/nixl-metadata.js';
import { SideChannelProber } from '../../worker/sidecar/transfer/side-channel-prober.js';

export interface CreateSidecarOptions extends SidecarOptions {
  /** How the engine's HTTP is asked: its key and whose certificates it may have. Default neither. */
  readonly engineHttp?: HttpGetOptions;
  /** Where KV events are read; undefined reads none. */
  readonly events: EventSettings | undefined;
  /** Bounds of what is kept of KV events. Default as `EngineEventReader` has them. */
  readonly eventReader?: EngineEventReaderOptions;
  /** Whether a new engine is asked for its API paths, and what tokens it makes of the fixed probes. Default false. */
  readonly learnsFacts?: boolean;
  /** Whether the side channels of a new engine are asked; it is said of each why not where they are not. Default false. */
  readonly asksSideChannels?: boolean;
  /** Whether a new engine is asked the canary's prompt. Default false. */
  readonly hasCanary?: boolean;
}

export interface CreateSidecarModules
  extends Pick<
    SidecarModules,
    'clock' | 'random' | 'logger' | 'security' | 'registry' | 'httpSecurity' | 'readTopology'
  > {
  /** Says where the engine is; it is handed what engines are asked with. */
  readonly locate: (modules: ProbeModules) => SidecarModules['locate'];
  /** Aborts when the process is to end: then no part of the program is loaded any more. */
  readonly signal: AbortSignal;
  /** Gives the probes of engines. Default: all that there are. */
  readonly loadProbes?: SidecarModules['loadProbes'];
  /** Which files engines leave. Default: those of this machine. */
  readonly files?: Pick<ProbeModules, 'readFile' | 'listFiles'>;
}

/**
 * Puts a sidecar together, for the command, the demo and the benches alike. What
 * an answer does not need is loaded when it is used.
 */
export function createSidecar(options: CreateSidecarOptions, modules: CreateSidecarModules): Sidecar {
  const { engineHttp = {}, events, eventReader = {} } = options;
  const { learnsFacts = false, asksSideChannels = false, hasCanary = false } = options;
  const { clock, locate, loadProbes, files, signal: _, ...shared } = modules;
  const { logger } = modules;
  const probeModules: ProbeModules = {
    clock,
    engines: ENGINES,
    httpGet: createHttpGet(engineHttp, { clock }),
    rpc: createEngineRpc({}, { clock }),
    ...(files ?? { readFile: readTextFile, listFiles: listFolder }),
  };
  const postJson = createHttpPostJson(engineHttp, { clock });
  const tokens = new TokenProber({ clock, postJson });
  const apis = new ApiProber({ clock, httpGet: probeModules.httpGet });
  const transfers = new SideChannelProber(
    { isOff: !asksSideChannels },
    {
      clock,
      ownHosts,
      async loadSockets() {
        const part = await loadPart(() => import('../../worker/kv-events/sockets/zmq-sockets.js'), modules);
        if (part === undefined) throw new Error('the sidecar ends');
        return part.loadZmqSockets({ maxMessageBytes: MAX_ANSWER_BYTES }, { logger });
      },
    },
  );
  return new Sidecar(options, {
    ...shared,
    clock,
    openFile: openFilePieces,
    probeModules,
    locate: locate(probeModules),
    loadProbes: loadProbes ?? (async () => (await loadPart(loadEngineProbes, modules)) ?? []),
    ...(learnsFacts ? { learnFacts: learnAll([tokens.learn, apis.learn, transfers.learn]) } : {}),
    ...(hasCanary ? { canary: { get: probeModules.httpGet, post: postJson } } : {}),
    ...(events === undefined
      ? {}
      : {
          eventReading: {
            settings: events,
            async loadReader(its, options) {
              const part = await loadPart(
                () => import('../../worker/kv-events/engine-event-reader.js'),
                modules,
              );
              if (part === undefined) throw new Error('the sidecar ends');
              const post = createHttpPost({ ...engineHttp, maxBodyBytes: MAX_EVENTS_BYTES }, { clock });
              return new part.EngineEventReader({ ...eventReader, ...options }, { ...its, postJson: post });
            },
          },
        }),
  });
}
