import { openEngineTrust } from '../../../app/open-engine-trust.js';
import { openSecurity } from '../../../app/open-security.js';
import { SettingError } from '../../../app/setting-error.js';
import { readEngineKey } from '../../../app/setting-file.js';
import { type Address, parseAddress } from '../../../edge/platform/address.js';
import { createHttpGet } from '../../../edge/platform/net/http-get.js';
import { isInputGiven, STANDARD_INPUT } from '../../../edge/platform/streams/standard-input.js';
import type { EvidencePart, SourceOutcome } from '../../../tools/doctor/evidence.js';
import { gatherEngine } from '../../../tools/doctor/gather/engine.js';
import { gatherGpus } from '../../../tools/doctor/gather/gpus.js';
import { gatherLog } from '../../../tools/doctor/gather/logs.js';
import { gatherMetrics, MAX_PAGE_BYTES, type PageModules } from '../../../tools/doctor/gather/metrics.js';
import { gatherModel } from '../../../tools/doctor/gather/model.js';
import { outcome } from '../../../tools/doctor/gather/outcomes.js';
import type { ManifestFile } from '../../shared/manifest-files.js';
import { gatherNamespace } from './cluster.js';
import type { DoctorContext, DoctorSettings } from './context.js';
import type { FleetAsker } from './fleet-asker.js';
import type { PlacesByKind } from './given-paths.js';
import { LogProgress } from './progress.js';
import { flagsOfStandardInput } from './settings.js';

/** Where an aggregator, then a sidecar, is when nothing is named. */
const USUAL_FLEETS = ['127.0.0.1:50060', '127.0.0.1:50061'];
/** Where engines and frontends serve when nobody said otherwise, as the sidecar looks for them. */
const USUAL_ENGINES = [8000, 30_000, 8081].map((port) => `http://127.0.0.1:${port}`);

/** What an operator may have named without a flag: a program by gRPC, a program by HTTP, a page of metrics, or a file or folder. */
type Operand =
  | { readonly type: 'grpc'; readonly address: Address }
  | { readonly type: 'http'; readonly baseUrl: string }
  | { readonly type: 'page'; readonly url: string }
  | { readonly type: 'path'; readonly path: string };

/** What an aggregator or a sidecar says; rejects only with the signal's reason. */
type AskFleet = (address: Address) => Promise<EvidencePart>;

/** Reads everything that was named; when nothing was, what runs on this machine. What cannot be read is among the parts, with the reason. */
export async function gatherEvidence(
  settings: DoctorSettings,
  context: DoctorContext,
): Promise<readonly EvidencePart[]> {
  const { environment, signal } = context;
  const { modelConfig, gpuMemory, kube, timeoutMs } = settings;
  const operands = context.operands.map(readOperand);
  const paths = operands.flatMap((one) => (one.type === 'path' ? [one.path] : []));
  const flag = paths.includes(STANDARD_INPUT) ? flagsOfStandardInput(settings)[0] : undefined;
  if (flag !== undefined)
    throw new SettingError(
      `"-" (on the command line): must be left out beside --${flag} -: there is one standard input`,
    );
  const given = await readPaths(paths, signal);
  const logs = [...settings.logs, ...given.log];
  const manifests = [...settings.manifests, ...given.manifests];
  const metrics = [...settings.metrics, ...given.metrics];
  const engineConfig = [...settings.engineConfig, ...given.engine_config];
  const models = [...(modelConfig === undefined ? [] : [modelConfig]), ...given.model];
  const gpus = [...(gpuMemory === undefined ? [] : [gpuMemory]), ...given.gpu];
  const bearerKey = await readEngineKey(settings.engineApiKeyFile);
  const security = await openSecurity(settings, context);
  const trust = await openEngineTrust(settings.engineTlsCa, context).catch((error: unknown) => {
    security.close();
    throw error;
  });
  const httpOptions = {
    maxBodyBytes: MAX_PAGE_BYTES,
    connectTimeoutMs: timeoutMs,
    totalTimeoutMs: timeoutMs,
    ca: trust.ca,
  };
  const pages: PageModules = { get: createHttpGet(httpOptions), signal };
  // The key is for the engines that the operator named, and for no page or usual port.
  const engines: PageModules =
    bearerKey === undefined ? pages : { get: createHttpGet({ ...httpOptions, bearerKey }), signal };
  // Parsers and gRPC take longer to load than a short log to read: each is loaded where something is there for it.
  let fleets: Promise<FleetAsker> | undefined;
  const askFleet: AskFleet = async (address) => {
    fleets ??= import('./fleet-asker.js').then(
      (module) => new module.FleetAsker(security, settings, context),
    );
    return (await fleets).ask(address);
  };
  try {
    const named: Promise<EvidencePart>[] = [
      ...operands.flatMap((operand) =>
        operand.type === 'path' ? [] : [askProgram(operand, askFleet, engines)],
      ),
      ...distinct(metrics).map((place) => gatherMetrics(place, pages)),
      ...distinct(engineConfig).map(readEngineConfig),
      ...distinct(models).map(gatherModel),
      ...distinct(gpus).map((place) => gatherGpus(place, { environment, timeoutMs })),
    ];
    const isAnyNamed = named.length + logs.length + manifests.length > 0 || kube !== undefined;
    const quick = isAnyNamed ? Promise.all(named) : gatherUsual(askFleet, pages);
    // Logs take a whole core: one after the other, while the network answers.
    const slow = await gatherLogs(logs, context);
    const cluster = kube === undefined ? undefined : await gatherNamespace(kube, settings, context);
    const deployed = await gatherDeployed(manifests, kube, cluster?.files);
    signal.throwIfAborted();
    return [...slow, ...(await quick), ...(cluster?.parts ?? []), ...deployed];
  } finally {
    trust.close();
    security.close();
  }
}

