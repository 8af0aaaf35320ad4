import type { Release } from '../../../../engines/descriptor/default-size.js';
import type { Launch } from './launch.js';

/** The release of vLLM by the tag of its own image; undefined for that of another, which says nothing of the vLLM in it. */
export function vllmReleaseOf({ container, isDynamo }: Launch): Release | undefined {
  const [, major, minor] =
    /\/vllm-[\w-]{1,40}:v?(\d{1,3})\.(\d{1,4})/.exec(container?.image?.value ?? '') ?? [];
  return isDynamo || major === undefined || minor === undefined
    ? undefined
    : { major: Number(major), minor: Number(minor) };
}
