import type { InnerText } from '../text/scalar-text.js';

/** The texts of one ConfigMap by their keys. */
export interface ConfigMap {
  readonly texts: ReadonlyMap<string, InnerText>;
  /** Whether there are further ones that are not in these files. */
  readonly isPartial: boolean;
}
