import type { Rule } from './findings/finding.js';
import type { LintRule } from './findings/lint-rule.js';
import { blockSizeMismatch } from './rules/block-size-mismatch.js';
import { blockSizeUnset } from './rules/block-size-unset.js';
import { cacheSettingsUnread } from './rules/cache-settings-unread.js';
import { cacheStoreAddress } from './rules/cache-store-address.js';
import { eventPlaneDiffers } from './rules/event-plane.js';
import { gateWithoutWorkers, missingLabels } from './rules/gates.js';
import { hashAlgorithmDiffers, hashSeedDiffers } from './rules/hashes.js';
import { kustomizationRefused } from './rules/kustomization-refused.js';
import { kvBothDeprecated } from './rules/kv-both.js';
import { eventsIgnored, kvEventsOff, prefixCachingOff } from './rules/kv-events.js';
import { kvawareWithoutLmcache, lmcacheChunkSize } from './rules/lmcache.js';
import { pairSettings } from './rules/pair-settings.js';
import { pickerIndexEmpty } from './rules/picker-index.js';
import { pickerModelDiffers } from './rules/picker-model.js';
import { POOL_RULES } from './rules/pools.js';
import { indexerBlockSize, routerBlockSizeDefault } from './rules/router-block-size.js';
import { routerSettingsUnread } from './rules/router-settings-unread.js';
import { sideChannelHost, sideChannelPort } from './rules/side-channel.js';
import { sideChannelClosed } from './rules/side-channel-closed.js';
import { sidecarDeadlock } from './rules/sidecar-deadlock.js';
import { transferBufferSize } from './rules/transfer-buffer.js';
import { unknownSizeFlag } from './rules/unknown-size-flag.js';
import { unreadable } from './rules/unreadable.js';
import { workerCardDiffers } from './rules/worker-card-differs.js';

/** The rules that look at fleets. */
export const FLEET_RULES: readonly LintRule[] = [
  blockSizeUnset,
  blockSizeMismatch,
  workerCardDiffers,
  transferBufferSize,
  unknownSizeFlag,
  routerBlockSizeDefault,
  indexerBlockSize,
  kvEventsOff,
  prefixCachingOff,
  eventsIgnored,
  routerSettingsUnread,
  eventPlaneDiffers,
  pickerIndexEmpty,
  pickerModelDiffers,
  hashSeedDiffers,
  hashAlgorithmDiffers,
  kvawareWithoutLmcache,
  lmcacheChunkSize,
  cacheSettingsUnread,
  pairSettings,
  sideChannelHost,
  sideChannelPort,
  kvBothDeprecated,
  sidecarDeadlock,
  missingLabels,
  gateWithoutWorkers,
];

/** Every rule about manifests and shell commands, in the order of the documentation. */
export const RULES: readonly Rule[] = [
  ...FLEET_RULES.map(({ rule }) => rule),
  sideChannelClosed,
  cacheStoreAddress,
  ...POOL_RULES.map(({ rule }) => rule),
  kustomizationRefused,
  unreadable,
];
