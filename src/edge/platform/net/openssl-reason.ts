/** `80ACCE54147F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/…/ssl3_record.c:350:` */
const OPENSSL_RECORD =
  /(?:write EPROTO )?[0-9A-F]{8,16}:error:[0-9A-F]{8}:[^:\n]*:[^:\n]*:([^:\n]+):[^:\s]*:\d+:(?:SSL alert number \d+)?\s*/g;

/** OpenSSL's reason alone, where a message holds its whole record: thread, code, function, file and line help nobody who reads a log. */
export function withOpenSslReasons(message: string): string {
  return message.replace(OPENSSL_RECORD, '$1');
}
