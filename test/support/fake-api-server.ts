import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Changes } from './changes.js';

/** An object as the server stores it. */
export interface StoredObject {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string };
  readonly [field: string]: unknown;
}

/** One request as it came. */
export interface SeenRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly authorization: string | undefined;
}

interface HeldEvent {
  readonly version: number;
  readonly collection: string;
  readonly line: string;
}

interface OpenWatch {
  readonly collection: string;
  readonly response: ServerResponse;
}

/** An API server of one process: stores, lists in pages, watches, forgets, refuses and falls silent as a test says. */
export class FakeApiServer {
  /** Called at every request and every watch that ends. */
  readonly changes: Changes = new Changes();
  readonly requests: SeenRequest[] = [];
  /** Tokens that are taken; undefined takes everybody. */
  tokens: ReadonlySet<string> | undefined;
  /** Answers a request itself when it says so with true. */
  intercept: (request: SeenRequest, response: ServerResponse) => boolean = () => false;
  /** Takes requests and gives no answer; open watches say nothing. */
  isMute = false;
  /** Objects of one page, at most; the client's own limit holds as well. */
  pageSize = 500;
  readonly #server: Server;
  readonly #objects = new Map<string, StoredObject>();
  readonly #watches = new Set<OpenWatch>();
  #history: HeldEvent[] = [];
  #port = 0;
  #version = 100;
  #forgottenUpTo = 0;
  #muted: (() => void)[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'kv-accord-kube-'));

  private constructor() {
    this.#server = createServer((request, response) => this.#serve(request, response));
  }

  static async start(): Promise<FakeApiServer> {
    const made = new FakeApiServer();
    await made.restart();
    made.#port = (made.#server.address() as AddressInfo).port;
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** Requests for whole lists, and for watches. */
  get asked(): { readonly lists: number; readonly watches: number } {
    const watches = this.requests.filter(({ query }) => query['watch'] === 'true').length;
    const lists = this.requests.filter(({ query }) => query['limit'] === '500').length;
    return { lists, watches };
  }

  /** Writes a kubeconfig for it; `user` is YAML. */
  kubeconfig(user = '{token: good}'): string {
    const path = join(this.#folder, 'config');
    writeFileSync(
      path,
      `clusters: [{name: c, cluster: {server: '${this.url}'}}]
users: [{name: u, user: ${user}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: kv}}]
current-context: x
`,
    );
    return path;
  }

  /** A path in a folder that goes with it. */
  file(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Stores an object in a collection such as `/api/v1/namespaces/kv/pods`. */
  put(collection: string, name: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const key = `${collection}/${name}`;
    const type = this.#objects.has(key) ? 'MODIFIED' : 'ADDED';
    const { metadata, ...rest } = fields;
    this.#version += 1;
    const object: StoredObject = {
      metadata: {
        name,
        namespace: collection.split('/').at(-2) ?? '',
        ...(metadata as object | undefined),
        resourceVersion: String(this.#version),
      },
      ...rest,
    };
    this.#objects.set(key, object);
    this.#happened(collection, type, object);
  }

  delete(collection: string, name: string): void {
    const key = `${collection}/${name}`;
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.#happened(collection, 'DELETED', { ...object, metadata });
  }

  names(collection: string): string[] {
    return [...this.#objects]
      .filter(([key]) => key.startsWith(`${collection}/`))
      .map(([, { metadata }]) => metadata.name)
      .sort();
  }

  /** Forgets all that has happened: a watch that goes on from before it gets 410. */
  compact(): void {
    this.#forgottenUpTo = this.#version;
    this.#history = [];
  }

  /** Sends every watch a bookmark. */
  bookmark(): void {
    const object = { metadata: { resourceVersion: String(this.#version) } };
    this.write(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
  }

  /** Writes something into every watch. */
  write(text: string): void {
    for (const { response } of this.#watches) response.write(text);
  }

  /** Ends every watch in order. */
  endWatches(): void {
    for (const { response } of this.#watches) response.end();
    this.#watches.clear();
  }

  /** Ends every connection without a word. */
  breakConnections(): void {
    this.#watches.clear();
    this.#server.closeAllConnections();
  }

  /** Hears again, and answers what came meanwhile. */
  unmute(): void {
    this.isMute = false;
    for (const go of this.#muted.splice(0)) go();
  }

  /** Ends the server, with all that it holds kept for `restart` at the same port. */
  async stop(): Promise<void> {
    this.breakConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  restart(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await this.stop();
  }

  #happened(collection: string, type: string, object: StoredObject): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    this.#history.push({ version: this.#version, collection, line });
    for (const watch of this.#watches)
      if (watch.collection === collection) this.#say(() => watch.response.write(line));
  }

  #say(act: () => void): void {
    if (this.isMute) this.#muted.push(act);
    else act();
  }

  #serve(incoming: IncomingMessage, response: ServerResponse): void {
    const url = new URL(incoming.url ?? '/', 'http://server');
    const request: SeenRequest = {
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      authorization: incoming.headers.authorization,
    };
    this.requests.push(request);
    this.#say(() => {
      if (!this.intercept(request, response)) this.#answer(request, response);
    });
    this.changes.notify();
  }

  #answer({ path, query, authorization }: SeenRequest, response: ServerResponse): void {
    const token = authorization?.replace(/^Bearer /, '') ?? '';
    const isWatch = query['watch'] === 'true';
    const single = this.#objects.get(path);
    if (this.tokens !== undefined && !this.tokens.has(token)) refuse(response, 401, 'Unauthorized');
    else if (single !== undefined) answer(response, single);
    else if (isWatch) this.#watch(path, Number(query['resourceVersion']), response);
    else if (!path.endsWith('s')) refuse(response, 404, `"${path}" not found`);
    else this.#list(path, query, response);
  }

  #list(path: string, query: SeenRequest['query'], response: ServerResponse): void {
    const all = this.names(path);
    const from = Number(query['continue'] ?? 0);
    const size = Math.min(this.pageSize, Number(query['limit'] ?? this.pageSize));
    const rest = all.length > from + size ? { continue: String(from + size) } : {};
    answer(response, {
      metadata: { resourceVersion: String(this.#version), ...rest },
      items: all.slice(from, from + size).map((name) => this.#objects.get(`${path}/${name}`)),
    });
  }

  #watch(collection: string, from: number, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    if (from < this.#forgottenUpTo) {
      const object = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
      return;
    }
    response.flushHeaders();
    for (const held of this.#history)
      if (held.collection === collection && held.version > from) response.write(held.line);
    const watch = { collection, response };
    this.#watches.add(watch);
    response.on('close', () => {
      this.#watches.delete(watch);
      this.changes.notify();
    });
  }
}

/** Answers with an object. */
export function answer(response: ServerResponse, object: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(object));
}

/** Refuses as API servers do. */
export function refuse(response: ServerResponse, code: number, message: string): void {
  answer(response, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message }, code);
}
