import { askedUrl } from '../../edge/platform/net/http-get.js';
import type { EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet } from '../facts/fact-sheet.js';
import { ask } from './ask.js';
import { requireKind } from './identify-engine.js';
import type { EngineProbe, ProbeTarget } from './probe.js';
import { httpOrigin } from './probe-origin.js';

/** One path of one engine, and how its answer is read. */
export interface HttpProbeOptions {
  readonly name: string;
  readonly engineKind: EngineKind;
  /** With its query, if it has one: `/server_info`. */
  readonly path: string;
  /** Largest answer, in bytes; default the client's own bound. */
  readonly maxBodyBytes?: number;
  /** What the answer counts as. */
  readonly source: EvidenceSource;
  /** States what the body says. Throws a `ProbeError` when it is not of the right form. */
  readonly read: (body: string, sheet: FactSheet, target: ProbeTarget) => void;
}

/**
 * A probe that asks one path of one engine, and only once the engine is known
 * to be that one: the same path may drain something in another.
 */
export function httpProbe({
  name,
  engineKind,
  path,
  maxBodyBytes,
  source,
  read,
}: HttpProbeOptions): EngineProbe {
  return {
    name,
    engineKind,
    origin: httpOrigin(engineKind, path),
    async probe(target, modules, signal) {
      const url = `${target.httpBaseUrl}${path}`;
      const origin = askedUrl(url);
      await requireKind([engineKind], target, modules, signal, origin);
      const answer = await ask(url, modules, signal, maxBodyBytes);
      const sheet = new FactSheet({ source, origin, observedAtMs: modules.clock.wallMs() });
      read(answer.body, sheet, target);
      return sheet.answer();
    },
  };
}
