import type { ProposedFix } from '../diagnosis.js';
import { environmentOf } from './lines.js';

/** What to do about the exception with which LMCache switched itself off, by what it says; `$1` is its first group. */
const BY_EXCEPTION: readonly (readonly [exception: RegExp, says: string])[] = [
  [
    /No module named '?([\w.-]{1,60})/,
    'Install $1 into the image of the engine (pip install $1, of the version that this LMCache asks for)',
  ],
  [
    /No supported (\w{1,20}) connector found/,
    'Start the engine without LMCache (kv_connector of --kv-transfer-config) on $1, for which this release has no connector, or run a build of LMCache for this device',
  ],
  [
    /ImportError|undefined symbol|cannot open shared object file/,
    'Install an LMCache that belongs to the PyTorch, CUDA and vLLM of the image (pip install lmcache==VERSION, from the table of its documentation)',
  ],
  [
    /MemoryError|out of memory|Cannot allocate memory|(?:cuda|hip)Host|not enough memory/,
    'Set LMCACHE_MAX_LOCAL_CPU_SIZE to GB that the host has for each rank (max_local_cpu_size), and give the pod that memory and IPC_LOCK',
  ],
  [
    /Address already in use|EADDRINUSE/,
    'Give each engine of a host ports of its own (lmcache_worker_ports, internal_api_server_port_start, p2p_init_ports, p2p_lookup_ports, pd_peer_init_port, pd_peer_alloc_port)',
  ],
  [
    /FileNotFoundError|NotADirectoryError|PermissionError|Read-only file system|No space left/,
    "Mount a volume that the engine can write to at the path of the sentence (local_disk, gds_path or fs://… in LMCache's configuration)",
  ],
  [
    /Connection(?:Refused|Reset)?Error|Connection refused|timed out|TimeoutError|getaddrinfo|Name or service not known/,
    "Start what LMCache connects to as it starts (remote_url, controller_pull_url, controller_reply_url), and correct its address in LMCache's configuration",
  ],
];

/** LMCache that runs without itself, or without its store. */
export function cacheOnAgain(fault: string): ProposedFix {
  const reason = /at its start: (.+)$/.exec(fault)?.[1] ?? '';
  const [, wanted] =
    /\b(\w{3,60}) (?:is required|must be set|should be set|cannot be None)/.exec(reason) ?? [];
  const variable = wanted === undefined ? undefined : `LMCACHE_${wanted.toUpperCase()}`;
  const isUnsaid = fault.endsWith('by an exception');
  const says =
    variable !== undefined
      ? `Set ${wanted} in LMCache's configuration (${variable}=…), as the sentence asks`
      : (byException(reason) ??
        (isUnsaid
          ? 'Read the last line of the traceback above "degraded mode", and correct what it names'
          : reason === ''
            ? "Complete LMCache's configuration: enable_controller needs lmcache_instance_id, controller_pull_url, controller_reply_url, lmcache_worker_ports; enable_p2p also p2p_host and its ports"
            : `Correct what the sentence names (${reason})`));
  return {
    says: `${says}, and restart the engine`,
    why: `LMCache is off until the engine starts again: nothing is stored or found, each prompt is computed, and later lines only say that it is unhealthy.${
      reason === '' && !isUnsaid
        ? ' A reason that is empty is an assertion of its configuration; without a controller or peers set enable_controller and enable_p2p to false.'
        : ''
    }`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      ...(variable === undefined ? [] : [environmentOf('each engine', `${variable}=VALUE`)]),
      'kubectl logs WORKER | grep -B40 "degraded mode" | head -n 60    # the traceback, whose last lines name the reason',
    ],
    verify: [
      'kubectl logs WORKER | grep -c "LMCacheManager initialized successfully"    # 1 for each process of the engine',
    ],
  };
}

function byException(reason: string): string | undefined {
  for (const [exception, says] of BY_EXCEPTION) {
    const match = exception.exec(reason);
    if (match !== null) return says.replaceAll('$1', match[1] ?? '');
  }
  return undefined;
}

/** A pool of huge pages that the node does not have. */
export function hugePages(): ProposedFix {
  return {
    says: 'Reserve huge pages on the node (vm.nr_hugepages, 512 of 2 MiB for each GB) and in the pod (hugepages-2Mi), or set local_cpu_use_hugepages to false (LMCACHE_LOCAL_CPU_USE_HUGEPAGES)',
    why: 'LMCache takes its host memory out of pages that the kernel has set aside. Where there are too few, it gets none.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: ['grep -i hugepages /proc/meminfo    # on the node: HugePages_Free'],
    verify: ['kubectl logs WORKER --since=10m | grep -c "huge pages"    # should be 0'],
  };
}
