/**
 * Lines at error level that programs write while nothing is wrong, by their classes. An error that has one of these words
 * beside another reason is no harmless one: patterns name the whole of what happened.
 */
const HARMLESS: readonly RegExp[] = [
  // Cleaning up at a stop: processes that somebody ended, what Python says of objects at its end, sockets that are closed, memory that NIXL never registered.
  /died unexpectedly \(exit code: -15\)|exit(?:ed with)? ?code:? (?:-15|143)\b|signal 15\b|\bSIGTERM\b.{0,60}(?:exit|terminat|stopp|shut)/i,
  /resource_tracker: .{0,60}leaked|resource_tracker: process died unexpectedly|Task was destroyed but it is pending|Exception ignored in|Event loop is closed|destroy_process_group\(\) was not called|cannot schedule new futures after (?:interpreter )?shutdown|CancelledError\b(?:\(\)|: )?\s*$|\bKeyboardInterrupt\s*$|^.{0,120}\bRuntimeError: cancelled\s*$/,
  /\bderegisterMem: no available backends/,
  /http: Server closed|use of closed network connection|(?:listener|server|connection) closed by (?:shutdown|server shutdown)/i,
  // Libraries of CUDA that vLLM looks for on other hardware, too.
  /Failed to import from vllm\._\w{1,20} ?(?:with|:) ImportError\(.lib(?:cuda|cudart|nccl|numa)\b|FA version \d is not supported due to FA\d is (?:una\w{1,12} due to: lib|only supported on devices)/,
  // TensorRT-LLM asks each GPU for NVLink's multicast, and reduces over NCCL where it has none.
  /CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED not supported on GPU/,
  // A test's own comparison (unittest, pytest), and the helper of SGLang that runs tests again: what they test is in the lines before.
  /^(?:E {1,8})?\s{0,8}AssertionError: (?:-?[\d.]{1,40}|'[^']{0,80}'|True|False|None|\[[^\]]{0,80}\]) (?:!=|==|(?:is not|not (?:greater|less) than|not (?:almost )?equal|not (?:found )?in)\b)|^\s{0,8}Exception: retry\(\) exceed maximum number of retries|^(?:ERROR|FAIL): test\w{0,100} \([\w.]{1,200}\)/,
  // Plugins of XLA that TensorFlow and JAX bring twice into one process.
  /Unable to register cu(?:DNN|BLAS|FFT) factory|Attempting to register factory for plugin \w{1,20} when one has already been registered/,
  // The hub: another try follows, and the last one raises an exception.
  /,? retrying \d{1,3} of \d{1,3}\s*$/,
  // Controllers that came too late or twice: they try again by themselves.
  /the object has been modified; please apply your changes|Operation cannot be fulfilled on\b|AlreadyExists\b|" already exists\b(?<=\b[\w.-]{3,80} ?\\?"[\w./-]{1,253}\\?" already exists)|StorageError: invalid object, Code: 4/,
  // Leaders that are elected, and watches that end: both begin again.
  /leaderelection\.go.{0,160}(?:error retrieving resource lock|[Ff]ailed to (?:update|acquire|renew) (?:lock|lease))|error retrieving resource lock|[Ff]ailed to update (?:lock|lease)\b/,
  /reflector\.go.{0,300}(?:context (?:canceled|deadline exceeded)|unexpected error when reading response body|client connection lost|too old resource version|unable to decode an event|i\/o timeout|the server is currently unable|TLS handshake timeout|\bEOF\b)|[Uu]nable to decode an event from the watch stream|watch of .{1,120} ended with:|etcdserver: (?:request timed out|leader changed)/,
  // Probes that ask before a program serves.
  /(?:[Ss]tartup|[Rr]eadiness) probe (?:failed|errored)/,
  /\b(?:uri|path|target)[=:] ?"?[^\s",}]{0,120}\/(?:livez?|healthz?|readyz?)(?:["\s,}].{0,200})?\b503\b|\b503\b.{0,200}\b(?:uri|path|target)[=:] ?"?[^\s",}]{0,120}\/(?:livez?|healthz?|readyz?)\b/,
  // Clients that went away.
  /[Cc]lient(?: has| was)? ?(?:disconnect(?:ed)?|closed (?:the )?connection|went away|cancell?ed)\b|ClientDisconnect\b|client_?disconnected|(?:[Rr]equest|stream|prompt|generation)\b.{0,80}\b(?:cancell?ed|aborted) by (?:the )?client|\bcontext canceled\b|\brpc error: code = Cancell?ed\b|status: Cancelled\b|Broken ?[Pp]ipe(?:Error)?\b.{0,60}(?:client|response|downstream|http)|(?:client|response|downstream|http)\b.{0,80}\b[Bb]roken pipe/,
  // Dynamo's workers, whose frontend no longer wants what they generate.
  /Failed to publish response for stream [\w-]{8,60}\b|Failed to send response: SendError|failed to join writer task: I\/O error: Broken pipe/,
  // TensorRT-LLM tries kernels as it tunes itself, and leaves out those that fail.
  /\[Autotuner\] (?:Failed when profiling|Exception captured)/,
  // A title of numbers that a controller writes at this level.
  /^.{0,160}\bScaling information\b/,
];

/** What a later version will not have, unless this one has ended for it. */
const DEPRECATED =
  /\b(?:is|are|has been|have been|was|now) deprecated\b|DeprecationWarning|FutureWarning|will be removed in (?:a |the )?(?:future|next|v?\d)/;
const IS_REFUSED =
  /\w(?:Error|Exception): |\b(?:no longer|cannot|can't|not supported|unrecognized|unknown|invalid)\b/i;

/** Whether a line at error level is of something that healthy programs meet. */
export function isHarmlessError(text: string): boolean {
  if (DEPRECATED.test(text)) return !IS_REFUSED.test(text);
  return HARMLESS.some((pattern) => pattern.test(text));
}
