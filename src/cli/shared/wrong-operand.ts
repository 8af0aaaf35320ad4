import { SettingError } from '../../app/setting-error.js';
import { explainSystemError } from '../../edge/platform/files/file.js';
import { quote } from '../settings/wrong-value.js';

/** What reading gives. Where it fails, rejects with a `SettingError` that names the operand, what it must be, and the system's reason. */
export async function orWrongOperand<T>(file: string, allowed: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw wrongOperand(file, `${allowed}, and it ${explainSystemError(error)}`);
  }
}

/** The error for a file or folder on the command line; `allowed` follows "must be". */
export function wrongOperand(file: string, allowed: string): SettingError {
  return new SettingError(`${quote(file)} (on the command line): must be ${allowed}`);
}
