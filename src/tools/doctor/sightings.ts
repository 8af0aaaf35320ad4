import type { SettingName, Side, SizeBasis } from '../../engines/diagnosis/sighting-words.js';

/** Where something was read: shown beside every clue, so that a person can look for themselves. */
export interface Origin {
  /** `frontend.log:1204`, `http://127.0.0.1:8000/metrics`, `deploy/graph.yaml:14:9`, `pod inference/vllm-0, log`. */
  readonly place: string;
  /** The raw text, at most `MAX_ORIGIN_CHARS`, without secrets and prompts. */
  readonly text: string;
}

/** Longest raw text that an origin keeps. */
export const MAX_ORIGIN_CHARS = 300;

/** A block size that was seen somewhere. */
export interface SizeSighting {
  readonly side: Side;
  /** The worker, pod, component or model that it belongs to; empty when not known. */
  readonly who: string;
  readonly tokensPerBlock: number;
  /** The model that it is of; undefined where the source names none or several. */
  readonly model?: string;
  readonly basis: SizeBasis;
  readonly origin: Origin;
}

/** A setting that was seen somewhere; the value as it was written. */
export interface SettingSighting {
  readonly side: Side;
  readonly who: string;
  readonly name: SettingName;
  readonly value: string;
  /** True when nothing was set and this is the program's own default. */
  readonly isDefault: boolean;
  readonly origin: Origin;
}

/** The memory of one GPU. */
export interface GpuSighting {
  /** The worker, pod or host; empty when not known. */
  readonly who: string;
  readonly index: number;
  readonly product: string;
  readonly totalBytes: number;
  readonly usedBytes: number | undefined;
  readonly origin: Origin;
}
