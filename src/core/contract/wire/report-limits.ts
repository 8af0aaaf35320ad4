/*
 * The bounds of a report. A sidecar keeps its own report inside them
 * (`bound-report.ts`), and no reader accepts one from outside that is not.
 */

/** Longest name of a worker, instance, model or source that is believed. */
export const MAX_NAME_CHARS = 512;
/** Longest free text (raw evidence, reasons) that is believed; sidecars cut theirs to 512. */
export const MAX_TEXT_CHARS = 4_096;

/** Bytes of the token ids of one probe: 1,024 ids. Real ones have fewer than 600. */
export const MAX_PROBE_ID_BYTES = 4_096;

/** How often each list may occur in one report; real reports stay far below. */
export const MAX_COUNTS = {
  apis: 64,
  servedNames: 64,
  loraAdapters: 4_096,
  tokenProbes: 64,
  blockSizes: 64,
  cacheGroups: 64,
  evidence: 256,
  conflicts: 256,
  kvEventSources: 1_024,
  warnings: 64,
  probes: 64,
  gpus: 256,
  links: 65_536,
  nics: 256,
  numaNodes: 1_024,
  notes: 256,
  reasons: 64,
  topologyDomains: 64,
  canaryResults: 16,
  sideChannels: 1_024,
} as const;
