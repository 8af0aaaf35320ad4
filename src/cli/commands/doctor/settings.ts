import { STANDARD_INPUT } from '../../../edge/platform/streams/standard-input.js';
import type { CommandDescription } from '../../command.js';
import { OF_SERVERS } from '../../settings/common-settings.js';
import { kubeSettings } from '../../settings/kube-settings.js';
import type { SettingsOf } from '../../settings/setting.js';
import { checkOneFormat } from '../../shared/one-format.js';

const ownSettings = {
  logs: {
    kind: 'list',
    item: 'source',
    placeholder: 'FILE|-',
    group: 'What to look at',
    help: 'Log of a frontend, a worker or an engine, of any size, also packed by gzip; - is standard input. Repeat it for each.',
  },
  manifests: {
    kind: 'list',
    item: 'source',
    placeholder: 'FILE|FOLDER|-',
    group: 'What to look at',
    help: 'Manifests and shell scripts that the fleet was started from. Repeat it for each.',
  },
  metrics: {
    kind: 'list',
    item: 'source',
    placeholder: 'URL|FILE|-',
    group: 'What to look at',
    help: 'Prometheus metrics of a frontend, a worker, an engine or DCGM: the address of the page, or a file with its text.',
  },
  'engine-config': {
    kind: 'list',
    item: 'source',
    placeholder: 'FILE|-',
    group: 'What to look at',
    help: "Configuration of an engine, YAML or JSON: TensorRT-LLM's --extra-llm-api-options, --config of vLLM or SGLang.",
  },
  'model-config': {
    kind: 'file',
    placeholder: 'FILE|FOLDER',
    group: 'What to look at',
    help: 'config.json of the model, or its folder: what the arithmetic of memory stands on.',
  },
  'gpu-memory': {
    kind: 'file',
    words: ['nvidia-smi'],
    group: 'What to look at',
    help: 'Memory of the GPUs: ask nvidia-smi on this machine, or read a file with what nvidia-smi, rocm-smi, amd-smi or DCGM printed.',
  },
  'engine-api-key-file': {
    kind: 'file',
    mustBe: 'file',
    holdsSecret: true,
    group: 'What to look at',
    help: "File with the key that engines' HTTP asks for. It goes to the http addresses that are named as operands, and nowhere else.",
  },
  'engine-tls-ca': {
    kind: 'file',
    mustBe: 'file',
    group: 'What to look at',
    help: "File with the authorities (PEM) that engines' HTTPS certificates are checked against, in place of Node's own list.",
  },
  kube: {
    kind: 'string',
    maxLength: 63,
    placeholder: 'NAMESPACE',
    group: 'Kubernetes',
    help: 'Look at the pods, logs, events, workloads and ConfigMaps of a namespace, with your own rights. Secrets are never read.',
  },
  since: {
    kind: 'duration',
    default: '1h',
    min: '1s',
    max: '168h',
    group: 'Kubernetes',
    help: 'With --kube: how far back logs are read.',
  },
  'log-tail': {
    kind: 'integer',
    default: 50_000,
    min: 1,
    max: 10_000_000,
    placeholder: 'LINES',
    group: 'Kubernetes',
    help: 'With --kube: lines that are read of each container, at most.',
  },
  timeout: {
    kind: 'duration',
    default: '10s',
    min: '100ms',
    max: '1h',
    group: 'What to look at',
    help: 'Longest wait for one answer over the network. Logs take as long as they take.',
  },
  format: {
    kind: 'enum',
    choices: ['text', 'json', 'markdown', 'html'],
    default: 'text',
    group: 'Output',
    help: 'text for a terminal, json for programs, markdown for an issue, html with plots in one file. --json is --format json.',
  },
  verbose: {
    kind: 'boolean',
    group: 'Output',
    help: 'All evidence, settings and arithmetic, not only the first screen.',
  },
  output: {
    kind: 'file',
    group: 'Output',
    help: 'Write the report into this file in place of standard output.',
  },
  'write-plan': {
    kind: 'file',
    placeholder: 'DIR',
    group: 'Output',
    help: 'Write the proposed files, and a README of what to do with them, into a folder that is new or empty. Nothing is applied.',
  },
} as const;

