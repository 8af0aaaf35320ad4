/**
 * Most workers of one list: two and a half times the largest fleet that is
 * measured. What is longer is a mistake (a name of a whole network, a file of
 * another kind) or an attack, and is refused as a whole.
 */
export const MAX_ENDPOINTS = 10_000;

/** Largest file of workers: 10,000 entries of 400 characters. */
export const MAX_FILE_BYTES: number = 4 * 1024 * 1024;

/** Longest name that a person may give to a worker; the longest one in DNS has 253 characters. */
export const MAX_TARGET_CHARS = 256;
