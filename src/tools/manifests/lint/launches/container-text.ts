import type { Word } from '../shell/words.js';
import type { Span } from '../text/span.js';
import type { Surroundings } from './surroundings.js';

/** A container that no pod spec describes: of a compose file, or one that a chart makes. */
export interface ContainerText
  extends Pick<Surroundings, 'source' | 'image' | 'env' | 'hasUnseenEnv'>,
    Partial<Pick<Surroundings, 'fileAt' | 'installed' | 'service'>> {
  /** Where a program stands that the image starts by itself. */
  readonly imageSpan: Span | undefined;
  readonly entrypoint: readonly Word[];
  readonly command: readonly Word[];
  readonly isOnHostNetwork?: boolean;
}
