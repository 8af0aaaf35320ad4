/**
 * Longest LoRA name or cache salt, in UTF-16 units, with which a prompt can be
 * asked for. Blocks of names up to here are read from an engine's events, so
 * that whatever can be asked for can be found.
 */
export const MAX_NAME_CHARS = 4_096;

/** The most bytes that such a name takes in UTF-8. */
export const MAX_NAME_BYTES: number = 3 * MAX_NAME_CHARS;
