/** What is wrong with a security setting: the closed list. */
export const SECURITY_ERROR_CODES = [
  'options_conflict',
  'exposed',
  'unreadable',
  'not_pem',
  'not_yet_valid',
  'expired',
  'pair_mismatch',
  'unusable',
  'bad_token',
] as const;

/** A code of `SecurityError`. */
export type SecurityErrorCode = (typeof SECURITY_ERROR_CODES)[number];

/** A security setting that cannot be used: which one, its value, and what is wrong with it. */
export class SecurityError extends Error {
  readonly code: SecurityErrorCode;
  /** The flag: `--tls-cert`. */
  readonly field: string;

  constructor(code: SecurityErrorCode, field: string, message: string) {
    super(`${field} ${message}`);
    this.name = 'SecurityError';
    this.code = code;
    this.field = field;
  }
}
