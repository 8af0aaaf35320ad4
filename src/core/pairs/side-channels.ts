import type { PairClass } from './pair-words.js';

/** What the decode side found of a prefill worker's side channel. */
export type ChannelAnswer =
  /** A question is on its way: no request goes over it meanwhile. */
  | { readonly state: 'pending' }
  | { readonly state: 'reachable' }
  /** `address` is that of the rank that cannot be reached; absent: of the first. */
  | { readonly state: 'unreachable'; readonly reason: string; readonly address?: string }
  /** It could not be asked: an older sidecar, or none. */
  | { readonly state: 'unknown'; readonly reason: string };

/** A question for the sidecar beside a decode engine: can the side channel be connected to from there. */
export interface ChannelQuestion {
  readonly prefillTarget: string;
  readonly prefillInstanceId: string;
  /** For all decode workers of this class it is asked once. */
  readonly class: PairClass;
  /** Who is to be asked. */
  readonly decodeTarget: string;
  /** HOST:PORT of each data-parallel rank, by rank; never none. A request may go to any of them. */
  readonly addresses: readonly string[];
}
