/** How an engine looks for a prefix hit in one KV cache group; see `CacheGroupKind` in `contract/evidence`. */
export type HitKind = 'full_attention' | 'sliding_window' | 'chunked_local' | 'state';

/** One KV cache group of an engine, as far as hits depend on it. */
export interface HitGroup {
  readonly kind: HitKind;
  /** Width of the group's blocks, from 1 to 1,048,576. */
  readonly tokensPerBlock: number;
  /** Of `sliding_window` and `chunked_local`, at least 1; other kinds have none. */
  readonly windowTokens?: number;
  /** The engine takes the last block off the group's hit, because a draft model needs it computed again (EAGLE, MTP). */
  readonly dropsLastBlock: boolean;
}

/** Whether block number `block` (the first is 0) of the prompt is cached in the group at place `group` of the list. */
export type BlockPresence = (group: number, block: number) => boolean;

/** Answers about many blocks of a group that need not look at each; they must agree with `BlockPresence`. */
export interface PresenceShortcuts {
  /** How many leading blocks are cached, at most `limit`. */
  leading(group: number, limit: number): number;
  /** The last cached block up to and including number `block`; -1 for none. */
  last(group: number, block: number): number;
}

/** What is known of the blocks of all groups. */
interface Cached {
  readonly isPresent: BlockPresence;
  readonly shortcuts: PresenceShortcuts | undefined;
}

/** Groups that are looked up together, because all that a hit depends on is the same. */
interface Lookup {
  readonly kind: HitKind;
  readonly width: number;
  readonly window: number;
  readonly drops: boolean;
  /** Places in the list of groups. */
  readonly members: readonly number[];
  /** Hits of these blocks end on a whole number of them: the least common multiple of width and alignment. */
  readonly step: number;
}

/** How an engine finds prefix hits; made once for many prompts, by `hitRules`. */
export interface HitRules {
  readonly alignmentTokens: number;
  /** Full attention first. */
  readonly lookups: readonly Lookup[];
  /** The engine has one group alone, and looks it up once. */
  readonly isSingle: boolean;
}

/**
 * Prepares the look-up in one or more groups, in the order of the engine's own
 * numbers. `alignmentTokens`: hits end on a multiple of it; default the least
 * common multiple of all block widths, which is vLLM's rule.
 */
export function hitRules(groups: readonly HitGroup[], alignmentTokens?: number): HitRules {
  const alignment =
    alignmentTokens ??
    groups.reduce((all, { tokensPerBlock }) => leastCommonMultiple(all, tokensPerBlock), 1);
  const lookups: (Lookup & { readonly members: number[] })[] = [];
  for (const [
    place,
    { kind, tokensPerBlock: width, windowTokens: window = 0, dropsLastBlock },
  ] of groups.entries()) {
    const same = lookups.findIndex(
      (other) => other.kind === kind && other.width === width && other.window === window,
    );
    const drops = dropsLastBlock && kind !== 'chunked_local';
    const found = lookups[same];
    if (found === undefined) {
      const step = leastCommonMultiple(width, alignment);
      lookups.push({ kind, width, window, drops, members: [place], step });
    } else {
      // One member that drops makes all of them drop.
      lookups[same] = { ...found, drops: found.drops || drops, members: [...found.members, place] };
    }
  }
  lookups.sort((a, b) => Number(b.kind === 'full_attention') - Number(a.kind === 'full_attention'));
  return { alignmentTokens: alignment, lookups, isSingle: groups.length === 1 };
}

/**
 * Tokens of the longest cached prefix of a prompt on which all groups of an
 * engine agree; 0 for none, and always less than `promptTokens`, because an
 * engine computes at least the last token of a prompt.
 *
 * The rules are those of vLLM 0.32.0: `find_longest_cache_hit` in
 * `v1/core/kv_cache_coordinator.py` (each group takes the candidate or lowers
 * it, until none lowers it) and in `v1/core/single_type_kv_cache_manager.py`
 * (the hit of one group), and `get_computed_blocks` in
 * `v1/core/kv_cache_manager.py` (the last token). Hits that end inside a block
 * (`partial_hash_hits_enabled`) are not known here.
 */
export function longestHit(
  rules: HitRules,
  isPresent: BlockPresence,
  promptTokens: number,
  shortcuts?: PresenceShortcuts,
): number {
  const cached = { isPresent, shortcuts };
  const { lookups, isSingle } = rules;
  let hit = promptTokens - 1;
  // One pass is enough where full attention bounds a single other kind.
  const isOnePass = isSingle || (lookups.length === 2 && lookups[0]?.kind === 'full_attention');
  /** Of full attention, whose blocks only have to be looked up once: any shorter hit is one as well. */
  let fullHit = Number.POSITIVE_INFINITY;
  /** Bit n: the block that look-up n drops was found above the present candidate. */
  let proven = 0;
  for (let pass = 0; hit > 0; pass += 1) {
    let candidate = hit;
    for (let at = 0; at < lookups.length; at += 1) {
      const lookup = lookups[at] as Lookup;
      if (pass > 0 && lookup.kind === 'full_attention') {
        candidate = Math.min(candidate, fullHit);
        continue;
      }
      const drops = lookup.drops && (proven & (1 << at)) === 0;
      // What is dropped lies above the candidate; a state has no block to drop.
      const hasMargin = drops && !isSingle && lookup.kind !== 'state';
      const limit = hasMargin ? Math.min(candidate + lookup.width, promptTokens) : candidate;
      const found = hitOf(lookup, rules, cached, limit, drops);
      if (drops) proven |= 1 << at;
      else if (found < candidate) proven = 0;
      candidate = found;
      if (lookup.kind === 'full_attention') fullHit = Math.min(fullHit, found);
    }
    if (candidate >= hit) return hit;
    hit = candidate;
    if (isOnePass) return hit;
  }
  return 0;
}

