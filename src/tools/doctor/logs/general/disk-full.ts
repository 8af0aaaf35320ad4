/**
 * How programs say that a volume, or a user's part of it, is full: C and Python (ENOSPC, EDQUOT), Rust ("os error 28"), and
 * numpy, which counts what it could not write ("9437184 requested and 0 written").
 */
export const DISK_FULL: RegExp =
  /No space left on device|Disk quota exceeded|Errno (?:28|122)\b|os error (?:28|122)\b|\b\d{1,20} requested and \d{1,20} written/i;
