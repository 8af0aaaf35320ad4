import { expect, it } from 'vitest';
import { withOpenSslReasons } from '../../../../src/edge/platform/net/openssl-reason.js';

it.each([
  [
    'write EPROTO 807C217F627F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/openssl/openssl/ssl/record/ssl3_record.c:350: ',
    'wrong version number',
  ],
  [
    'Error: 80ACCE54147F0000:error:0A000412:SSL routines:ssl3_read_bytes:sslv3 alert bad certificate:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:1605:SSL alert number 42',
    'Error: sslv3 alert bad certificate',
  ],
  ['connect ECONNREFUSED 127.0.0.1:1', 'connect ECONNREFUSED 127.0.0.1:1'],
  ['unable to verify the first certificate', 'unable to verify the first certificate'],
])('%s', (message, expected) => {
  expect(withOpenSslReasons(message)).toBe(expected);
});
