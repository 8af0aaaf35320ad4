import type { ProposedFix } from '../diagnosis.js';
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
import { cacheOnAgain } from './lmcache-starts.js';
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
import {
  askStore,
  hugePages,
  laterVersion,
  passwordOfStore,
  peersReachEachOther,
  readReason,
  steadyServer,
} from './unclear-caches.js';

/** The repair of one fault, given all faults that were seen. */
type Repair = (fault: string, faults: readonly string[]) => ProposedFix;

/** What repairs which fault of a cache behind an engine: the first that fits, causes before what follows of them. */
const REPAIRS: readonly (readonly [fault: RegExp, repair: Repair])[] = [
  [/other versions/, sameVersions],
  [/switched itself off/, cacheOnAgain],
  [/health check fails|switched its store off/, storeOnAgain],
  [/does not take/, laterVersion],
  [/not those that were stored/, trustNoBlocks],
  [/GPUDirect Storage/, (_fault, faults) => directStorage(faults.some((one) => one.startsWith('KVBM')))],
  [/at a time than its buffer/, smallerBatches],
  [/does not resolve/, nameThatResolves],
  [/memory registered|memory of the engine registered/, sameMemory],
  [/^InfiniStore.*(?:ended|network device)/, usableDevice],
  [/refuses the password/, passwordOfStore],
  [/no leading master/, masterThatLeads],
  [/^Mooncake answers too late/, masterInTime],
  [/answers too late/, askStore],
  [/misses heartbeats/, steadyServer],
  [/LMCache's lookup /, answerLookups],
  [/LMCache's transfer buffer/, largerTransferBuffer],
  [/runs without its storage/, readReason],
  [/no adapter for the URL/, fittingUrl],
  [/ends each connection/, speakTls],
  [/went away while/, storeThatStays],
  [/^LMCache's remote store.*not reached/, reachRemoteStore],
  [/could not load its adapter/, loadAdapter],
  [/another client of this name/, ownName],
  [/takes no memory of this client/, memoryOfClient],
  [/not reached/, reachStore],
  [/reach its peers/, peersReachEachOther],
  [/does not know this engine/, registerAgain],
  [/know the disk/, knowDisk],
  [/does not offload to disks/, offloadOnBothSides],
  [/writes nothing to its SSD/, segmentOfOneName],
  [/more slowly/, diskInTime],
  [/no room on its disk/, roomOnDisk],
  [/misses a file/, keptFolder],
  [/folder on disk|3FS/, usableFolder],
  [/another chunk size/, sameChunks],
  [/huge pages/, hugePages],
  [/clients do not move blocks/, clientsReachEachOther],
  [/out of step/, oneRelease],
  [/no room/, moreRoom],
  [/gives less/, keepWhatIsListed],
];

/** The repair of what was seen of caches behind engines. */
export function repairCache(faults: readonly string[]): ProposedFix {
  for (const [pattern, repair] of REPAIRS) {
    const fault = faults.find((one) => pattern.test(one));
    if (fault !== undefined) return repair(fault, faults);
  }
  return readReason(faults[0] ?? '');
}
