import { Registry } from 'prom-client';
import { EngineKind } from '../gen/kvaccord/v1/capabilities.js';
import { readHostName } from '../platform/environment.js';
import { readTextFile } from '../platform/file.js';
import { openFilePieces } from '../platform/file-pieces.js';
import { createHttpGet } from '../platform/http-get.js';
import { listFolder } from '../platform/list-folder.js';
import { systemRandom } from '../platform/random.js';
import { createEngineRpc } from '../rpc/engine-rpc.js';
import { createPlaintextSecurity } from '../rpc/security.js';
import { ENGINE_PROBES } from '../sidecar/engines/index.js';
import type { ProbeTarget } from '../sidecar/engines/probe.js';
import { Sidecar } from '../sidecar/sidecar.js';
import type { CommandBody } from './command.js';
import { EXIT_OK } from './exit-codes.js';
import type { sidecarSettings } from './sidecar-settings.js';

const ENGINE_KINDS = {
  auto: undefined,
  vllm: EngineKind.ENGINE_KIND_VLLM,
  sglang: EngineKind.ENGINE_KIND_SGLANG,
  trtllm: EngineKind.ENGINE_KIND_TENSORRT_LLM,
  dynamo: EngineKind.ENGINE_KIND_DYNAMO,
} as const;

/** Runs `kv-accord sidecar`. */
export const runSidecar: CommandBody<typeof sidecarSettings> = async (settings, context) => {
  const { clock, logger, environment } = context;
  const engineKind = ENGINE_KINDS[settings.engineKind];
  const targets: ProbeTarget[] = settings.engine.map((httpBaseUrl) => ({
    httpBaseUrl,
    ...(engineKind === undefined ? {} : { engineKind }),
    ...(settings.engineGrpc === undefined ? {} : { grpcAddress: settings.engineGrpc.text }),
  }));
  const sidecar = new Sidecar(
    {
      version: context.version,
      workerId: settings.workerId ?? environment['POD_UID'] ?? readHostName(),
      listen: settings.listen,
      httpListen: settings.httpListen,
      drainTimeoutMs: settings.drainTimeoutMs,
      probeIntervalMs: settings.probeIntervalMs,
      probes: ENGINE_PROBES,
      declaredFacts: [],
    },
    {
      clock,
      logger,
      random: systemRandom,
      security: createPlaintextSecurity({ allowsPlaintext: settings.insecure }),
      registry: new Registry(),
      openFile: openFilePieces,
      probeModules: {
        clock,
        httpGet: createHttpGet(),
        rpc: createEngineRpc(),
        readFile: readTextFile,
        listFiles: listFolder,
      },
      locate: async () => ({ type: 'at', targets, address: settings.engine.join(', ') }),
    },
  );
  const { grpc, http } = await sidecar.start();
  logger.info(
    { listen: grpc.text, http_listen: http.text },
    `Serving gRPC on ${grpc.text} and HTTP on ${http.text}.`,
  );
  await sidecar.run(context.signal);
  return EXIT_OK;
};
