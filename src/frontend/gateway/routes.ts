import type { IncomingMessage, ServerResponse } from 'node:http';

/** Answers a request. `rest` is what a path has in place of the `*` of its route, decoded; empty where there is none. */
export type RouteHandler = (request: IncomingMessage, response: ServerResponse, rest: string) => void;

/** What stands on a path: its handlers by method. */
type Methods = Map<string, RouteHandler>;

/** A route with one `*`, which stands for one or more characters. */
interface Pattern {
  readonly before: string;
  readonly after: string;
  readonly methods: Methods;
}

/** What was found for a request. */
export type FoundRoute =
  | { readonly kind: 'handler'; readonly handler: RouteHandler; readonly rest: string }
  /** The path is there, for other methods: `GET, HEAD`. */
  | { readonly kind: 'other_methods'; readonly allow: string }
  | { readonly kind: 'nothing' }
  /** A percent sign that begins nothing. */
  | { readonly kind: 'unreadable' };

/**
 * Finds the handler of a request line: fixed paths by a look in a table, then
 * the few patterns in the order in which they were added. Fixed paths are compared
 * decoded, patterns as they were sent; upper and lower case and slashes at the end count.
 */
export class Routes {
  readonly #fixed = new Map<string, Methods>();
  readonly #patterns: Pattern[] = [];

  /** `path` may have one `*`. GET holds for HEAD too. */
  add(method: 'DELETE' | 'GET' | 'POST', path: string, handler: RouteHandler): void {
    const methods = this.#methodsOf(path);
    methods.set(method, handler);
    if (method === 'GET') methods.set('HEAD', handler);
  }

  find(method: string, url: string): FoundRoute {
    const raw = pathOf(url);
    const path = raw.includes('%') ? decode(raw, decodeURI) : raw;
    if (path === undefined) return { kind: 'unreadable' };
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return choose(fixed, method, '');
    let others: FoundRoute = { kind: 'nothing' };
    for (const { before, after, methods } of this.#patterns) {
      if (raw.length <= before.length + after.length || !raw.startsWith(before) || !raw.endsWith(after))
        continue;
      const rest = decode(raw.slice(before.length, raw.length - after.length), decodeURIComponent);
      if (rest === undefined) return { kind: 'unreadable' };
      const found = choose(methods, method, rest);
      if (found.kind === 'handler') return found;
      if (others.kind === 'nothing') others = found;
    }
    return others;
  }

  #methodsOf(path: string): Methods {
    const star = path.indexOf('*');
    if (star === -1) {
      const methods = this.#fixed.get(path) ?? new Map();
      this.#fixed.set(path, methods);
      return methods;
    }
    const before = path.slice(0, star);
    const after = path.slice(star + 1);
    const known = this.#patterns.find((pattern) => pattern.before === before && pattern.after === after);
    if (known !== undefined) return known.methods;
    const methods: Methods = new Map();
    this.#patterns.push({ before, after, methods });
    return methods;
  }
}

/** The path of a request line as it was sent: without its query, and without the host of an absolute one. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  const path = end === -1 ? url : url.slice(0, end);
  return path.startsWith('/') ? path : path.replace(/^[a-z]+:\/\/[^/]*/i, '') || '/';
}

function choose(methods: Methods, method: string, rest: string): FoundRoute {
  const handler = methods.get(method);
  return handler === undefined
    ? { kind: 'other_methods', allow: [...methods.keys()].join(', ') }
    : { kind: 'handler', handler, rest };
}

function decode(text: string, by: (text: string) => string): string | undefined {
  try {
    return by(text);
  } catch {
    // Not UTF-8, or a percent sign without two digits.
    return undefined;
  }
}
