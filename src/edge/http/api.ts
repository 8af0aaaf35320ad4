import { type HttpAnswer, jsonAnswer } from './answer.js';

/** A JSON schema (2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What an API handler is given. */
export interface ApiRequest {
  /** What stands for `{name}` in the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

/** One thing that can be asked with GET. */
export interface ApiRoute {
  /** Below `/api/v1`: `/workers`, `/groups/{group}`. */
  readonly path: string;
  /** One line for the OpenAPI document. */
  readonly summary: string;
  /** What a good answer looks like. */
  readonly response: JsonSchema;
  /** Names in the query, each with what it means. */
  readonly query?: Readonly<Record<string, string>>;
  /** The value to send as JSON, or a text that is JSON already (`MadeJson`); throws an `ApiError` to refuse. */
  handle(request: ApiRequest): unknown;
}

/** JSON that was made before, for many callers. */
export class MadeJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A refusal that the caller gets, with a reason from a closed list. */
export class ApiError extends Error {
  /** 400 to 599. */
  readonly status: number;
  /** For programs: `unknown_group`. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
  }
}

const BASE = '/api/v1';

/** The JSON API: the caller's routes and the document that describes them. */
export class Api {
  readonly #routes: readonly { readonly route: ApiRoute; readonly segments: readonly string[] }[];
  readonly #document: HttpAnswer;

  constructor(routes: readonly ApiRoute[], about: { readonly title: string; readonly version: string }) {
    this.#routes = routes.map((route) => ({ route, segments: route.path.split('/').slice(1) }));
    this.#document = jsonAnswer(200, describe(routes, about));
  }

  /** Answers a path below `/api`; rejects with what a handler throws beside an `ApiError`. */
  async answer(url: URL): Promise<HttpAnswer> {
    if (url.pathname === `${BASE}/openapi.json`) return this.#document;
    const asked = url.pathname.startsWith(`${BASE}/`) ? url.pathname.slice(BASE.length + 1).split('/') : [];
    for (const { route, segments } of this.#routes) {
      const params = match(segments, asked);
      if (params === undefined) continue;
      try {
        const value = await route.handle({ params, query: url.searchParams });
        return value instanceof MadeJson
          ? { status: 200, contentType: 'application/json', body: value.text }
          : jsonAnswer(200, value);
      } catch (error) {
        if (error instanceof ApiError) return errorAnswer(error.status, error.reason, error.message);
        throw error;
      }
    }
    return errorAnswer(404, 'not_found', `nothing is here; ${BASE}/openapi.json lists what is`);
  }
}

/** The form of every refusal of the API. */
export function errorAnswer(status: number, reason: string, message: string): HttpAnswer {
  return jsonAnswer(status, { error: { reason, message } });
}

function match(
  segments: readonly string[],
  asked: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (segments.length !== asked.length) return undefined;
  const params: [string, string][] = [];
  for (const [index, segment] of segments.entries()) {
    const text = asked[index] ?? '';
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined) {
      if (segment !== text) return undefined;
      continue;
    }
    const value = decode(text);
    if (value === undefined || value === '') return undefined;
    params.push([name, value]);
  }
  return Object.fromEntries(params);
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that begins nothing: no name has one.
    return undefined;
  }
}

const ERROR_SCHEMA: JsonSchema = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['reason', 'message'],
      properties: {
        reason: { type: 'string', description: 'For programs; from a closed list.' },
        message: { type: 'string', description: 'For people.' },
      },
    },
  },
};

function describe(
  routes: readonly ApiRoute[],
  about: { readonly title: string; readonly version: string },
): unknown {
  return {
    openapi: '3.1.0',
    info: about,
    servers: [{ url: BASE }],
    security: [{}, { bearer: [] }],
    paths: Object.fromEntries(routes.map((route) => [route.path, { get: describeRoute(route) }])),
    components: {
      schemas: { Error: ERROR_SCHEMA },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function describeRoute(route: ApiRoute): unknown {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(route.query ?? {}).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
  }));
  return {
    summary: route.summary,
    operationId: `get${route.path.replace(/[^a-zA-Z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    parameters: [...inPath, ...inQuery],
    responses: {
      200: { description: 'The answer.', content: { 'application/json': { schema: route.response } } },
      default: {
        description: 'Why not.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}
