/** Up to so many lines a log is what somebody chose of one: an excerpt is of its errors. */
export const MAX_EXCERPT_LINES = 60;
