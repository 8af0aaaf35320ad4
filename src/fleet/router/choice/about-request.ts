/** What a choice goes by beside the prompt. */
export interface AboutRequest {
  /** Targets of those excluded that do not have its LoRA adapter. */
  readonly lacking?: readonly string[];
  /** Targets of those excluded that are ejected. */
  readonly barred?: readonly string[];
  /** See `RouteRequest`. */
  readonly sessionHash?: number | undefined;
  /** See `RouteRequest`. */
  readonly fallbacks?: number | undefined;
}
