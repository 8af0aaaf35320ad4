import type { ClientReadableStream, ServiceError, StatusObject } from '@grpc/grpc-js';

/** A unary call as a promise. */
export function unary<Response>(
  call: (done: (error: ServiceError | null, response: Response) => void) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    call((error, response) => (error === null ? resolve(response) : reject(error)));
  });
}

/** A stream whose messages are taken one by one. */
export interface Collected<Message> {
  /** The next message; rejects when the stream ends first. */
  next(): Promise<Message>;
  readonly ended: Promise<StatusObject>;
  cancel(): void;
}

/** Takes the messages of a server stream as they come. */
export function collect<Message>(call: ClientReadableStream<Message>): Collected<Message> {
  const messages: Message[] = [];
  const waiting: { resolve: (message: Message) => void; reject: (error: unknown) => void }[] = [];
  let end: unknown;
  call.on('data', (message: Message) => {
    const first = waiting.shift();
    if (first === undefined) messages.push(message);
    else first.resolve(message);
  });
  // The status says the same; without a listener it would be an uncaught error.
  call.on('error', () => undefined);
  const ended = new Promise<StatusObject>((resolve) => {
    call.on('status', (status) => {
      end = new Error(`the stream ended with ${status.code}: ${status.details}`);
      for (const { reject } of waiting.splice(0)) reject(end);
      resolve(status);
    });
  });
  return {
    next: () =>
      new Promise((resolve, reject) => {
        const message = messages.shift();
        if (message !== undefined) resolve(message);
        else if (end !== undefined) reject(end);
        else waiting.push({ resolve, reject });
      }),
    ended,
    cancel: () => call.cancel(),
  };
}
