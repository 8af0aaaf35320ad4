import { askedUrl } from '../../edge/platform/net/http-get.js';
import { EngineKind, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet } from '../facts/fact-sheet.js';
import { JsonReader } from '../facts/json-reader.js';
import { parseJsonObject } from '../facts/parse-json-object.js';
import { ask } from '../probing/ask.js';
import { engineHost } from '../probing/event-endpoint.js';
import { requireKind } from '../probing/identify-engine.js';
import { type EngineProbe, type HttpAnswer, ProbeError, type ProbeModules } from '../probing/probe.js';
import { httpOrigin } from '../probing/probe-origin.js';
import { readSglangInfo } from './info.js';

const PATH = '/server_info';
/** The path before it was renamed; newer versions answer it too and log a warning, so it comes second. */
const OLDER_PATH = '/get_server_info';

/**
 * `/server_info` of SGLang. The engine asks every scheduler for it, so one
 * probe round asks it once.
 */
export const sglangServerInfo: EngineProbe = {
  name: 'sglang-server-info',
  engineKind: EngineKind.SGLANG,
  origin: httpOrigin(EngineKind.SGLANG, PATH),
  async probe(target, modules, signal) {
    const base = target.httpBaseUrl ?? '';
    await requireKind([EngineKind.SGLANG], target, modules, signal, askedUrl(base + PATH));
    const { url, answer } = await askEither(base, modules, signal);
    const sheet = new FactSheet({
      source: EvidenceSource.ENGINE_HTTP,
      origin: askedUrl(url),
      observedAtMs: modules.clock.wallMs(),
    });
    readSglangInfo(
      new JsonReader(parseJsonObject(answer.body, sheet.origin), sheet),
      engineHost(target),
      sheet,
    );
    return sheet.answer();
  },
};

async function askEither(
  base: string,
  modules: ProbeModules,
  signal: AbortSignal,
): Promise<{ readonly url: string; readonly answer: HttpAnswer }> {
  try {
    return { url: base + PATH, answer: await ask(base + PATH, modules, signal) };
  } catch (cause) {
    if (!(cause instanceof ProbeError) || cause.code !== 'not_here') throw cause;
    return { url: base + OLDER_PATH, answer: await ask(base + OLDER_PATH, modules, signal) };
  }
}
