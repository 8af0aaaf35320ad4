import type { ProposedFix } from '../diagnosis.js';
import { environmentOf } from './lines.js';

/** `redis:6379` of a fault that names it. */
function storeOf(fault: string): { readonly host: string; readonly port: string } {
  const [, host = 'HOST', port = '6379'] = /remote store ([\w.-]{1,121}):(\d{2,5})/.exec(fault) ?? [];
  return { host, port };
}

const VERIFY = [
  'kubectl logs WORKER --since=10m | grep -cE "Remote connection failed in|remote connection:|Connection is None"    # should be 0',
];
const WITHOUT =
  'LMCache runs within the engine and goes on without the store behind it: each lookup there counts as a miss, and prompts are computed again.';

/** The store behind LMCache that does not answer at its address. */
export function reachRemoteStore(fault: string): ProposedFix {
  const { host, port } = storeOf(fault);
  return {
    says: `Have the store behind LMCache run at ${host}:${port} and let the engines reach it (kubectl get pods,svc; NetworkPolicy, security group), or write the address of the one that runs into remote_url (LMCACHE_REMOTE_URL) and restart the engines`,
    why: `${WITHOUT} An address is read as the engine starts; a store that comes back at the same one is found without a restart.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl get pods,svc -A | grep -iE "redis|valkey|lmcache|mooncake"    # running, and under which name and port',
      `kubectl exec WORKER -- sh -c "nc -zv ${host} ${port}"    # open from the pod of the engine`,
    ],
    verify: VERIFY,
  };
}

/** A store that ends each connection: it speaks TLS, and its client does not, or the other way round. */
export function speakTls(fault: string): ProposedFix {
  const { host, port } = storeOf(fault);
  return {
    says: `Write rediss://USER:PASSWORD@${host}:${port} into remote_url (LMCACHE_REMOTE_URL) where this store takes TLS alone, as managed ones of clouds do, and restart the engines; redis:// where it takes none`,
    why: `${WITHOUT} A server that expects TLS resets a connection that begins without it, and the other way round. Where both ends agree, the store was restarted, is over its limit of clients, or something between ends idle connections.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      `redis-cli --tls -h ${host} -p ${port} ping    # PONG, or a demand for a password: it speaks TLS`,
      `redis-cli -h ${host} -p ${port} ping    # PONG: it does not`,
      environmentOf(
        'each engine',
        `LMCACHE_REMOTE_URL=rediss://USER:PASSWORD@${host}:${port}`,
        'out of a Secret',
      ),
    ],
    verify: VERIFY,
  };
}

/** A URL of a kind that this LMCache does not have. */
export function fittingUrl(): ProposedFix {
  return {
    says: 'Write a URL into remote_url (LMCACHE_REMOTE_URL) whose scheme this LMCache has (redis://, rediss://, redis-sentinel://, lm://, mooncakestore://, infinistore://, s3://, fs://), or run a later LMCache that has it, and restart the engines',
    why: `${WITHOUT} The scheme chooses the adapter. One that is misspelt, or that another version brought, has none.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl exec WORKER -- sh -c "env | grep LMCACHE_REMOTE_URL; pip list | grep -i lmcache"    # the scheme, and the version that is there',
    ],
    verify: VERIFY,
  };
}

/** A store that was there and has ended, or was restarted. */
export function storeThatStays(): ProposedFix {
  return {
    says: "See what ended the store behind LMCache (kubectl describe pod STORE: OOMKilled, exit code 137), and give it memory for all that the engines write, or a store that evicts: redis:// with maxmemory and maxmemory-policy allkeys-lru, or s3://, in remote_url (LMCACHE_REMOTE_URL); LMCache's own server (lm://) evicts nothing",
    why: `${WITHOUT} A pipe breaks where the other end closed a connection that had worked: the store was restarted, ended for memory, or closes idle connections. An engine connects again by itself, and writes into an empty store.`,
    disturbs: 'nothing',
    files: [],
    commands: [
      'kubectl get pods -A | grep -iE "redis|valkey|lmcache|mooncake"    # restarts of the store',
      'kubectl describe pod STORE | grep -A4 "Last State"    # OOMKilled, exit code 137',
    ],
    verify: VERIFY,
  };
}

/** An adapter that every LMCache has, and that this process could not import. */
export function loadAdapter(): ProposedFix {
  return {
    says: 'Install what the line "Failed to import module …_adapter" names into the image of the engine (or an LMCache of the release that belongs to its PyTorch and vLLM), and restart the engine',
    why: `${WITHOUT} LMCache has an adapter for this scheme, and looks for adapters as it connects: one whose module cannot be imported is left out with a warning, and its URLs have none.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs WORKER | grep -E "Failed to (import module|instantiate adapter)|Discovered adapter"    # which one is missing, and why',
    ],
    verify: VERIFY,
  };
}

/** Blocks that are listed and do not come, where no line speaks of room. */
export function keepWhatIsListed(fault: string): ProposedFix {
  const isMooncake = fault.startsWith('Mooncake');
  return {
    says: isMooncake
      ? 'Restart the store clients that the master lists and that are gone, then the master where it still lists their keys, check that all ranks of the engine reach the same storage, and with evictions in its log give Mooncake a larger global_segment_size (MOONCAKE_GLOBAL_SEGMENT_SIZE)'
      : 'Find the store that lists blocks and does not give them (local CPU, disk, or the one behind LMCACHE_REMOTE_URL), restart it and the engines, and check that all ranks of the engine reach the same storage; engines on one host need an lmcache_rpc_port each (kv_connector_extra_config); more LMCACHE_MAX_LOCAL_CPU_SIZE=GB only where lines speak of evictions',
    why: `A lookup asks for names alone.${isMooncake ? '' : ' Engines on one host with the same lmcache_rpc_port share a socket below /tmp, and the other one answers the lookup of what it has itself: nothing comes then, and without a wait.'} What a client that has gone held, what one of several ranks never stored, and what was evicted between lookup and load is listed and does not come: the prompt is computed again, and hits that were counted did not happen.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs WORKER | grep -m10 -iE "retrieved|be retrieved|keys out of|not found|evict|no room|allocate"    # how much came, of which rank, and whether room is missing',
      'kubectl get pods -A | grep -iE "mooncake|lmcache|redis|valkey"    # AGE and RESTARTS of what holds the blocks',
      ...(isMooncake
        ? [
            'kubectl logs MOONCAKE_MASTER | grep -m5 -oE "Clients: [0-9]+|client .{0,60}expired"    # as many clients as run',
          ]
        : []),
    ],
    verify: [
      'kubectl logs WORKER --since=10m | grep -cE "be retrieved|retrieved tokens is less|keys not found|Failed to get"    # should be 0',
    ],
  };
}
