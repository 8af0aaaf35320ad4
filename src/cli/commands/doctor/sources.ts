import { SnapshotError, takeSnapshot } from '../../../app/fleet-snapshot.js';
import { openEngineTrust } from '../../../app/open-engine-trust.js';
import { openSecurity } from '../../../app/open-security.js';
import { SettingError } from '../../../app/setting-error.js';
import { readEngineKey } from '../../../app/setting-file.js';
import { ADDRESS_FORMS, type Address, parseAddress } from '../../../edge/platform/address.js';
import { kindOfPath } from '../../../edge/platform/files/find-files.js';
import { createHttpGet } from '../../../edge/platform/net/http-get.js';
import { type RpcChannel, RpcDialer } from '../../../edge/rpc/channel.js';
import { ConnectError } from '../../../edge/rpc/connect-error.js';
import type { Security } from '../../../edge/security/security.js';
import type { EvidencePart, SourceOutcome } from '../../../tools/doctor/evidence.js';
import { gatherEngine } from '../../../tools/doctor/gather/engine.js';
import { gatherEngineConfig } from '../../../tools/doctor/gather/engine-config.js';
import { fleetPart, sidecarPart } from '../../../tools/doctor/gather/fleet.js';
import { gatherGpus } from '../../../tools/doctor/gather/gpus.js';
import { gatherLog } from '../../../tools/doctor/gather/logs.js';
import { manifestsPart } from '../../../tools/doctor/gather/manifests.js';
import { gatherMetrics, MAX_PAGE_BYTES, type PageModules } from '../../../tools/doctor/gather/metrics.js';
import { gatherModel } from '../../../tools/doctor/gather/model.js';
import { notRead, outcome } from '../../../tools/doctor/gather/outcomes.js';
import { quote } from '../../settings/wrong-value.js';
import { readFilesBeside } from '../../shared/files-beside.js';
import { type ManifestFile, readManifestFiles } from '../../shared/manifest-files.js';
import { gatherNamespace } from './cluster.js';
import type { DoctorContext, DoctorSettings } from './context.js';
import { LogProgress } from './progress.js';

/** Where an aggregator, then a sidecar, is when nothing is named. */
const USUAL_FLEETS = ['127.0.0.1:50060', '127.0.0.1:50061'];
/** Where engines and frontends serve when nobody said otherwise, as the sidecar looks for them. */
const USUAL_ENGINES = [8000, 30_000, 8081].map((port) => `http://127.0.0.1:${port}`);

/** What an operator may have named: a program by gRPC, a program by HTTP, or a page of metrics. */
type Operand =
  | { readonly type: 'grpc'; readonly address: Address }
  | { readonly type: 'http'; readonly baseUrl: string }
  | { readonly type: 'page'; readonly url: string };

/** Reads everything that was named; when nothing was, what runs on this machine. What cannot be read is among the parts, with the reason. */
export async function gatherEvidence(
  settings: DoctorSettings,
  context: DoctorContext,
): Promise<readonly EvidencePart[]> {
  const { environment, signal } = context;
  const { logs, manifests, metrics, engineConfig, modelConfig, gpuMemory, kube, timeoutMs } = settings;
  const operands = await Promise.all(context.operands.map(readOperand));
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
  const fleets = new FleetAsker(security, settings, context);
  try {
    const named: Promise<EvidencePart>[] = [
      ...operands.map((operand) => askOperand(operand, fleets, engines)),
      ...metrics.map((place) => gatherMetrics(place, pages)),
      ...engineConfig.map(gatherEngineConfig),
      ...(modelConfig === undefined ? [] : [gatherModel(modelConfig)]),
      ...(gpuMemory === undefined ? [] : [gatherGpus(gpuMemory, { environment, timeoutMs })]),
    ];
    const isAnyNamed = named.length + logs.length + manifests.length > 0 || kube !== undefined;
    const quick = isAnyNamed ? Promise.all(named) : gatherUsual(fleets, pages);
    // Logs take a whole core: one after the other, while the network answers.
    const slow = await gatherLogs(logs, context);
    const cluster = kube === undefined ? undefined : await gatherNamespace(kube, settings, context);
    const read = manifests.length === 0 ? undefined : await readManifests(manifests);
    const files = [...(read?.files ?? []), ...(cluster?.files ?? [])];
    // All manifests are one view of a deployment, wherever they came from.
    const name = [...manifests, ...(kube === undefined ? [] : [`namespace ${kube}`])].join(', ');
    const environments = await readFilesBeside(read?.files ?? []);
    const deployed = files.length === 0 ? [] : [manifestsPart(name, files, environments)];
    signal.throwIfAborted();
    return [...slow, ...(await quick), ...(cluster?.parts ?? []), ...(read?.failed ?? []), ...deployed];
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
    for (const place of new Set(places)) {
      const { onProgress } = progress;
      parts.push(await gatherLog(place, { clock, signal, onProgress }));
    }
  } finally {
    progress.clear();
  }
  return parts;
}