/** Longest hit of one look-up by itself, in tokens, within the first `limit` tokens. */
function hitOf(lookup: Lookup, rules: HitRules, cached: Cached, limit: number, drops: boolean): number {
  const blocks = Math.floor(limit / lookup.width);
  switch (lookup.kind) {
    case 'full_attention':
      return fullAttentionHit(lookup, rules, cached, blocks, drops);
    case 'sliding_window':
      return slidingWindowHit(lookup, cached, blocks, drops);
    case 'chunked_local':
      return chunkedLocalHit(lookup, cached, limit, blocks);
    case 'state':
      return stateHit(lookup, cached, blocks);
  }
}

function fullAttentionHit(
  lookup: Lookup,
  { alignmentTokens }: HitRules,
  cached: Cached,
  blocks: number,
  drops: boolean,
): number {
  let tokens = leadingOf(lookup, cached, blocks) * lookup.width;
  if (drops && tokens > 0) tokens -= Math.min(alignmentTokens, lookup.width);
  return tokens - (tokens % alignmentTokens);
}

/** From the right: the first end before which the whole window is cached, or all there is from the start on. */
function slidingWindowHit(lookup: Lookup, cached: Cached, blocks: number, drops: boolean): number {
  const { width, window, step } = lookup;
  // The token to be computed is in the window itself.
  const needed = Math.max(1, Math.ceil((window - 1) / width) + (drops ? 1 : 0));
  let run = 0;
  for (let block = blocks - 1; block >= 0; block -= 1) {
    if (run === 0) {
      block = lastOf(lookup, cached, block);
      if (block < 0) break;
      if (((drops ? block : block + 1) * width) % step !== 0) continue;
    } else if (!isCached(lookup, cached, block)) {
      run = 0;
      continue;
    }
    run += 1;
    if (run === needed) return (block + run - (drops ? 1 : 0)) * width;
  }
  // Shorter than the window: aligned before and after the last block is dropped.
  const tokens = downTo(step, run * width);
  return drops && tokens > 0 ? downTo(step, tokens - width) : tokens;
}

/** What lies before the chunk in which the candidate ends is never read again, and counts as cached. */
function chunkedLocalHit(lookup: Lookup, cached: Cached, limit: number, blocks: number): number {
  const { width, window } = lookup;
  let held = Math.floor(downTo(window, limit) / width);
  while (held < blocks && isCached(lookup, cached, held)) held += 1;
  return held * width;
}

/** The last aligned end whose state is cached. */
function stateHit(lookup: Lookup, cached: Cached, blocks: number): number {
  const { width, step } = lookup;
  const stride = step / width;
  let end = downTo(stride, blocks);
  while (end > 0) {
    const last = lastOf(lookup, cached, end - 1);
    if (last === end - 1) return end * width;
    end = downTo(stride, last + 1);
  }
  return 0;
}

/** Leading blocks that every member has, at most `limit`. */
function leadingOf(lookup: Lookup, cached: Cached, limit: number): number {
  const { shortcuts } = cached;
  let held = 0;
  if (shortcuts === undefined) {
    while (held < limit && isCached(lookup, cached, held)) held += 1;
    return held;
  }
  const { members } = lookup;
  held = limit;
  for (let at = 0; at < members.length; at += 1) held = shortcuts.leading(members[at] as number, held);
  return held;
}

/** The last block up to and including number `block` that every member has; -1 for none. */
function lastOf(lookup: Lookup, cached: Cached, block: number): number {
  const { shortcuts } = cached;
  const { members } = lookup;
  let last = block;
  while (last >= 0 && !isCached(lookup, cached, last)) {
    if (shortcuts === undefined) last -= 1;
    else for (let at = 0; at < members.length; at += 1) last = shortcuts.last(members[at] as number, last);
  }
  return last;
}

function isCached({ members }: Lookup, { isPresent }: Cached, block: number): boolean {
  // Counted by hand: this runs for each block, and a closure would be made for each.
  for (let at = 0; at < members.length; at += 1) {
    if (!isPresent(members[at] as number, block)) return false;
  }
  return true;
}

function downTo(step: number, tokens: number): number {
  return tokens - (tokens % step);
}

function leastCommonMultiple(a: number, b: number): number {
  let [divisor, rest] = [a, b];
  while (rest !== 0) [divisor, rest] = [rest, divisor % rest];
  return (a / divisor) * b;
}
