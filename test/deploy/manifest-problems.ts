import { commands } from '../../src/cli/commands.js';
import { EXIT_OK } from '../../src/cli/exit-codes.js';
import { tableOf } from '../../src/cli/program.js';
import { runCli } from '../../src/cli/run.js';
import { parseDuration, parseSize } from '../../src/cli/settings/parse-amount.js';
import { warnOfUnknownEnvironment } from '../../src/cli/settings/unknown-environment.js';
import { parseTargets } from '../../src/fleet/discovery/parse-target.js';
import { FakeClock } from '../support/fake-clock.js';
import { TextRecorder } from '../support/text-recorder.js';
import { asNode, type Node, nodesOf, type PodTemplate, textsOf } from './manifests.js';

/** What `--print-config --json` prints for a command line: each setting's value. */
export type Settings = Readonly<Record<string, unknown>>;

/** Whether a container runs kv-accord, by its image or, where a volume holds the program, by its command. */
export function isOurs(container: Node): boolean {
  const [program = ''] = textsOf(container['command']);
  return program.includes('kv-accord') || (ourImage(container) && program === '');
}

/** Whether the image is the product's, under any registry. */
export function ourImage(container: Node): boolean {
  return /(?:^|\/)kv-accord[:@]/.test(String(container['image']));
}

/**
 * Everything in a pod template that would not work, or that is not as safe as
 * it has to be: flags that do not exist, ports on which nobody listens, probes
 * that cannot pass, containers without resources or with more rights than the
 * Restricted Pod Security Standard leaves them.
 */
export async function problemsOf(template: PodTemplate): Promise<string[]> {
  const { spec, at } = template;
  const inits = nodesOf(spec['initContainers']);
  const containers = nodesOf(spec['containers']);
  const found: string[] = [];
  for (const container of [...inits, ...containers]) {
    const where = `${at}: container ${String(container['name'])}`;
    const say = (problem: string): number => found.push(`${where}: ${problem}`);
    for (const problem of rightsProblems(spec, container)) say(problem);
    for (const problem of resourceProblems(container)) say(problem);
    if (!isOurs(container)) continue;
    const read = await readSettings(container);
    if ('problem' in read) {
      say(read.problem);
      continue;
    }
    // Under exec, ports and probes are those of the program that it runs.
    if (read.command !== 'exec') for (const problem of portProblems(container, read.settings)) say(problem);
    for (const problem of memoryProblems(container, read.settings)) say(problem);
    for (const problem of endingProblems(spec, container, read.settings)) say(problem);
  }
  return found;
}

/** Reads a container's flags and variables by the product's own reader, or says why that does not go. */
export async function readSettings(
  container: Node,
): Promise<{ readonly command: string; readonly settings: Settings } | { readonly problem: string }> {
  const [command = '', ...flags] = textsOf(container['args']);
  const environment = Object.fromEntries(
    nodesOf(container['env']).map(({ name, value }) => [
      String(name),
      value === undefined ? 'given' : String(value),
    ]),
  );
  const names = commands.flatMap((known) => Object.keys(tableOf(known)));
  const [unknown] = warnOfUnknownEnvironment(environment, names);
  if (unknown !== undefined) return { problem: unknown };
  const stdout = new TextRecorder();
  const stderr = new TextRecorder();
  const code = await runCli([command, '--print-config', '--json', ...flags], {
    commands,
    clock: new FakeClock(),
    environment,
    stdout,
    stderr,
    signal: new AbortController().signal,
    takeOverSignals: () => {},
    version: '0.0.0',
    readTextFile: () => Promise.reject(new Error('there are no files')),
    // What is mounted is another test's.
    findPathProblem: () => undefined,
  });
  if (code !== EXIT_OK) return { problem: stderr.text.trim() };
  const printed = JSON.parse(stdout.text) as Record<string, { readonly value: unknown }>;
  const settings = Object.fromEntries(Object.entries(printed).map(([name, { value }]) => [name, value]));
  try {
    parseTargets(textsOf(settings['workers']));
  } catch (error) {
    return { problem: String(error) };
  }
  return { command, settings };
}

const RESTRICTED = 'the Restricted Pod Security Standard wants';

function rightsProblems(spec: Node, container: Node): string[] {
  const pod = asNode(spec['securityContext']) ?? {};
  const own = asNode(container['securityContext']) ?? {};
  const has = (field: string): unknown => own[field] ?? pod[field];
  const found: string[] = [];
  if (has('runAsNonRoot') !== true) found.push(`${RESTRICTED} runAsNonRoot: true`);
  if (has('runAsUser') === 0) found.push(`${RESTRICTED} another user than 0`);
  if (own['allowPrivilegeEscalation'] !== false) found.push(`${RESTRICTED} allowPrivilegeEscalation: false`);
  if (asNode(has('seccompProfile'))?.['type'] !== 'RuntimeDefault')
    found.push(`${RESTRICTED} a seccompProfile of RuntimeDefault`);
  if (textsOf(asNode(own['capabilities'])?.['drop']).join() !== 'ALL')
    found.push(`${RESTRICTED} that all capabilities are dropped`);
  if (!ourImage(container)) return found;
  if (own['readOnlyRootFilesystem'] !== true)
    found.push('kv-accord needs no root file system that can be written');
  if (has('runAsUser') !== 65_532) found.push("the image's user is 65532");
  return found;
}

