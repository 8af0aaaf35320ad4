import { blockSizeMismatch } from './block-size-mismatch.js';
import { cacheChurn } from './cache-churn.js';
import { cacheMemoryMissing } from './cache-memory-missing.js';
import { canaryFailed } from './canary-failed.js';
import type { Cause } from './cause.js';
import { connectorCrashed } from './connector-crashed.js';
import { controlPlaneUnreachable } from './control-plane-unreachable.js';
import { decodeRecomputes } from './decode-recomputes.js';
import { eventsIgnored } from './events-ignored.js';
import { eventsLost } from './events-lost.js';
import { eventsOff } from './events-off.js';
import { eventsUnreachable } from './events-unreachable.js';
import { eventsUnreadable } from './events-unreadable.js';
import { frontendLate } from './frontend-late.js';
import { hashMismatch } from './hash-mismatch.js';
import { hybridBlockSize } from './hybrid-block-size.js';
import { instanceUnknown } from './instance-unknown.js';
import { leasesExpire } from './leases-expire.js';
import { libraryMissing } from './library-missing.js';
import { misreadEvents } from './misread-events.js';
import { modelNotAdded } from './model-not-added.js';
import { noSharedPrefixes } from './no-shared-prefixes.js';
import { notKvRouting } from './not-kv-routing.js';
import { offloadFailed } from './offload-failed.js';
import { otherNamespace } from './other-namespace.js';
import { pairIncompatible } from './pair-incompatible.js';
import { pickerIndexIncomplete } from './picker-index-incomplete.js';
import { programEnded } from './program-ended.js';
import { promptsNotScored } from './prompts-not-scored.js';
import { publisherFailed } from './publisher-failed.js';
import { resultsContradict } from './results-contradict.js';
import { roleMissing } from './role-missing.js';
import { settingsRefused } from './settings-refused.js';
import { sideChannelDead } from './side-channel-dead.js';
import { sideChannelUnreachable } from './side-channel-unreachable.js';
import { tokenMismatch } from './token-mismatch.js';
import { transferPathBroken } from './transfer-path-broken.js';
import { transferSlow } from './transfer-slow.js';
import { transfersFail } from './transfers-fail.js';
import { unsyncedFrontends } from './unsynced-frontends.js';
import { withKnownFaults } from './with-known-faults.js';
import { workersRejected } from './workers-rejected.js';
import { wrongModelCard } from './wrong-model-card.js';

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
