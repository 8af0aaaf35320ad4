import { EngineKind } from '../../../gen/kvaccord/v1/capabilities.js';

/** What a connector takes of two workers that are not set up alike. */
export interface ConnectorRule {
  /**
   * Widths of blocks: `equal` alone; `decode_multiple`: a decode worker fetches into blocks that are a multiple of the
   * prefill worker's; `unknown` where no source says.
   */
  readonly blockSizes: 'equal' | 'decode_multiple' | 'unknown';
  /** Why another width is refused, for an operator. */
  readonly blockSizeReason: string;
  /** Whether both engines and connectors must have one version. */
  readonly needsOneVersion: boolean;
  /** Whether a decode worker can be set to put blocks of heads first into its own of tokens first. */
  readonly canPermute: boolean;
}

/**
 * vLLM's NIXL connector: `TransferTopology.block_size_ratio` asserts that the
 * decode engine's blocks are a multiple (32 into 64 was seen to work), its
 * compatibility hash covers its own version and vLLM's, and
 * `_validate_remote_agent_handshake` takes another layout with
 * `enable_permute_local_kv` alone (vLLM 0.32).
 */
const NIXL: ConnectorRule = {
  blockSizes: 'decode_multiple',
  blockSizeReason: "NIXL needs blocks of the decode worker that are a multiple of the prefill worker's",
  needsOneVersion: true,
  canPermute: true,
};

/** SGLang refuses any other page size: `Page size mismatch` (`disaggregation/common/conn.py`, 0.5). */
const SGLANG: ConnectorRule = {
  blockSizes: 'equal',
  blockSizeReason: 'SGLang exchanges pages of one size alone',
  needsOneVersion: false,
  canPermute: false,
};

const OTHER: ConnectorRule = {
  blockSizes: 'unknown',
  blockSizeReason: 'whether this connector takes blocks of two widths is not known',
  needsOneVersion: false,
  canPermute: false,
};

/** The rule of a connector as an engine of that kind runs it. */
export function connectorRuleOf(connector: string | undefined, engineKind: EngineKind): ConnectorRule {
  if (engineKind === EngineKind.SGLANG || connector?.startsWith('sglang-') === true) return SGLANG;
  return connector === 'nixl' ? NIXL : OTHER;
}

/**
 * How requests are sent to two engines of which one computes the prompt and the other goes on from its KV blocks:
 * - `nixl`: first to the prefill engine, whose answer has what the decode engine needs (vLLM's `kv_transfer_params`);
 * - `bootstrap`: to both at the same time, with an address at which they meet (SGLang's `bootstrap_host`).
 */
export const TRANSFER_PROTOCOLS = ['nixl', 'bootstrap'] as const;

/** One of `TRANSFER_PROTOCOLS`. */
export type TransferProtocol = (typeof TRANSFER_PROTOCOLS)[number];

/**
 * The protocol of a connector as an engine of that kind runs it; undefined for none that is spoken here. Of a connector that
 * is not named (empty) the first request shows whether it is the usual one of its engine.
 */
export function transferProtocolOf(connector: string, engineKind: EngineKind): TransferProtocol | undefined {
  if (engineKind === EngineKind.SGLANG) return 'bootstrap';
  return engineKind === EngineKind.VLLM && (connector === '' || connector === 'nixl') ? 'nixl' : undefined;
}
