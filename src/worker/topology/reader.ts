import type { Host } from '../../edge/platform/processes/host.js';
import type { Topology } from '../../gen/kvaccord/v1/capabilities.js';

/** What one reader found. Parts are merged by GPU uuid or PCI bus id, never by index. */
export interface TopologyPart {
  readonly topology: Topology;
  /**
   * Why this source has no GPU, such as `nvidia-smi not on PATH`. Becomes the
   * note `no GPU found: nvidia-smi not on PATH` when no source has one.
   */
  readonly absent?: string;
  /**
   * Whether the source shows the GPUs of the whole host also inside a
   * container. Such a part adds to GPUs that others found, and makes GPUs of
   * its own only when no other source has any. Default false.
   */
  readonly wholeHost?: boolean;
}

/**
 * Reads one source of topology. "Not here" is a fact and belongs into
 * `absent`; what is there but cannot be understood rejects, and becomes a note
 * while the other readers go on.
 */
export interface TopologyReader {
  /** `nvidia-smi-query`; unique. */
  readonly name: string;
  read(host: Host, signal: AbortSignal): Promise<TopologyPart>;
}

/** A source that is there but says what cannot be understood. */
export class TopologyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TopologyError';
  }
}
