import { EventParser, type StreamEvent } from '../model/event-parser.js';
import { AccessError, askJson, FullError, messageOf, request } from './ask.js';

/** How a stream is doing. */
export type StreamState =
  | { readonly type: 'connecting' }
  | { readonly type: 'live' }
  /** The whole is asked for every few seconds. */
  | { readonly type: 'polling' }
  | { readonly type: 'waiting'; readonly problem: string; readonly againAtMs: number }
  | { readonly type: 'refused'; readonly problem: string };

/** Who reads a stream of the view. */
export interface StreamEvents {
  /** A new stream begins: what came before no longer counts. */
  onStart(): void;
  onEvent(event: StreamEvent): void;
  /** The whole answer, asked for because the server takes no more streams. */
  onWhole(answer: unknown): void;
  onState(state: StreamState): void;
}

/** A server says something every few seconds; after this much silence it is gone, in milliseconds. */
const SILENCE_MS = 45_000;
/** Between attempts, in milliseconds: growing, so that a fleet of open pages does not storm a server that starts. */
const WAITS_MS = [500, 1_000, 2_000, 5_000, 10_000];

/**
 * Follows `api/v1/<path>/events` until it is stopped, and again whenever it ends. Where the server takes no more
 * streams, it asks for `api/v1/<path>` every few seconds. Returns the function that stops it.
 */
export function follow(path: string, events: StreamEvents): () => void {
  const stopped = new AbortController();
  void run(path, events, stopped.signal);
  return () => stopped.abort();
}

/** Between two questions in place of a stream, in milliseconds. */
const POLL_MS = 5_000;

async function run(path: string, events: StreamEvents, stopped: AbortSignal): Promise<void> {
  let failures = 0;
  events.onState({ type: 'connecting' });
  while (!stopped.aborted) {
    let problem = 'the server ended the stream';
    try {
      await readOnce(path, events, stopped, () => {
        failures = 0;
      });
    } catch (error) {
      if (stopped.aborted) return;
      problem = messageOf(error);
      if (error instanceof AccessError) {
        events.onState({ type: 'refused', problem });
        return;
      }
      if (error instanceof FullError && (await poll(path, events, stopped))) continue;
    }
    const waitMs = (WAITS_MS[Math.min(failures, WAITS_MS.length - 1)] ?? 0) * (0.8 + 0.4 * Math.random());
    failures += 1;
    events.onState({ type: 'waiting', problem, againAtMs: Date.now() + waitMs });
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

async function readOnce(
  path: string,
  events: StreamEvents,
  stopped: AbortSignal,
  onLive: () => void,
): Promise<void> {
  const silent = new AbortController();
  let timer = setTimeout(() => silent.abort(new Error('the server went silent')), SILENCE_MS);
  try {
    const signal = AbortSignal.any([stopped, silent.signal]);
    const { body } = await request(`${path}/events`, signal, 'text/event-stream');
    if (body === null) throw new Error('the server answered without a body');
    events.onStart();
    const parser = new EventParser();
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(new Error('the server went silent')), SILENCE_MS);
      for (const event of parser.push(value)) {
        onLive();
        events.onState({ type: 'live' });
        events.onEvent(event);
      }
    }
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}

/** Asks once and waits; false where that fails too. */
async function poll(path: string, events: StreamEvents, stopped: AbortSignal): Promise<boolean> {
  try {
    const answer = await askJson<unknown>(path);
    if (stopped.aborted) return true;
    events.onStart();
    events.onWhole(answer);
    events.onState({ type: 'polling' });
  } catch {
    // The stream's own problem is shown.
    return false;
  }
  await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  return true;
}
