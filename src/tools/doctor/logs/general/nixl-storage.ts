import { DISK_FULL } from './disk-full.js';

/** Files of NIXL's backends that keep blocks on disks: `src/plugins/{posix,cuda_gds,gds_mt,hf3fs}`, 0.4 to 1.5. */
export const NIXL_STORAGE_FILES = [
  'posix_backend.cpp:',
  '_io_queue.cpp:',
  ' gds_backend.cpp:',
  ' gds_utils.cpp:',
  ' gds_mt_backend.cpp:',
  ' hf3fs_backend.cpp:',
  ' hf3fs_utils.cpp:',
] as const;

/** What the program above NIXL asked wrongly: no folder and no disk can repair it. */
const MISUSED =
  /unique devId|FILE_SEG|(?:memory|segment) type|descriptor counts|incorrect count|in count or|[Oo]nly supports? I\/O|Empty (?:request|io) list|Remote agent must|completion percentage|before completion|Invalid IO parameters|is nullptr|cannot be zero|cudaSetDevice/;

/** What an error of one of these files is a sign of. Rows for a sentence of its own decide over it. */
export function nixlStorageFaultOf(text: string): string {
  if (DISK_FULL.test(text)) return 'NIXL has no room on its disk';
  if (MISUSED.test(text)) return 'NIXL does not move its blocks';
  if (/hf3fs/i.test(text)) return 'NIXL does not read or write 3FS';
  return / gds_/.test(text)
    ? 'NIXL does not read or write by GPUDirect Storage'
    : 'NIXL cannot use its folder on disk';
}

/** Clients of object stores, of the same names of files as a client of Mooncake's. */
export const OBJECT_CALL: RegExp = /\b(?:put|get|check)(?:Object|Blob)\w{0,24}(?:Async|Exists)|HeadObject/;