function resourceProblems(container: Node): string[] {
  const { requests, limits } = asNode(container['resources']) ?? {};
  const most = asNode(limits) ?? {};
  if ('nvidia.com/gpu' in most) return [];
  const wanted = asNode(requests) ?? {};
  const missing = ['cpu', 'memory'].filter((name) => !(name in wanted)).map((name) => `requests no ${name}`);
  return 'memory' in most ? missing : [...missing, 'has no memory limit'];
}

/** The ports on which a command listens beyond the loopback, by what they speak. */
function listening(settings: Settings): Map<number, 'grpc' | 'http'> {
  const ports = new Map<number, 'grpc' | 'http'>();
  const add = (address: unknown, speaks: 'grpc' | 'http'): void => {
    const [, host, port] = /^(.*):(\d+)$/.exec(String(address)) ?? [];
    if (port !== undefined && host !== '127.0.0.1') ports.set(Number(port), speaks);
  };
  add(settings['listen'], 'grpc');
  add(settings['http-listen'], 'http');
  add(settings['ext-proc-listen'], 'grpc');
  add(settings['health-listen'], 'grpc');
  if (settings['http-port'] !== undefined)
    add(`${String(settings['http-host'])}:${String(settings['http-port'])}`, 'http');
  return ports;
}

function portProblems(container: Node, settings: Settings): string[] {
  const ports = listening(settings);
  const named = new Map(nodesOf(container['ports']).map(({ name, containerPort }) => [name, containerPort]));
  const found = [...named.values()]
    .filter((port) => !ports.has(Number(port)))
    .map((port) => `names port ${String(port)}, on which nobody listens`);
  for (const port of ports.keys())
    if (![...named.values()].includes(port)) found.push(`listens on ${port}, which it does not name`);
  const isTls = settings['tls-cert'] !== null && settings['tls-cert'] !== undefined;
  for (const kind of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    const probe = asNode(container[kind]);
    if (probe === undefined) continue;
    const { grpc, httpGet } = probe;
    const { port, path, scheme = 'HTTP', service } = { ...asNode(grpc), ...asNode(httpGet) } as Node;
    const number = typeof port === 'string' ? named.get(port) : port;
    const speaks = ports.get(Number(number));
    if (speaks !== (grpc === undefined ? 'http' : 'grpc'))
      found.push(`${kind}: port ${String(port)} does not speak that`);
    // A picker answers probes at a port of its own, in plaintext, under the names of the Inference Extension.
    const isPickerHealth = String(settings['health-listen']).endsWith(`:${String(number)}`);
    if (isPickerHealth && !['liveness', 'readiness'].includes(String(service)))
      found.push(`${kind}: ${String(service)} is no name of a picker's health`);
    if (grpc !== undefined && isTls && !isPickerHealth)
      found.push(`${kind}: the kubelet's gRPC probe speaks no TLS`);
    if (grpc !== undefined && !isPickerHealth && service !== 'kvaccord.v1.Capabilities')
      found.push(`${kind}: ${String(service)} is not what passes as soon as a sidecar serves`);
    if (grpc === undefined && (scheme === 'HTTPS') !== isTls)
      found.push(`${kind}: scheme ${String(scheme)} is wrong`);
    if (grpc === undefined && !['/livez', '/readyz', '/startupz'].includes(String(path)))
      found.push(`${kind}: ${String(path)} is no probe`);
    if (kind === 'livenessProbe' && grpc === undefined && path !== '/livez')
      found.push(`${kind}: ${String(path)} would end a process that only waits`);
  }
  return found;
}

const KIBIBYTES: Readonly<Record<string, number>> = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** The index is not all that a process has. */
function memoryProblems(container: Node, settings: Settings): string[] {
  const limit = String(asNode(asNode(container['resources'])?.['limits'])?.['memory'] ?? '');
  const [, digits, unit = ''] = /^(\d+)(Ki|Mi|Gi)$/.exec(limit) ?? [];
  const index = parseSize(String(settings['index-memory'])) ?? 0;
  const spareBytes = Number(digits) * (KIBIBYTES[unit] ?? 1) - index;
  return spareBytes >= 128 * 2 ** 20 ? [] : [`memory limit ${limit} leaves no room beside --index-memory`];
}

/** The time that a pod is given must last for what the process does when it is asked to end. */
function endingProblems(spec: Node, container: Node, settings: Settings): string[] {
  const drainMs = parseDuration(String(settings['drain-timeout'])) ?? 0;
  const sleep = asNode(asNode(asNode(container['lifecycle'])?.['preStop'])?.['sleep'])?.['seconds'] ?? 0;
  const graceSeconds = Number(spec['terminationGracePeriodSeconds'] ?? 30);
  return graceSeconds * 1000 >= drainMs + Number(sleep) * 1000 + 5000
    ? []
    : [`terminationGracePeriodSeconds ${graceSeconds} is too short for its end`];
}