/** Each operand by itself: one that cannot be read does not hide the others. */
async function readManifests(
  places: readonly string[],
): Promise<{ readonly files: readonly ManifestFile[]; readonly failed: readonly EvidencePart[] }> {
  const files = new Map<string, ManifestFile>();
  const failed: EvidencePart[] = [];
  for (const place of places) {
    try {
      const extensions = ['.yaml', '.yml', '.json', '.sh', '.bash'];
      for (const one of await readManifestFiles([place], {}, { extensions })) files.set(one.file, one);
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      failed.push(notRead('manifests', place, error.message.replace(/^.*\(on the command line\): /, '')));
    }
  }
  return { files: [...files.values()], failed };
}

async function readOperand(text: string): Promise<Operand> {
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
  if (address !== undefined && !(address.type === 'tcp' && address.port === 0))
    return { type: 'grpc', address };
  const isFile = await kindOfPath(text).then(
    () => true,
    () => false,
  );
  const hint = isFile ? '; a file is named by its flag, such as --logs FILE, once for each' : '';
  throw new SettingError(`${quote(text)} (on the command line): must be ${ADDRESS_FORMS}, or a URL${hint}`);
}

function askOperand(operand: Operand, fleets: FleetAsker, pages: PageModules): Promise<EvidencePart> {
  switch (operand.type) {
    case 'grpc':
      return fleets.ask(operand.address);
    case 'http':
      return gatherEngine(operand.baseUrl, pages);
    case 'page':
      return gatherMetrics(operand.url, pages);
  }
}

/** An aggregator, else a sidecar, else all engines and frontends, on the usual ports of this machine. */
async function gatherUsual(fleets: FleetAsker, pages: PageModules): Promise<readonly EvidencePart[]> {
  const tried: SourceOutcome[] = [];
  const isRead = ({ source }: EvidencePart): boolean => {
    if (source.status !== 'not_read') return true;
    tried.push(source);
    return false;
  };
  for (const text of USUAL_FLEETS) {
    const address = parseAddress(text);
    const part = address === undefined ? undefined : await fleets.ask(address);
    if (part !== undefined && isRead(part)) return [part];
  }
  const found = (await Promise.all(USUAL_ENGINES.map((url) => gatherEngine(url, pages)))).filter(isRead);
  if (found.length > 0) return found;
  const words = tried.map(({ name, detail }) => `${name} (${detail.replace(`${name}: `, '')})`).join(', ');
  const detail = `nothing was named, and nothing answers at ${words}`;
  return [{ source: outcome('fleet', 'this machine', 'not_read', detail) }];
}

/** Asks aggregators and sidecars. */
class FleetAsker {
  readonly #dialer: RpcDialer;
  readonly #timeoutMs: number;
  readonly #context: DoctorContext;

  constructor(security: Security, { timeoutMs }: DoctorSettings, context: DoctorContext) {
    this.#dialer = new RpcDialer({ connectTimeoutMs: timeoutMs }, { clock: context.clock, security });
    this.#timeoutMs = timeoutMs;
    this.#context = context;
  }

  /** Rejects only with the signal's reason. */
  async ask(address: Address): Promise<EvidencePart> {
    const { clock, signal } = this.#context;
    let channel: RpcChannel | undefined;
    try {
      channel = this.#dialer.dial(address);
      const snapshot = await takeSnapshot(channel, { clock, signal, timeoutMs: this.#timeoutMs });
      return snapshot.type === 'sidecar'
        ? sidecarPart(address.text, snapshot.report)
        : fleetPart(address.text, snapshot.agreements, snapshot.workers);
    } catch (error) {
      if (!(error instanceof SnapshotError || error instanceof ConnectError)) throw error;
      // The part is called by its address already.
      const [said, prefix] = [error.message, `${address.text}: `];
      return notRead('fleet', address.text, said.startsWith(prefix) ? said.slice(prefix.length) : said);
    } finally {
      channel?.close();
    }
  }
}
