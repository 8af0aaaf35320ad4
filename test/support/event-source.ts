import { applyDelta } from '../../src/core/view/apply-delta.js';
import type { ViewDelta, ViewDocument } from '../../src/core/view/view-document.js';
import { Changes } from './changes.js';

/** Reads a view's stream of server-sent events as a page does. */
export class ViewClient {
  readonly events: { readonly name: string; readonly data: string }[] = [];
  document: ViewDocument | undefined;
  readonly #changes = new Changes();
  readonly #stop = new AbortController();

  static async open(url: string, headers: Record<string, string> = {}): Promise<ViewClient> {
    const client = new ViewClient();
    const response = await fetch(url, { headers, signal: client.#stop.signal });
    if (response.status !== 200 || response.body === null)
      throw new Error(`${response.status} ${await response.text()}`);
    void client.#read(response.body).catch(() => undefined);
    return client;
  }

  /** Resolves when the document is as asked. */
  until(holds: (document: ViewDocument) => boolean): Promise<void> {
    return this.#changes.until(() => this.document !== undefined && holds(this.document));
  }

  close(): void {
    this.#stop.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const piece of body as unknown as AsyncIterable<Uint8Array>) {
      const parts = (rest + decoder.decode(piece, { stream: true })).split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) this.#take(part);
    }
  }

  #take(part: string): void {
    const name = /^event: (.*)$/m.exec(part)?.[1];
    const data = /^data: (.*)$/m.exec(part)?.[1];
    if (name === undefined || data === undefined) return;
    this.events.push({ name, data });
    if (name === 'snapshot') this.document = JSON.parse(data) as ViewDocument;
    if (name === 'delta' && this.document !== undefined) {
      const next = applyDelta(this.document, JSON.parse(data) as ViewDelta);
      if (next === undefined) throw new Error('a delta does not follow');
      this.document = next;
    }
    this.#changes.notify();
  }
}
