import { askedUrl } from '../../edge/platform/net/http-get.js';
import {
  EngineKind,
  EngineState,
  EvidenceSource,
  ServingAddress_Protocol,
} from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet } from '../facts/fact-sheet.js';
import { JsonReader } from '../facts/json-reader.js';
import { parseJsonObject } from '../facts/parse-json-object.js';
import { ask } from './ask.js';
import { identifyEngine } from './identify-engine.js';
import { type EngineProbe, ProbeError } from './probe.js';
import type { RecognisableEngine } from './recognition.js';

/**
 * `/v1/models`, which every engine with an OpenAI server has: what is served
 * under which names, what the engine is, and that it answers.
 */
export const openaiModels: EngineProbe = {
  name: 'openai-models',
  engineKind: undefined,
  origin: ({ httpBaseUrl }) => (httpBaseUrl === undefined ? undefined : askedUrl(`${httpBaseUrl}/v1/models`)),
  async probe(target, modules, signal) {
    const base = target.httpBaseUrl ?? '';
    const url = `${base}/v1/models`;
    const sheet = new FactSheet({
      source: EvidenceSource.ENGINE_HTTP,
      origin: askedUrl(url),
      observedAtMs: modules.clock.wallMs(),
    });
    try {
      const answer = await ask(url, modules, signal);
      readModels(answer.body, sheet, modules.engines);
    } catch (cause) {
      if (!(cause instanceof ProbeError) || cause.code !== 'not_ready') throw cause;
      sheet.field('engine.state', EngineState.STARTING, 'status 503');
      return sheet.answer();
    }
    sheet.field('engine.state', EngineState.READY, 'status 200');
    const address = { protocol: ServingAddress_Protocol.OPENAI_HTTP, address: base };
    sheet.field('engine.serving_addresses', [address], 'status 200');
    // What an unknown engine calls itself says nothing of it: many imitate another one's answers.
    if (target.engineKind === EngineKind.OTHER) return sheet.answer();
    try {
      // Without the given kind: what the engine says of itself is worth more than what the operator believes.
      const { kind, reason } = await identifyEngine({ httpBaseUrl: base }, modules, signal);
      sheet.field('engine.kind', kind, reason);
    } catch (cause) {
      if (!(cause instanceof ProbeError)) throw cause;
      if (target.engineKind !== undefined) return sheet.answer();
      // As the error says it, which names the address itself.
      const { facts, warnings } = sheet.answer();
      return { facts, warnings: [...warnings, cause.message] };
    }
    return sheet.answer();
  },
};

/** Reads the text of `/v1/models`. Throws a `ProbeError` when it is no list of models. */
function readModels(text: string, sheet: FactSheet, engines: readonly RecognisableEngine[]): void {
  const list = new JsonReader(parseJsonObject(text, sheet.origin), sheet);
  const models = list.children('data');
  if (models === undefined) {
    throw new ProbeError('bad_answer', sheet.origin, 'has no list of models in the field data');
  }
  const names: string[] = [];
  const adapters: string[] = [];
  for (const model of models) {
    const id = model.text('id');
    // A LoRA adapter names the model that it stands on as its parent.
    if (id !== undefined) (model.has('parent') ? adapters : names).push(id);
  }
  const base = models.find((model) => !model.has('parent'));
  if (names.length > 0) sheet.field('model.served_names', names, `data[].id: ${JSON.stringify(names)}`);
  if (adapters.length > 0)
    sheet.field('model.lora_adapters', adapters, `data[].id: ${JSON.stringify(adapters)}`);
  if (base === undefined) return;
  const owner = base.text('owned_by');
  const isRepeated = engines.some(
    ({ recognition }) =>
      recognition.repeatsServedName === true && owner !== undefined && recognition.owners.includes(owner),
  );
  if (!isRepeated) sheet.field('model.root', base.text('root'), base.raw('root'));
  sheet.field('model.max_model_len', base.whole('max_model_len'), base.raw('max_model_len'));
}
