import type { ProposedFix } from '../diagnosis.js';
import { CACHE_FAULT_KINDS, type CacheFaultKind, cacheFaultKind } from '../logs/general/cache-fault-kinds.js';
import { keptFolder, roomOnDisk, usableFolder } from './cache-disks.js';
import {
  directStorage,
  moreRoom,
  nameThatResolves,
  oneRelease,
  reachStore,
  registerAgain,
  sameChunks,
  sameMemory,
  smallerBatches,
  storeOnAgain,
  usableDevice,
} from './cache-stores.js';
import { withoutPart } from './lmcache-parts.js';
import { peersReachEachOther, steadyServer } from './lmcache-servers.js';
import { cacheOnAgain, hugePages } from './lmcache-starts.js';
import { answerLookups, largerTransferBuffer } from './lmcache-waits.js';
import {
  clientsReachEachOther,
  diskInTime,
  knowDisk,
  masterInTime,
  masterThatLeads,
  memoryOfClient,
  offloadOnBothSides,
  ownName,
  sameVersions,
  segmentOfOneName,
  trustNoBlocks,
} from './mooncake-store.js';
import {
  fittingUrl,
  keepWhatIsListed,
  loadAdapter,
  reachRemoteStore,
  speakTls,
  storeThatStays,
} from './remote-store.js';
import { askStore, laterVersion, passwordOfStore } from './store-answers.js';

/** The repair of one fault, given all faults that were seen. */
type Repair = (fault: string, faults: readonly string[]) => ProposedFix;

/** What repairs which fault of a cache behind an engine. */
const REPAIRS: Readonly<Record<CacheFaultKind, Repair>> = {
  other_versions: sameVersions,
  switched_off: cacheOnAgain,
  store_switched_off: storeOnAgain,
  unhealthy: storeOnAgain,
  not_taken: laterVersion,
  foreign_blocks: trustNoBlocks,
  direct_storage: (_fault, faults) => directStorage(faults.some((one) => one.startsWith('KVBM'))),
  batch_too_large: smallerBatches,
  name_unresolved: nameThatResolves,
  memory_unregistered: sameMemory,
  device_unusable: usableDevice,
  server_ended: usableDevice,
  password_refused: passwordOfStore,
  no_leader: masterThatLeads,
  master_late: masterInTime,
  store_late: askStore,
  server_comes_back: steadyServer,
  lookup_unanswered: answerLookups,
  lookup_late: answerLookups,
  lookup_stuck: answerLookups,
  transfer_buffer_late: largerTransferBuffer,
  transfer_buffer_full: largerTransferBuffer,
  storage_off: readReason,
  no_adapter: fittingUrl,
  connection_ended: speakTls,
  store_gone: storeThatStays,
  remote_unreached: reachRemoteStore,
  adapter_unloaded: loadAdapter,
  name_taken: ownName,
  memory_not_taken: memoryOfClient,
  connection_closed: reachStore,
  unreached: reachStore,
  peers_unreached: peersReachEachOther,
  engine_unknown: registerAgain,
  disk_unknown: knowDisk,
  disk_not_offered: offloadOnBothSides,
  ssd_unused: segmentOfOneName,
  disk_slow: diskInTime,
  disk_full: roomOnDisk,
  file_missing: keptFolder,
  folder_unusable: usableFolder,
  chunks_differ: sameChunks,
  no_huge_pages: hugePages,
  clients_do_not_move: clientsReachEachOther,
  out_of_step: oneRelease,
  full: moreRoom,
  no_room_for_peers: moreRoom,
  gives_less: keepWhatIsListed,
  moves_nothing: readReason,
  part_fails: withoutFailingPart,
};

/** The repair of what was seen of caches behind engines: of the first kind that there is. */
export function repairCache(faults: readonly string[]): ProposedFix {
  for (const kind of CACHE_FAULT_KINDS) {
    const fault = faults.find((one) => cacheFaultKind(one) === kind);
    if (fault !== undefined) return REPAIRS[kind](fault, faults);
  }
  return readReason(faults[0] ?? '');
}

/** Faults whose reason only the line itself has. */
function readReason(fault: string): ProposedFix {
  const [program = 'the cache'] = /^[A-Z]\w+/.exec(fault) ?? [];
  return {
    says: `Read the first error of ${program} and what stands right before it, on the engine and at the store: kubectl logs WORKER | grep -n -m20 -i ${program.toLowerCase()}. Until it is repaired the engine can run without the cache`,
    why: 'The cache reports that blocks were not moved, and its first line has the reason: what follows repeats it for each block.',
    disturbs: 'nothing',
    files: [],
    commands: [
      `kubectl logs WORKER | grep -n -m20 -iE "error|fail|${program.toLowerCase()}"    # the first of them`,
      'kubectl get pods -A | grep -iE "mooncake|lmcache|kvcache|redis|infinistore"    # AGE and RESTARTS of the store',
    ],
    verify: ['kubectl logs WORKER --since=10m | grep -ciE "error|failed"    # stands still'],
  };
}

/** A part of a cache that fails in words of its own. */
function withoutFailingPart(fault: string): ProposedFix {
  const [program = 'the cache', file = ''] = fault.split(' fails in ');
  const name = file.split('/').at(-1) ?? file;
  const wayOut =
    program === 'LMCache' ? withoutPart(file) : `start the engine without ${program} in --kv-transfer-config`;
  return {
    says: `Repair what the first error of ${name}.py names, with the exception below it, on the engine and at its server; until then ${wayOut}`,
    why: `${program} goes on after such an error, and the engine computes the prompts again: what is stored there is not found, or nothing is stored.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      `kubectl logs WORKER | grep -n -m5 -A20 "ERROR.*${name}.py"    # the first of them, with its exception`,
    ],
    verify: [`kubectl logs WORKER --since=10m | grep -c "ERROR.*${name}.py"    # 0`],
  };
}
