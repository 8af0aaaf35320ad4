import { blockSizeMismatch } from './causes/block-size-mismatch.js';
import { cacheChurn } from './causes/cache-churn.js';
import { cacheMemoryMissing } from './causes/cache-memory-missing.js';
import { canaryFailed } from './causes/canary-failed.js';
import type { Cause } from './causes/cause.js';
import { connectorCrashed } from './causes/connector-crashed.js';
import { controlPlaneUnreachable } from './causes/control-plane-unreachable.js';
import { decodeRecomputes } from './causes/decode-recomputes.js';
import { eventsIgnored } from './causes/events-ignored.js';
import { eventsLost } from './causes/events-lost.js';
import { eventsOff } from './causes/events-off.js';
import { eventsUnreachable } from './causes/events-unreachable.js';
import { eventsUnreadable } from './causes/events-unreadable.js';
import { frontendLate } from './causes/frontend-late.js';
import { hashMismatch } from './causes/hash-mismatch.js';
import { hybridBlockSize } from './causes/hybrid-block-size.js';
import { instanceUnknown } from './causes/instance-unknown.js';
import { leasesExpire } from './causes/leases-expire.js';
import { libraryMissing } from './causes/library-missing.js';
import { misreadEvents } from './causes/misread-events.js';
import { modelNotAdded } from './causes/model-not-added.js';
import { noSharedPrefixes } from './causes/no-shared-prefixes.js';
import { notKvRouting } from './causes/not-kv-routing.js';
import { offloadFailed } from './causes/offload-failed.js';
import { otherNamespace } from './causes/other-namespace.js';
import { pairIncompatible } from './causes/pair-incompatible.js';
import { pickerIndexIncomplete } from './causes/picker-index-incomplete.js';
import { programEnded } from './causes/program-ended.js';
import { promptsNotScored } from './causes/prompts-not-scored.js';
import { publisherFailed } from './causes/publisher-failed.js';
import { resultsContradict } from './causes/results-contradict.js';
import { roleMissing } from './causes/role-missing.js';
import { settingsRefused } from './causes/settings-refused.js';
import { sideChannelDead } from './causes/side-channel-dead.js';
import { sideChannelUnreachable } from './causes/side-channel-unreachable.js';
import { tokenMismatch } from './causes/token-mismatch.js';
import { transferPathBroken } from './causes/transfer-path-broken.js';
import { transferSlow } from './causes/transfer-slow.js';
import { transfersFail } from './causes/transfers-fail.js';
import { unsyncedFrontends } from './causes/unsynced-frontends.js';
import { withKnownFaults } from './causes/with-known-faults.js';
import { workersRejected } from './causes/workers-rejected.js';
import { wrongModelCard } from './causes/wrong-model-card.js';

const CAUSES: readonly Cause[] = [
  blockSizeMismatch,
  wrongModelCard,
  workersRejected,
  hashMismatch,
  tokenMismatch,
  misreadEvents,
  eventsOff,
  eventsUnreachable,
  publisherFailed,
  eventsUnreadable,
  pickerIndexIncomplete,
  promptsNotScored,
  pairIncompatible,
  sideChannelUnreachable,
  sideChannelDead,
  roleMissing,
  leasesExpire,
  transferSlow,
  instanceUnknown,
  modelNotAdded,
  controlPlaneUnreachable,
  settingsRefused,
  libraryMissing,
  transferPathBroken,
  offloadFailed,
  cacheMemoryMissing,
  connectorCrashed,
  programEnded,
  transfersFail,
  decodeRecomputes,
  canaryFailed,
  resultsContradict,
  eventsLost,
  frontendLate,
  cacheChurn,
  otherNamespace,
  hybridBlockSize,
  unsyncedFrontends,
  notKvRouting,
  eventsIgnored,
  noSharedPrefixes,
];

/** All that can be wrong, each also by the sentences of its known faults. */
export const ALL_CAUSES: readonly Cause[] = CAUSES.map(withKnownFaults);
