import { credentials } from '@grpc/grpc-js';
import type { HeaderMap } from '../../../src/gen/envoy/config/core/v3/base.js';
import {
  ExternalProcessorClient,
  ProcessingRequest,
  type ProcessingResponse,
} from '../../../src/gen/envoy/service/ext_proc/v3/external_processor.js';

/** What a gateway sends, one message after the other; `close` is the half of the stream that it ends. */
export type Sent = ProcessingRequest | 'close';

/** What a picker did with a transcript, in words that are compared. */
export interface Played {
  /** One line for each message. */
  readonly answers: readonly string[];
  /** `ok`, `open` when the picker waits for more, or the status of gRPC with its words. */
  readonly end: string;
}

/** How long nothing must come before a picker counts as waiting. */
const QUIET_MS = 1_500;

/** Plays one stream of a gateway over plaintext gRPC; `nameOf` gives endpoints their names. */
export function playTranscript(
  port: number,
  sent: readonly Sent[],
  nameOf: (endpoint: string) => string,
): Promise<Played> {
  const client = new ExternalProcessorClient(`127.0.0.1:${port}`, credentials.createInsecure());
  const stream = client.process();
  const answers: string[] = [];
  return new Promise((resolve) => {
    const end = (how: string): void => {
      clearTimeout(timer);
      stream.removeAllListeners();
      stream.on('error', () => undefined);
      stream.cancel();
      client.close();
      resolve({ answers, end: how });
    };
    const timer = setTimeout(() => end('open'), QUIET_MS);
    stream.on('data', (answer: ProcessingResponse) => {
      answers.push(inWords(answer, nameOf));
      timer.refresh();
    });
    stream.on('end', () => end('ok'));
    stream.on('error', ({ message }) => end(message));
    for (const message of sent)
      if (message === 'close') stream.end();
      else stream.write(message);
  });
}

function inWords(
  { response, dynamicMetadata }: ProcessingResponse,
  nameOf: (endpoint: string) => string,
): string {
  const parts: string[] = [];
  const add = (
    headers: readonly { readonly header: { key: string; value: string; rawValue: Buffer } | undefined }[],
  ) => {
    for (const { header } of headers)
      if (header?.key === ENDPOINT) parts.push(`to ${endpointsIn(header, nameOf)}`);
  };
  switch (response?.$case) {
    case 'requestHeaders':
    case 'responseHeaders':
    case 'requestBody':
    case 'responseBody': {
      const common = response.value.response;
      parts.push(response.$case);
      add(common?.headerMutation?.setHeaders ?? []);
      const mutation = common?.bodyMutation?.mutation;
      if (mutation !== undefined) {
        const { body, endOfStream } =
          mutation.$case === 'body' ? { body: mutation.value, endOfStream: undefined } : mutation.value;
        parts.push(`body ${body.toString('utf8')}${endOfStream === true ? ' end' : ''}`);
      }
      break;
    }
    case 'immediateResponse': {
      const { status, body, details } = response.value;
      parts.push(`immediateResponse ${status?.code ?? 0} ${body.toString('utf8') || details}`);
      break;
    }
    default:
      parts.push(response?.$case ?? 'nothing');
  }
  const lb = (dynamicMetadata as Record<string, Record<string, string>> | undefined)?.['envoy.lb'];
  if (lb?.[ENDPOINT] !== undefined) parts.push('with metadata');
  return parts.join(', ');
}

const ENDPOINT = 'x-gateway-destination-endpoint';

function endpointsIn(
  { value, rawValue }: { readonly value: string; readonly rawValue: Buffer },
  nameOf: (endpoint: string) => string,
): string {
  return (rawValue.length > 0 ? rawValue.toString('utf8') : value).split(',').map(nameOf).join();
}

/** Endpoints that a gateway offers alone. */
type Subset = string | readonly string[];

function subsetMetadata(subset: Subset | undefined): Parameters<typeof ProcessingRequest.fromPartial>[0] {
  if (subset === undefined) return {};
  const hint = { 'x-gateway-destination-endpoint-subset': subset };
  return { metadataContext: { filterMetadata: { 'envoy.lb.subset_hint': hint } } };
}

/** The messages of transcripts. */
export const gateway = {
  requestHeaders: (
    headers: Readonly<Record<string, string>>,
    more: { readonly endOfStream?: boolean; readonly subset?: Subset } = {},
  ): ProcessingRequest =>
    ProcessingRequest.fromPartial({
      request: {
        $case: 'requestHeaders',
        value: { headers: headerMap(headers), endOfStream: more.endOfStream ?? false },
      },
      ...subsetMetadata(more.subset),
    }),
  // Envoy shows the metadata with every message.
  requestBody: (text: string, endOfStream: boolean, subset?: Subset): ProcessingRequest =>
    ProcessingRequest.fromPartial({
      request: { $case: 'requestBody', value: { body: Buffer.from(text), endOfStream } },
      ...subsetMetadata(subset),
    }),
  requestTrailers: (): ProcessingRequest =>
    ProcessingRequest.fromPartial({ request: { $case: 'requestTrailers', value: {} } }),
  responseHeaders: (headers: Readonly<Record<string, string>>): ProcessingRequest =>
    ProcessingRequest.fromPartial({
      request: { $case: 'responseHeaders', value: { headers: headerMap(headers), endOfStream: false } },
    }),
  responseBody: (text: string, endOfStream: boolean): ProcessingRequest =>
    ProcessingRequest.fromPartial({
      request: { $case: 'responseBody', value: { body: Buffer.from(text), endOfStream } },
    }),
} as const;

function headerMap(headers: Readonly<Record<string, string>>): HeaderMap {
  return {
    headers: Object.entries(headers).map(([key, value]) => ({
      key,
      value: '',
      rawValue: Buffer.from(value),
    })),
  };
}
