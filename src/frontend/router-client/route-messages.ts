import { packTokenIds } from '../../fleet/indexer/prompt-hashes.js';
import {
  type Pairing,
  ROUTING_ERROR_CODES,
  type RouteRequest,
  RoutingError,
  type SeenTransfer,
  type Usage,
} from '../../fleet/router/routing.js';
import { MAX_EVENTS } from '../../fleet/router/service/attached-client.js';
import { fromReason } from '../../fleet/router/service/served-messages.js';
import type {
  NotRouted,
  ReservePairRequest,
  ReserveRequest,
  RouteEvent,
  RouteUsage,
} from '../../gen/kvaccord/v1/router.js';
import { internalError, overloadedError } from '../errors/gateway-errors.js';

/** Bytes of one message: below gRPC's 4 MiB, with room for the longest names. */
const MAX_MESSAGE_BYTES = 3 * 1024 * 1024;

/** Prompts of more tokens are routed by load alone, because their ids would not fit into a message. */
const MAX_SENT_TOKENS = 768 * 1024;

/** Targets that one request excludes, as the router's own bound. */
const MAX_EXCLUDED = 16_384;

/** Characters of what failed a transfer. */
const MAX_FAILURE_CHARS = 200;

/** Bytes of an event beside its token ids and excluded targets; a rough figure is enough. */
const EVENT_BYTES = 256;

/** The same of an image beside its identifier. */
const MEDIA_BYTES = 16;

/** Says that a request cannot be split: an empty list stands for all. */
const NO_PROTOCOL = 'none';

/** The wire takes counts and times alone. */
export function boundTransfer({
  transferredTokens,
  recomputedTokens,
  durationMs,
  failure,
}: SeenTransfer): SeenTransfer {
  return {
    transferredTokens: isCount(transferredTokens) ? transferredTokens : 0,
    recomputedTokens: isCount(recomputedTokens) ? recomputedTokens : 0,
    durationMs: Number.isFinite(durationMs) ? durationMs : 0,
    failure: failure?.slice(0, MAX_FAILURE_CHARS),
  };
}

/** What asks for two workers, or for one where two cannot share the request. */
export function toReservePair(
  request: ReserveRequest,
  { protocols, isUnsplit = false }: Pairing,
): ReservePairRequest {
  return {
    request,
    unsplit: isUnsplit,
    transferProtocols: protocols.length === 0 ? [NO_PROTOCOL] : [...protocols],
  };
}

/** What asks for one worker. */
export function toReserve(request: RouteRequest): ReserveRequest {
  const { group, tokens, loraName, cacheSalt, media, isPrefix, cacheUse, sessionHash, excluded } = request;
  const isSent = tokens !== undefined && tokens.length <= MAX_SENT_TOKENS;
  return {
    group,
    prompt:
      !isSent && loraName === ''
        ? undefined
        : {
            form: isSent ? { $case: 'packedTokenIds', value: packTokenIds(tokens) } : undefined,
            loraName,
            cacheSalt,
            ...(isSent && media !== undefined ? { media: { items: [...media] } } : {}),
            ...(isSent && isPrefix === true ? { isPrefix } : {}),
          },
    excludedTargets: excluded.length <= MAX_EXCLUDED ? [...excluded] : excluded.slice(-MAX_EXCLUDED),
    ...(cacheUse === 'unread' ? { prefixCacheUnread: true } : {}),
    ...(cacheUse === 'several' ? { severalAnswers: true } : {}),
    ...(sessionHash === undefined ? {} : { sessionHash }),
  };
}

/** An engine may report any number; the wire takes counts. */
export function toUsage(usage: Usage | undefined): RouteUsage {
  if (usage === undefined || !isCount(usage.promptTokens)) return {};
  const { promptTokens, cachedTokens, outputTokens } = usage;
  return {
    promptTokens,
    cachedTokens: cachedTokens !== undefined && isCount(cachedTokens) ? cachedTokens : undefined,
    outputTokens: outputTokens !== undefined && isCount(outputTokens) ? outputTokens : undefined,
  };
}

/** Why the router of another process has reserved nothing. */
export function toError({ code, message, reasons }: NotRouted): Error {
  if (code === 'too_many_reservations') return overloadedError();
  const known = ROUTING_ERROR_CODES.find((each) => each === code);
  return known === undefined ? internalError() : new RoutingError(known, message, reasons.map(fromReason));
}

/** How many events from the front go into one message: at least one. */
export function countThatFit(queue: readonly RouteEvent[]): number {
  let sizeBytes = 0;
  let count = 0;
  for (const { event } of queue) {
    if (event?.$case === 'reserve') sizeBytes += reserveBytes(event.value);
    else if (event?.$case === 'reservePair' && event.value.request !== undefined)
      sizeBytes += reserveBytes(event.value.request);
    else sizeBytes += EVENT_BYTES;
    if (count > 0 && sizeBytes > MAX_MESSAGE_BYTES) break;
    count += 1;
    if (count === MAX_EVENTS) break;
  }
  return count;
}

function reserveBytes({ prompt, excludedTargets }: ReserveRequest): number {
  const form = prompt?.form;
  let sizeBytes = EVENT_BYTES + (form?.$case === 'packedTokenIds' ? form.value.length : 0);
  for (const target of excludedTargets) sizeBytes += target.length;
  for (const { identifier } of prompt?.media?.items ?? []) sizeBytes += identifier.length + MEDIA_BYTES;
  return sizeBytes;
}

/** Whether the wire takes it. */
export function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
}
