import type { TransferProtocol } from '../../../core/contract/transfer/connector-rules.js';
import { type Candidate, PARTS } from '../choice/candidates.js';
import type { RoutedPrompt } from '../choice/survey.js';
import { WHOLE_REQUESTS } from '../choice/weighed-ranks.js';
import type { AboutRequest, Choice, WorkerSelector } from '../choice/worker-selector.js';
import type { Pairing, UnsplitReason } from '../routing.js';
import { type DecodeLinks, protocolBits } from './decode-links.js';
import type { PairKnowledge } from './pair-knowledge.js';

/** How requests are split between prefill and decode workers. */
export interface PairOptions {
  /** What a millisecond of an expected transfer counts against an active block. Not negative; default 1. */
  readonly transferWeight: number;
  /** Prompts of which fewer tokens are to be computed go to one worker. Default 256. */
  readonly minPrefillTokens: number;
}

/**
 * A millisecond counts as much as an active block: 10,000 tokens of a large model over NVLink count little then, and over TCP
 * more than another request of their length. Below 256 tokens a second request and a handshake take longer than computing them.
 */
export const DEFAULT_PAIR_OPTIONS: PairOptions = { transferWeight: 1, minPrefillTokens: 256 };

/** Where a request goes that two workers may share. */
export type PairChoice =
  | { readonly type: 'whole'; readonly choice: Choice; readonly unsplit: UnsplitReason }
  | {
      readonly type: 'pair';
      readonly prefill: Choice;
      readonly decode: Choice;
      readonly protocol: TransferProtocol;
      readonly bootstrapAddress: string;
      readonly expectedTransferMs: number | undefined;
      readonly transferredTokens: number | undefined;
    };

/** What a request is split by. */
export interface AskedPair {
  readonly prompt: RoutedPrompt | undefined;
  /** Its length where it is known; also without its hashes. */
  readonly tokenCount: number | undefined;
  readonly excluded: readonly string[];
  readonly about: AboutRequest;
  readonly pairing: Pairing;
}

export interface PairModules {
  readonly selector: WorkerSelector;
  /** What is known of pairs. Undefined: nothing, and every one may be used. */
  readonly pairs: PairKnowledge | undefined;
  /** Kept from one request to the next. */
  readonly links: DecodeLinks;
  readonly options: PairOptions;
}

/** Prefill workers that are looked at before a request goes to one worker, because none of them has a partner. */
const MAX_TRIES = 8;

/**
 * Chooses one worker or two. The prefill worker is chosen as ever, by what is cached there and by load, from those that
 * serve whole requests as well; then its decode worker by load and by what the transfer of what is missing there takes. What
 * is too short for a transfer goes to one worker. Undefined where there is none. Counts nothing.
 */
export function choosePair(asked: AskedPair, modules: PairModules): PairChoice | undefined {
  const { selector } = modules;
  const { prompt, pairing } = asked;
  selector.look(prompt);
  if (pairing.protocols.length === 0) return whole(asked, 'request', modules);
  if (pairing.isUnsplit === true) {
    const alone = whole(asked, 'fallback', modules);
    if (alone !== undefined) return alone;
  } else {
    const small = smallOne(asked, modules);
    if (small !== undefined) return small;
  }
  return pair(asked, modules) ?? whole(asked, 'no_pair', modules);
}

function whole(asked: AskedPair, unsplit: UnsplitReason, { selector }: PairModules): PairChoice | undefined {
  const choice = selector.chooseIn(WHOLE_REQUESTS, asked.prompt, asked.excluded, asked.about);
  return choice === undefined ? undefined : { type: 'whole', choice, unsplit };
}

/** A worker that serves whole requests, with those that could stand in for it: they need not be of its kind. */
function aggregated(
  choice: Choice,
  { prompt, excluded, about: { fallbacks } }: AskedPair,
  { selector }: PairModules,
): PairChoice {
  if (fallbacks === undefined) return { type: 'whole', choice, unsplit: 'aggregated' };
  const others = selector.nextBestIn(WHOLE_REQUESTS, choice, prompt, excluded, fallbacks);
  const decided = { ...choice.decided, fallbacks: others };
  return { type: 'whole', choice: { ...choice, decided }, unsplit: 'aggregated' };
}

/** One worker, where a prompt is short, or little of it is to be computed there. */
function smallOne(asked: AskedPair, modules: PairModules): PairChoice | undefined {
  const { prompt, tokenCount } = asked;
  const { selector, options } = modules;
  const promptTokens = prompt?.tokenCount ?? tokenCount;
  if (promptTokens === undefined || prompt?.isPrefix === true) return undefined;
  if (promptTokens < options.minPrefillTokens) return whole(asked, 'short', modules);
  const minBlocks = options.minPrefillTokens / selector.tokensPerBlock;
  if (prompt === undefined || !selector.hasNearlyAll(PARTS.whole, minBlocks)) return undefined;
  const found = whole(asked, 'cached', modules);
  if (found?.type !== 'whole') return undefined;
  const missing = selector.missingBlocks(found.choice.place) * selector.tokensPerBlock;
  return missing < options.minPrefillTokens ? found : undefined;
}

function pair(asked: AskedPair, modules: PairModules): PairChoice | undefined {
  const { selector, links } = modules;
  const { prompt, about, pairing } = asked;
  links.follow(selector);
  const protocols = protocolBits(pairing.protocols);
  const canSpeak = (place: number): boolean => links.isWholeOrSpeaks(place, protocols);
  const without = [...asked.excluded];
  // Who could stand in is asked of those that can answer the client: a prefill worker cannot.
  const aboutPrefill = { ...about, fallbacks: undefined };
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const prefill = selector.chooseIn(
      { parts: PARTS.prefill | PARTS.aggregated, mayUse: canSpeak },
      prompt,
      without,
      aboutPrefill,
    );
    if (prefill === undefined) return undefined;
    const { candidate } = prefill.decided;
    const { split } = candidate;
    if (split === undefined) return aggregated(prefill, asked, modules);
    const decode = chooseDecode(candidate, split.protocol, asked, modules);
    if (decode !== undefined)
      return {
        type: 'pair',
        prefill,
        ...decode,
        protocol: split.protocol,
        bootstrapAddress: split.bootstrapAddresses.get(candidate.rank) ?? '',
      };
    without.push(candidate.target);
  }
  return undefined;
}

function chooseDecode(
  { target: prefillTarget }: Candidate,
  protocol: TransferProtocol,
  { prompt, tokenCount, excluded, about }: AskedPair,
  { selector, pairs, links, options: { transferWeight } }: PairModules,
):
  | { decode: Choice; expectedTransferMs: number | undefined; transferredTokens: number | undefined }
  | undefined {
  links.look(pairs, prefillTarget);
  const bits = protocolBits([protocol]);
  const { tokensPerBlock } = selector;
  const tokensTo = (place: number): number | undefined =>
    prompt === undefined ? tokenCount : Math.round(selector.missingBlocks(place) * tokensPerBlock);
  const decode = selector.chooseIn(
    {
      parts: PARTS.decode,
      mayUse: (place) => links.mayUse(place, bits),
      costAt: (place) =>
        selector.activeBlocks(place) + transferWeight * links.transferMs(place, tokensTo(place) ?? 0),
    },
    prompt,
    excluded,
    about,
  );
  if (decode === undefined) return undefined;
  const transferredTokens = tokensTo(decode.place);
  return {
    decode,
    transferredTokens,
    expectedTransferMs:
      transferredTokens === undefined ? undefined : links.transferMs(decode.place, transferredTokens),
  };
}