async function gatherLogs(
  places: readonly string[],
  context: DoctorContext,
): Promise<readonly EvidencePart[]> {
  const { clock, signal, stderr } = context;
  const progress = new LogProgress(stderr, clock);
  const parts: EvidencePart[] = [];
  try {
    for (const place of distinct(places)) {
      const { onProgress } = progress;
      parts.push(await gatherLog(place, { clock, signal, onProgress }));
    }
  } finally {
    progress.clear();
  }
  return parts;
}

async function readEngineConfig(file: string): Promise<EvidencePart> {
  const { gatherEngineConfig } = await import('../../../tools/doctor/gather/engine-config.js');
  return gatherEngineConfig(file);
}

async function gatherDeployed(
  places: readonly string[],
  namespace: string | undefined,
  objects: readonly ManifestFile[] = [],
): Promise<readonly EvidencePart[]> {
  if (places.length + objects.length === 0) return [];
  const { gatherManifests } = await import('./manifests.js');
  return gatherManifests(places, namespace, objects);
}

function readOperand(text: string): Operand {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) {
    const url = new URL(text);
    if (url.username !== '' || url.password !== '')
      throw new SettingError(
        `an address (on the command line): must be given without user name and password`,
      );
    return url.pathname === '/' && url.search === ''
      ? { type: 'http', baseUrl: url.origin }
      : { type: 'page', url: url.href };
  }
  const address = parseAddress(text);
  return address === undefined || (address.type === 'tcp' && address.port === 0)
    ? { type: 'path', path: text }
    : { type: 'grpc', address };
}

async function readPaths(paths: readonly string[], signal: AbortSignal): Promise<PlacesByKind> {
  if (paths.length === 0)
    return { log: [], metrics: [], manifests: [], engine_config: [], model: [], gpu: [] };
  const { sortPaths } = await import('./given-paths.js');
  return sortPaths(paths, signal);
}

function askProgram(
  operand: Exclude<Operand, { type: 'path' }>,
  askFleet: AskFleet,
  pages: PageModules,
): Promise<EvidencePart> {
  switch (operand.type) {
    case 'grpc':
      return askFleet(operand.address);
    case 'http':
      return gatherEngine(operand.baseUrl, pages);
    case 'page':
      return gatherMetrics(operand.url, pages);
  }
}

function distinct(places: readonly string[]): readonly string[] {
  return [...new Set(places)];
}

/** An aggregator, else a sidecar, else all engines and frontends, on the usual ports of this machine. */
async function gatherUsual(askFleet: AskFleet, pages: PageModules): Promise<readonly EvidencePart[]> {
  const tried: SourceOutcome[] = [];
  const isRead = ({ source }: EvidencePart): boolean => {
    if (source.status !== 'not_read') return true;
    tried.push(source);
    return false;
  };
  for (const text of USUAL_FLEETS) {
    const address = parseAddress(text);
    const part = address === undefined ? undefined : await askFleet(address);
    if (part !== undefined && isRead(part)) return [part];
  }
  const found = (await Promise.all(USUAL_ENGINES.map((url) => gatherEngine(url, pages)))).filter(isRead);
  if (found.length > 0) return found;
  const words = tried.map(({ name, detail }) => `${name} (${detail.replace(`${name}: `, '')})`).join(', ');
  const piped = isInputGiven() ? '; standard input is read where it is named: kv-accord doctor -' : '';
  const detail = `nothing was named, and nothing answers at ${words}${piped}`;
  return [{ source: outcome('fleet', 'this machine', 'not_read', detail) }];
}
