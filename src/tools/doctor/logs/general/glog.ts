/** The form of Google's library for logs: "E0613 08:28:11.555796 7053 ucx_utils.cpp:512] …", PyTorch's "[rank3]:[E716 19:47:26.324588983 shim_common.cpp:523] …", in C++ of others "E ucx_utils.cpp:585] …", and without time and thread as people copy it. */
const LINE =
  /(?:^|[\s[\]|])([EFW])(?:\d{3,4}(?:\d{4})? \d\d:\d\d|(?:\d{4}(?:\d{4})?)?(?: \d{1,9})? [\w-]{1,60}\.(?:cpp|cc|h):\d{1,6}\])/;

/** An error, or what ends the process. */
export function isErrorOfGlog(text: string): boolean {
  const level = LINE.exec(text)?.[1];
  return level === 'E' || level === 'F';
}

/** Whether a line of glog is a warning. */
export function isWarningOfGlog(text: string): boolean {
  return LINE.exec(text)?.[1] === 'W';
}

/** As people copy it without letter and time, also behind the names of pod and container: "worker_pool.cpp:294] Worker: Process failed for slice …". */
const BARE = /^(?:(?![IWEF]\d{4})[\w.-]{1,80} [\w.-]{1,60} )?\s{0,8}[\w-]{1,60}\.(?:cpp|cc|h):\d{1,6}\] /;

/** A line of such a library that does not say whether it is an error. */
export function isBareLineOfGlog(text: string): boolean {
  return BARE.test(text);
}

/** What a process gives back as it ends or forgets a peer: "Failed to unmount segment in destructor: …", "Failed to destroy QP[0]: …". */
const GIVES_BACK =
  /(?:Failed to|failed to) (?:(?:graceful|finish|notify master about) )?(?:unmount|unregister|deregister|destroy\w*|close|unmap|munmap|remove location)\b|\bin destructor\b|\b[uU]nregister\w* (?:buffer failed|error)|\bUnmount\w{1,30} failed\b|_unmount_\w{1,40}_failed/;

/** Whether a line speaks of what is given back, which moves no block and is lost with the process in any case. */
export function isOfGivingBack(text: string): boolean {
  return GIVES_BACK.test(text);
}
