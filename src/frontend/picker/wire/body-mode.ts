import { ProcessingMode_BodySendMode as Mode } from '../../../gen/envoy/extensions/filters/http/ext_proc/v3/processing_mode.js';
import type { ProtocolConfiguration } from '../../../gen/envoy/service/ext_proc/v3/external_processor.js';

/** How a body comes from a gateway, and how each piece is answered. */
export type BodyMode =
  /** It does not come. */
  | 'none'
  /** Each piece is answered; what stands before it goes on first. */
  | 'streamed'
  /** In one piece, whose answer may still change the headers; the rest of a partial one does not come. */
  | 'buffered'
  /** Pieces are sent back, and nothing goes on before they are. */
  | 'full_duplex';

/** How the two bodies of one request come. */
export interface BodyModes {
  readonly request: BodyMode;
  readonly response: BodyMode;
  /** Whether the pieces of a `streamed` request come before its headers were answered. */
  readonly sendsBodyEarly: boolean;
}

/**
 * Reads what the gateway says of itself in its first message. One that says
 * nothing is taken as the Inference Extension asks of its gateways: full duplex.
 */
export function bodyModesOf(config: ProtocolConfiguration | undefined): BodyModes {
  if (config === undefined) return { request: 'full_duplex', response: 'full_duplex', sendsBodyEarly: true };
  return {
    request: modeOf(config.requestBodyMode),
    response: modeOf(config.responseBodyMode),
    sendsBodyEarly: config.sendBodyWithoutWaitingForHeaderResponse,
  };
}

function modeOf(mode: ProtocolConfiguration['requestBodyMode']): BodyMode {
  switch (mode) {
    case Mode.NONE:
      return 'none';
    case Mode.STREAMED:
      return 'streamed';
    case Mode.BUFFERED:
    case Mode.BUFFERED_PARTIAL:
      return 'buffered';
    default:
      // Of a mode that only a newer gateway has, sending pieces back is what the newer ones expect.
      return 'full_duplex';
  }
}
