import { messageOf } from '../../edge/platform/describe-error.js';
import { ProbeError, type ProbeModules } from './probe.js';

/** Reads a file; the system's errors become `ProbeError`s, a missing file with the code `not_here`. */
export async function readSourceFile(
  path: string,
  maxBytes: number,
  origin: string,
  modules: Pick<ProbeModules, 'readFile'>,
): Promise<string> {
  try {
    return await modules.readFile(path, maxBytes);
  } catch (cause) {
    throw fromFileError(cause, origin);
  }
}

/** What an error of the file system means for a probe. */
export function fromFileError(cause: unknown, origin: string): ProbeError {
  if (cause instanceof ProbeError) return cause;
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const message = messageOf(cause);
  if (code === 'ENOENT' || code === 'ENOTDIR') return new ProbeError('not_here', origin, 'does not exist');
  if (cause instanceof RangeError) return new ProbeError('too_large', origin, message);
  return new ProbeError('unreachable', origin, `cannot be read (${message})`);
}
