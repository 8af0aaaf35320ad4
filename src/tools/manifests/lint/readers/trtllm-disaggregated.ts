import { placeOfNode } from '../../yaml-access.js';
import { readDisaggregatedConfig } from '../config/disaggregated-config.js';
import { bareLaunch } from '../launches/bare-launch.js';
import type { Launch } from '../launches/launch.js';
import { locateScalar } from '../text/scalar-text.js';
import { type OpenFile, plainDocuments } from './yaml-words.js';

/** The configurations of `trtllm-serve disaggregated` that are files of their own. */
export function readDisaggregated({ source, documents }: OpenFile): readonly Launch[] {
  return plainDocuments({ source, documents }).flatMap(({ access, root }) => {
    const gateway = readDisaggregatedConfig(access, root, (text) => locateScalar(source, text).span);
    if (gateway === undefined) return [];
    const { start, end } = placeOfNode(access.map(root, 'context_servers') ?? root);
    return [
      bareLaunch(
        { role: 'gateway', program: 'trtllm-serve disaggregated', gateway },
        { source, start, end, isExact: false },
      ),
    ];
  });
}
