import { askedUrl } from '../../edge/platform/net/http-get.js';
import type { EngineKind } from '../../gen/kvaccord/v1/capabilities.js';
import type { ProbeTarget } from './probe.js';

/** Whether a probe of `kind` has anything to look for: not when the operator said that the engine is another. */
export function concerns(target: ProbeTarget, kind: EngineKind): boolean {
  return target.engineKind === undefined || target.engineKind === kind;
}

/** The `origin` of a probe that asks one HTTP path of one kind of engine. */
export function httpOrigin(kind: EngineKind, path: string): (target: ProbeTarget) => string | undefined {
  return (target) =>
    target.httpBaseUrl === undefined || !concerns(target, kind)
      ? undefined
      : askedUrl(target.httpBaseUrl + path);
}

/** The `origin` of a probe that calls one service of an engine's own gRPC. */
export function grpcOrigin(kind: EngineKind, service: string): (target: ProbeTarget) => string | undefined {
  return (target) =>
    target.grpcAddress === undefined || !concerns(target, kind)
      ? undefined
      : `gRPC ${target.grpcAddress}/${service}`;
}
