import { HeaderValueOption_HeaderAppendAction as AppendAction } from '../../../gen/envoy/config/core/v3/base.js';
import type {
  HeaderMutation,
  ProcessingResponse,
} from '../../../gen/envoy/service/ext_proc/v3/external_processor.js';
import type { HttpStatus } from '../../../gen/envoy/type/v3/http_status.js';
import type { ApiShape } from '../../errors/api-shapes.js';
import { writeError } from '../../errors/api-shapes.js';
import type { OpenAiError } from '../../errors/openai-error.js';
import type { BodyMode } from './body-mode.js';
import { DESTINATION, ENDPOINT_NAMESPACE } from './names.js';

/** The direction and part that a message answers. */
export type HeadersCase = 'requestHeaders' | 'responseHeaders';
/** The same for a piece of a body. */
export type BodyCase = 'requestBody' | 'responseBody';
/** The same for trailers. */
export type TrailersCase = 'requestTrailers' | 'responseTrailers';

/** What a request's headers become. */
export interface HeaderChanges {
  readonly set: Readonly<Record<string, string>>;
  readonly remove: readonly string[];
  /** The endpoints, which go into the metadata too; undefined for none. */
  readonly endpoints?: string;
}

/** Headers that a refusal of a gateway sets itself. */
const SET_BY_GATEWAY: ReadonlySet<string> = new Set(['content-length', 'connection']);

/** Answers headers; without changes they go on as they came. */
export function headersAnswer($case: HeadersCase, changes?: HeaderChanges): ProcessingResponse {
  return {
    response: { $case, value: changes === undefined ? NOTHING : { response: changed(changes) } },
    dynamicMetadata: metadataOf(changes),
  };
}

/** Answers a piece of a body; `streamed_response` sends it back where the mode wants that. */
export function bodyAnswer(
  $case: BodyCase,
  mode: BodyMode,
  body: Buffer,
  endOfStream: boolean,
  changes?: HeaderChanges,
): ProcessingResponse {
  if (mode !== 'full_duplex')
    return {
      response: { $case, value: changes === undefined ? NOTHING : { response: changed(changes) } },
      dynamicMetadata: metadataOf(changes),
    };
  return {
    response: {
      $case,
      value: {
        response: {
          headerMutation: undefined,
          bodyMutation: { mutation: { $case: 'streamedResponse', value: { body, endOfStream } } },
          clearRouteCache: false,
        },
      },
    },
    dynamicMetadata: undefined,
  };
}

/** The body of a request whose endpoint was chosen, and how it came. */
export interface ShownBody {
  readonly mode: BodyMode;
  /** All of it; undefined where it did not come. */
  readonly bytes: Buffer | undefined;
  /** In how many pieces it came. */
  readonly pieces: number;
  /** Whether the last of them is the end of the request. */
  readonly hasBodyEnded: boolean;
}

/** All that was not answered before the endpoint was chosen, in order. `body` takes the place of the one that came. */
export function chosenAnswers(
  { changes, body: replaced }: { readonly changes: HeaderChanges; readonly body: Buffer | undefined },
  { mode, bytes = NO_BYTES, pieces, hasBodyEnded }: ShownBody,
): ProcessingResponse[] {
  if (mode === 'buffered' && pieces > 0) return [streamedBody(replaced, hasBodyEnded, changes)];
  const answers = [
    headersAnswer('requestHeaders', withLength(changes, mode === 'full_duplex' ? bytes : NO_BYTES)),
  ];
  if (mode === 'full_duplex') {
    // In as few pieces as may be: each is a message to write here, and one to read at the gateway.
    const body = replaced ?? bytes;
    let from = 0;
    while (from < body.length || (from === 0 && pieces > 0)) {
      const piece = body.subarray(from, from + MAX_PIECE_BYTES);
      from += MAX_PIECE_BYTES;
      answers.push(bodyAnswer('requestBody', mode, piece, hasBodyEnded && from >= body.length));
    }
    return answers;
  }
  // In place of the first piece comes all of the new body, in place of the others nothing.
  for (let at = 0; at < pieces; at += 1)
    answers.push(streamedBody(replaced === undefined || at === 0 ? replaced : NO_BYTES, false));
  return answers;
}

/** Envoy takes the length away from a body that it sends on in pieces: with it engines get the request as the client sent it. */
function withLength(changes: HeaderChanges, { length }: Buffer): HeaderChanges {
  if (length === 0 || changes.set['content-length'] !== undefined) return changes;
  return { ...changes, set: { ...changes.set, 'content-length': String(length) } };
}

/** Longest piece that a body is sent back in: below the 64 KiB at which Envoy's buffers count as full. */
const MAX_PIECE_BYTES = 62_000;

const NO_BYTES = Buffer.alloc(0);

/** Answers a piece of a request's body that waits at the gateway; it becomes `replaced` where that is there. */
function streamedBody(
  replaced: Buffer | undefined,
  endOfStream: boolean,
  changes?: HeaderChanges,
): ProcessingResponse {
  const answer = bodyAnswer('requestBody', 'buffered', NO_BYTES, endOfStream, changes);
  if (replaced === undefined || answer.response?.$case !== 'requestBody') return answer;
  const response = changes === undefined ? changed(NO_CHANGES) : changed(changes);
  const bodyMutation = { mutation: { $case: 'body' as const, value: replaced } };
  return {
    ...answer,
    response: { $case: 'requestBody', value: { response: { ...response, bodyMutation } } },
  };
}

const NO_CHANGES: HeaderChanges = { set: {}, remove: [] };

/** Answers trailers, which go on as they came. */
export function trailersAnswer($case: TrailersCase): ProcessingResponse {
  return { response: { $case, value: { headerMutation: undefined } }, dynamicMetadata: undefined };
}

/** Refuses a request in the shape of its API. */
export function refusal(error: OpenAiError, shape: ApiShape): ProcessingResponse {
  const { headers, body } = writeError(error, shape);
  const set = Object.fromEntries(Object.entries(headers).filter(([name]) => !SET_BY_GATEWAY.has(name)));
  return {
    response: {
      $case: 'immediateResponse',
      value: {
        status: { code: error.status as HttpStatus['code'] },
        headers: mutation({ set, remove: [] }),
        body: Buffer.from(body),
        details: `kv_accord_${error.code ?? error.type}`,
      },
    },
    dynamicMetadata: undefined,
  };
}

const NOTHING = { response: undefined } as const;

function changed(changes: HeaderChanges) {
  // The route may depend on what is set here.
  return { headerMutation: mutation(changes), bodyMutation: undefined, clearRouteCache: true };
}

function mutation({ set, remove }: HeaderChanges): HeaderMutation {
  return {
    setHeaders: Object.entries(set).map(([key, value]) => ({
      // Envoy reads the bytes, and takes a value beside them for an error.
      header: { key, value: '', rawValue: Buffer.from(value) },
      appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
    })),
    removeHeaders: [...remove],
  };
}

function metadataOf(changes: HeaderChanges | undefined): ProcessingResponse['dynamicMetadata'] {
  if (changes?.endpoints === undefined) return undefined;
  return { [ENDPOINT_NAMESPACE]: { [DESTINATION]: changes.endpoints } };
}
