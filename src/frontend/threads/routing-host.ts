import type { Logger } from '../../edge/platform/logger.js';
import { type Route, type RouteRequest, type Routing, RoutingError } from '../../fleet/router/routing.js';
import type { RouteAnswer, RouteMessage } from './messages.js';

export interface RoutingHostOptions {
  /** Routes at a time that another process may have. */
  readonly maxRoutes: number;
}

export interface RoutingHostModules {
  readonly routing: Routing;
  readonly logger: Logger;
  answer(answer: RouteAnswer): void;
}

/** The routes of one other process, here where they are decided. All of them end with it. */
export class RoutingHost {
  readonly #options: RoutingHostOptions;
  readonly #modules: RoutingHostModules;
  /** Undefined while it is being decided. */
  readonly #routes = new Map<number, Route | undefined>();
  #isClosed = false;

  constructor(options: RoutingHostOptions, modules: RoutingHostModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Routes that are not released. */
  get open(): number {
    return this.#routes.size;
  }

  /** What the other process says of a route; false where that cannot be. */
  take(message: RouteMessage): boolean {
    if (this.#isClosed) return true;
    const { id } = message;
    if (message.type === 'route') {
      if (this.#routes.has(id) || this.#routes.size >= this.#options.maxRoutes) return false;
      this.#routes.set(id, undefined);
      void this.#decide(id, message.request);
      return true;
    }
    const route = this.#routes.get(id);
    if (route === undefined) return false;
    switch (message.type) {
      case 'prefill_done':
        route.prefillDone();
        return true;
      case 'progress':
        route.progress(message.outputTokens);
        return true;
      case 'release':
        this.#routes.delete(id);
        route.release(message.usage);
        return true;
    }
  }

  /** The other process is gone: whatever it had is released. */
  close(): void {
    this.#isClosed = true;
    for (const route of this.#routes.values()) route?.release();
    this.#routes.clear();
  }

  async #decide(id: number, request: RouteRequest): Promise<void> {
    const { routing, answer } = this.#modules;
    let route: Route;
    try {
      route = await routing.route(request);
    } catch (error) {
      if (this.#isClosed) return;
      this.#routes.delete(id);
      answer(this.#refusalOf(id, error));
      return;
    }
    if (this.#isClosed) {
      route.release();
      return;
    }
    this.#routes.set(id, route);
    answer({ type: 'routed', id, decision: route.decision });
  }

  #refusalOf(id: number, error: unknown): RouteAnswer {
    if (error instanceof RoutingError) {
      const { code, message, reasons } = error;
      return { type: 'not_routed', id, code, message, reasons };
    }
    this.#modules.logger.error({ error }, 'No worker could be chosen for a request');
    return { type: 'failed', id };
  }
}
