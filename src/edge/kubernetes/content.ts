import { explainSystemError, readTextFile } from '../platform/files/file.js';
import { KubernetesError } from './kubernetes-error.js';

/** Largest certificate, key or token that is read: a bundle of all public authorities has 220 KiB. */
const MAX_CONTENT_BYTES = 1024 * 1024;

/** A text that stands in a configuration, or in a file that it names and that may change. */
export type Content =
  | { readonly text: string; readonly from: string }
  | {
      readonly file: string;
      /** The setting that names the file, for messages. */
      readonly from: string;
    };

/** Where a content stands, for messages. */
export function placeOf(content: Content): string {
  return 'file' in content ? content.file : content.from;
}

/** The text as it is now. Files are read each time: a rotation gives no notice. */
export async function readContent(content: Content): Promise<string> {
  if ('text' in content) return content.text;
  try {
    return await readTextFile(content.file, MAX_CONTENT_BYTES);
  } catch (error) {
    throw new KubernetesError(
      'no_configuration',
      `${content.file} (${content.from}): ${explainSystemError(error)}`,
      { cause: error },
    );
  }
}
