import type { IncomingMessage } from 'node:http';
import { AnswerBudget } from '../../core/agreement/view/readiness.js';
import type { Reason } from '../../core/agreement/view/snapshot.js';
import { type HttpAnswer, jsonAnswer, textAnswer } from '../../edge/http/answer.js';
import type { Probe, ProbeBoard } from '../../edge/http/probe-board.js';
import type { Clock } from '../../edge/platform/clock.js';
import type { Catalogue } from '../../fleet/catalogue/catalogue.js';
import { notRoutedError, type OpenAiError } from '../errors/openai-error.js';
import { currentModels } from './current-models.js';
import type { EngineModels } from './engine-models.js';
import { cardOf, type FoundModel, type ModelCard, type Models } from './models.js';
import { isServable } from './readiness.js';

export interface GatewayPagesModules {
  readonly clock: Clock;
  readonly catalogue: () => Catalogue;
  readonly engineModels: EngineModels;
  readonly probes: ProbeBoard;
  /** Why no request can be taken at present. Absent: there is no such reason. */
  readonly findProblem?: (() => OpenAiError | undefined) | undefined;
  /** Whether no new requests are taken. */
  readonly isDraining: () => boolean;
}

/** What the gateway itself answers about what is served. */
export class GatewayPages {
  readonly #modules: GatewayPagesModules;
  readonly #startedSeconds: number;
  /** The models of what is served now. */
  readonly currentModels: () => Models;

  constructor(modules: GatewayPagesModules) {
    this.#modules = modules;
    this.currentModels = currentModels(modules.catalogue);
    this.#startedSeconds = Math.floor(modules.clock.wallMs() / 1_000);
  }

  /** `/livez` and `/readyz`; a drain is seen in the second. */
  answerProbe(name: Probe, { url = '' }: IncomingMessage): HttpAnswer {
    if (name === 'readyz' && this.#modules.isDraining())
      return textAnswer(503, '[-]drain shutting down\nreadyz check failed');
    return this.#modules.probes.answer(name, hasInQuery(url, 'verbose'));
  }

  health(): HttpAnswer {
    const { groups, reasons } = this.#modules.catalogue();
    const isReady = !this.#modules.isDraining() && groups.some(isServable);
    const budget = new AnswerBudget();
    const texts = (all: readonly Reason[]): string[] => budget.clipAll(all.map(({ text }) => text));
    return jsonAnswer(isReady ? 200 : 503, {
      status: isReady ? 'ready' : this.#modules.isDraining() ? 'draining' : 'not_ready',
      reasons: texts(reasons),
      models: groups.map((group) => ({
        model: group.group,
        ready: isServable(group),
        workers: group.workers.filter(({ isOffered }) => isOffered).length,
        reasons: texts(group.reasons),
      })),
    });
  }

  async listModels(): Promise<HttpAnswer> {
    const data = await Promise.all(this.currentModels().listed.map((found) => this.#cardOf(found)));
    return jsonAnswer(200, { object: 'list', data });
  }

  async #cardOf({ model, group }: FoundModel): Promise<ModelCard> {
    const cards = await this.#modules.engineModels.cardsOf(group);
    return cardOf(model, this.#startedSeconds, cards.get(model.name));
  }

  async showModel(name: string): Promise<HttpAnswer> {
    const problem = this.#modules.findProblem?.();
    if (problem !== undefined) throw problem;
    const found = this.currentModels().find(name);
    const { isReady, reasons } = found.group;
    if (!isReady) throw notRoutedError({ code: 'gate_shut', reasons });
    return jsonAnswer(200, await this.#cardOf(found));
  }
}

/** Whether a query has a name, with a value or without. */
function hasInQuery(url: string, name: string): boolean {
  const at = url.indexOf('?');
  return at !== -1 && new URLSearchParams(url.slice(at)).has(name);
}
