/** Why the index could not do what it was asked: the closed list. */
export type PrefixIndexErrorCode = 'no_memory' | 'too_many_holders';

/** What a prefix index could not do. */
export class PrefixIndexError extends Error {
  readonly code: PrefixIndexErrorCode;

  constructor(code: PrefixIndexErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PrefixIndexError';
    this.code = code;
  }
}
