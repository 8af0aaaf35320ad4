import type { ServerResponse } from 'node:http';
import type { UnorderedMember } from '../../edge/platform/data/unordered-set.js';
import type { Api } from '../apis/api.js';
import type { HeldBody } from './request-body.js';
import type { AskedRequest, ClientWatch } from './request-reader.js';

/** A request for something to be computed, while it is being answered. */
export class OpenRequest implements AskedRequest, HeldBody, UnorderedMember {
  place = -1;
  readonly api: Api;
  readonly response: ServerResponse;
  /** When its headers had come, on the monotonic clock. */
  readonly startedMs: number;
  /** The group that serves its model; empty as long as that is not known. */
  group = '';
  /** Bytes of its body that are held. */
  bytes = 0;

  constructor(api: Api, response: ServerResponse, startedMs: number) {
    this.api = api;
    this.response = response;
    this.startedMs = startedMs;
  }

  watchClient(): ClientWatch {
    const left = new AbortController();
    const leave = (): void => left.abort();
    this.response.once('close', leave);
    return { gone: left.signal, end: () => this.response.off('close', leave) };
  }
}
