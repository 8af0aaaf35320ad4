import type { HashHalves } from '../../../core/blocks/packed-hashes.js';
import type { Tier } from '../../../core/blocks/tier.js';
import type { EngineEvent } from '../decode/engine-event.js';
import { readExtras } from '../decode/media.js';
import type { EventResult } from './event-counts.js';
import type { GroupBlocks, GroupModules } from './group-blocks.js';

/** Where a store goes, once it has passed all that is asked of the event as a whole. */
export interface StorePlan {
  readonly tier: Tier;
  readonly tokensPerBlock: number;
  readonly namespace: number;
  readonly seed: HashHalves;
  /** Hashes of media by block; undefined when there are none. */
  readonly media: readonly (readonly HashHalves[])[] | undefined;
  /** Blocks from this one on are kept out, for `hiddenWhy`. */
  readonly hiddenFrom: number;
  readonly hiddenWhy: EventResult;
}

/** Settles the namespace: that of the event, with what the block at `base` hands down; -1 where none does. */
export function planStore(
  { namespaces, reader, hasher }: Pick<GroupModules, 'namespaces' | 'reader' | 'hasher'>,
  { mirror }: GroupBlocks,
  event: EngineEvent,
  tier: Tier,
  base: number,
): StorePlan {
  const { tokensPerBlock } = event;
  const inherited = base < 0 ? undefined : namespaces.at(mirror.namespace(base));
  const own = { loraName: event.loraName ?? '', cacheSalt: event.cacheSalt ?? '' };
  const loraName = own.loraName || (inherited?.loraName ?? '');
  const knownSalt = own.cacheSalt || (inherited?.cacheSalt ?? '');
  const extras = readExtras(reader, event, { loraName, knownSalt, hasher });
  const id = namespaces.idOf(loraName, extras.cacheSalt ?? knownSalt);
  const namespace = id ?? 0;
  const shared = {
    tier,
    tokensPerBlock,
    namespace,
    seed: namespaces.at(namespace)?.seed ?? { lo: 0, hi: 0 },
    media: extras.media,
  };
  const disowned =
    inherited !== undefined && (inherited.loraName !== loraName || inherited.cacheSalt !== knownSalt);
  if (disowned) return { ...shared, hiddenFrom: 0, hiddenWhy: 'ambiguous_salt' };
  if (event.hasLoraId && loraName === '' && !event.nameTooLong) {
    return { ...shared, hiddenFrom: 0, hiddenWhy: 'unnamed_lora' };
  }
  if (event.nameTooLong || id === undefined) {
    return { ...shared, hiddenFrom: 0, hiddenWhy: 'namespace_refused' };
  }
  const hiddenFrom = Math.min(extras.unknownFrom, event.unidentifiedFrom);
  return { ...shared, hiddenFrom, hiddenWhy: 'media_identity_unknown' };
}
