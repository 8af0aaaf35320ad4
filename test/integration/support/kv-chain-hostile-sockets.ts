import type { Frames, ReplaySocket, Sockets } from '../../../src/worker/kv-events/sockets/zmq-sockets.js';

/** Gives messages one by one, and then nothing until it is closed. */
function sayAll(messages: readonly Frames[]): Omit<ReplaySocket, 'send'> {
  let next = 0;
  let isClosed = false;
  let onClosed: ((frames: undefined) => void) | undefined;
  return {
    receive: async () => {
      if (isClosed) return undefined;
      const frames = messages[next];
      next += 1;
      if (frames !== undefined) return frames;
      return new Promise((resolve) => {
        onClosed = resolve;
      });
    },
    close: () => {
      isClosed = true;
      onClosed?.(undefined);
    },
  };
}

/** An engine whose publisher says `live`, once, and whose replay socket answers everything with `answers`. */
export function hostileSockets(live: readonly Frames[], answers: readonly Frames[]): Sockets {
  let left = live;
  return {
    async subscribe(_source, onLink) {
      onLink(true);
      const messages = left;
      left = [];
      return sayAll(messages);
    },
    ask: () => ({ ...sayAll(answers), send: async () => {} }),
  };
}