/** The settings of `kv-accord doctor`. */
export const doctorSettings: typeof ownSettings & typeof kubeSettings = { ...ownSettings, ...kubeSettings };

/** The flags that name standard input, each as often as it does. */
export function flagsOfStandardInput({
  logs,
  manifests,
  metrics,
  engineConfig,
  modelConfig,
  gpuMemory,
}: DoctorPlaces): readonly (keyof typeof ownSettings)[] {
  const places = {
    logs,
    manifests,
    metrics,
    'engine-config': engineConfig,
    'model-config': [modelConfig],
    'gpu-memory': [gpuMemory],
  } as const;
  return (Object.keys(places) as (keyof typeof places)[]).flatMap((flag) =>
    places[flag].filter((place) => place === STANDARD_INPUT).map(() => flag),
  );
}

/** Where what is looked at stands, by flags. */
type DoctorPlaces = Pick<
  SettingsOf<typeof doctorSettings>,
  'logs' | 'manifests' | 'metrics' | 'engineConfig' | 'modelConfig' | 'gpuMemory'
>;

/** `kv-accord doctor`. */
export const doctorDescription: CommandDescription<typeof doctorSettings> = {
  name: 'doctor',
  summary: 'Why KV-aware routing does not work, with the evidence and the cure',
  description:
    'Looks at logs, metrics, manifests and a live fleet, and says what is wrong, how sure that is, and what would fix it. It only reads: nothing is changed, restarted or applied. Exit codes: 0 healthy, 1 findings, 2 bad usage, 5 nothing could be read, 6 not enough was read for a verdict.',
  operands: {
    syntax: '[FILE|FOLDER|URL...]',
    help: 'logs, saved pages of metrics, manifests, or a folder of them, each read as what it is (- is standard input); a kv-accord aggregator or sidecar (HOST:PORT); an engine or a frontend (URL). When nothing at all is named: what runs on this machine, on the usual ports',
  },
  settings: doctorSettings,
  unread: OF_SERVERS,
  examples: [
    { says: 'The fleet of the aggregator on this machine', line: 'kv-accord doctor' },
    { says: 'All that was saved of a fleet', line: 'kv-accord doctor saved/' },
    {
      says: 'From files and metrics',
      line: 'kv-accord doctor --logs frontend.log --logs worker-0.log --manifests deploy/ --metrics http://frontend:8000/metrics',
    },
    { says: 'A log as it comes', line: 'kubectl logs frontend | kv-accord doctor -' },
    {
      says: 'What a cluster runs, with a log',
      line: 'kubectl get deploy,sts -o yaml | kv-accord doctor - frontend.log',
    },
    { says: 'A namespace of a cluster', line: 'kv-accord doctor --kube inference' },
    {
      says: 'A report with plots, and the proposed files',
      line: 'kv-accord doctor --kube inference --format html --output report.html --write-plan plan/',
    },
  ],
  check(settings, reject, flags) {
    const { kube, kubeconfig, kubeContext, json, format } = settings;
    checkOneFormat({ json, format }, reject, flags);
    const [first, second] = flagsOfStandardInput(settings);
    if (first !== undefined && second !== undefined)
      throw reject(second, `left out beside --${first} -: there is one standard input`, '-');
    if (kube === undefined && kubeconfig !== undefined) throw reject('kubeconfig', 'left out without --kube');
    if (kube === undefined && kubeContext !== undefined)
      throw reject('kube-context', 'left out without --kube');
    for (const name of ['since', 'log-tail'] as const)
      if (kube === undefined && flags.has(name))
        throw reject(name, 'left out without --kube: a log that --logs names is read as a whole');
  },
};
