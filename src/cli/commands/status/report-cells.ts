import { UNKNOWN_SHARE } from '../../../core/contract/topology/unknown-share.js';
import { engineKindName, engineRoleName } from '../../../core/contract/wire/names.js';
import {
  type CapabilityReport,
  EngineKind,
  EngineRole,
  type Topology,
} from '../../../gen/kvaccord/v1/capabilities.js';

/** Its engine: `vLLM 0.32.0`; `-` where none is known. */
export function engineOf(report: CapabilityReport | undefined): string {
  const engine = report?.engine;
  if (engine === undefined || engine.kind === EngineKind.UNSPECIFIED) return '-';
  return `${engineKindName(engine.kind)} ${engine.version}`.trim();
}

/** Whether it computes only a part of each request. */
export function isSplit(report: CapabilityReport | undefined): boolean {
  const role = report?.engine?.role ?? EngineRole.UNSPECIFIED;
  return role !== EngineRole.UNSPECIFIED && role !== EngineRole.AGGREGATED;
}

/** Its role; `-` where it has none. */
export function roleOf(report: CapabilityReport | undefined): string {
  const role = report?.engine?.role;
  return role === undefined || role === EngineRole.UNSPECIFIED ? '-' : engineRoleName(role);
}

/** Its GPUs: `8 x NVIDIA H100`; `-` where none is known. */
export function gpusOf(topology: Topology | undefined): string {
  const gpus = topology?.gpus ?? [];
  if (gpus.length === 0) return '-';
  const names = [...new Set(gpus.map(({ productName }) => productName))].join(', ');
  const isUnknown = topology?.notes.some((note) => note.startsWith(UNKNOWN_SHARE)) === true;
  return `${isUnknown ? 'some of ' : ''}${gpus.length} x ${names}`;
}
