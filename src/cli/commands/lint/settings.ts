import type { CommandDescription } from '../../command.js';
import { OF_PEERS } from '../../settings/common-settings.js';
import { kubeSettings } from '../../settings/kube-settings.js';
import { checkOneFormat } from '../../shared/one-format.js';
import { withSettings } from '../../shared/with-settings.js';

const ownSettings = {
  format: {
    kind: 'enum',
    choices: ['text', 'json', 'sarif', 'github'],
    default: 'text',
    group: 'Output',
    help: 'text for people with the changes as patches, json for programs, sarif for code scanning, github for annotations of GitHub Actions. --json is --format json.',
  },
  'fail-on': {
    kind: 'enum',
    choices: ['error', 'warning', 'note'],
    default: 'warning',
    group: 'Output',
    help: 'Findings that are less than this do not make the exit code 1.',
  },
  fix: {
    kind: 'boolean',
    group: 'Input',
    help: 'Write the changes that need no decision into the files. Comments and formatting stay.',
  },
  docs: {
    kind: 'boolean',
    group: 'Input',
    help: 'Look at the examples in Markdown files too.',
  },
  cluster: {
    kind: 'boolean',
    group: 'Input',
    help: 'Look at the workloads of a cluster in place of files. Reads only.',
  },
  namespace: {
    kind: 'string',
    maxLength: 63,
    group: 'Input',
    defaultHelp: "the current context's",
    help: 'With --cluster: the namespace to look at.',
  },
} as const;

/** The settings of `kv-accord lint`. */
export const lintSettings: typeof ownSettings & typeof withSettings & typeof kubeSettings = {
  ...ownSettings,
  ...withSettings,
  ...kubeSettings,
};

/** `kv-accord lint`. */
export const lintDescription: CommandDescription<typeof lintSettings> = {
  name: 'lint',
  summary: 'Find block-size faults in manifests, shell commands and documentation',
  description:
    'Looks for what makes KV-aware routing fail without a word: block sizes that differ or are left out, events that are off, hash seeds that differ. All files together are one view of a deployment. Exit codes: 0 nothing found, 1 findings, 2 bad usage, 5 the cluster cannot be read.',
  operands: {
    syntax: '[FILE|FOLDER|-...]',
    help: 'manifests (YAML, JSON), shell scripts, folders of them, or - for standard input',
  },
  settings: lintSettings,
  unread: [...OF_PEERS, 'insecure'],
  examples: [
    { says: 'What is in a folder, with the changes as patches', line: 'kv-accord lint deploy/' },
    {
      says: "With the engine's file, which the command names by a path in its image",
      line: 'kv-accord lint graph.yaml --with /etc/trtllm/engine.yaml=engine.yaml',
    },
    { says: 'The manifests that a chart makes', line: 'helm template my-chart | kv-accord lint -' },
    { says: 'Fix what needs no decision', line: 'kv-accord lint --fix deploy/' },
    { says: 'Documentation', line: 'kv-accord lint --docs docs/' },
    { says: 'A running cluster', line: 'kv-accord lint --cluster --namespace inference' },
  ],
  check({ cluster, fix, docs, namespace, kubeconfig, kubeContext, json, format }, reject, flags) {
    checkOneFormat({ json, format }, reject, flags);
    if (cluster && fix) throw reject('fix', 'left out with --cluster, which changes nothing', 'true');
    if (cluster && docs) throw reject('docs', 'left out with --cluster', 'true');
    if (!cluster && namespace !== undefined) throw reject('namespace', 'left out without --cluster');
    if (namespace !== undefined && !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(namespace))
      throw reject('namespace', 'a name of lower-case letters, digits and -');
    if (!cluster && kubeconfig !== undefined) throw reject('kubeconfig', 'left out without --cluster');
    if (!cluster && kubeContext !== undefined) throw reject('kube-context', 'left out without --cluster');
  },
};
