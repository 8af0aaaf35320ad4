import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { environmentKindOf } from '../../../../src/tools/doctor/logs/general/environment-kinds.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const of = async (log: string): Promise<Diagnosis> => diagnose(joined({ logs: [await summaryOf(log)] }));
const SERVES = Array.from({ length: 20 }, () => 'INFO 05-06 10:00:00 [launcher.py:30] route').join('\n');

describe('what the surroundings of a program lack', () => {
  it.each([
    [
      'redis.exceptions.ConnectionError: Error 111 connecting to redis:6379. Connection refused.',
      'is not reached',
      'what listens at redis:6379 run',
    ],
    ['redis.exceptions.TimeoutError: Timeout connecting to server', 'is not reached', 'connects to run'],
    [
      'redis.exceptions.AuthenticationError: invalid username-password pair or user is disabled.',
      'refuses its credentials',
      'redis://:PASSWORD@HOST:PORT',
    ],
    [
      'botocore.exceptions.ClientError: An error occurred (403) when calling the HeadObject operation: Forbidden',
      'refuses its credentials',
      'AWS_ACCESS_KEY_ID',
    ],
    [
      'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "http://minio:9000/kv"',
      'is not reached',
      'what listens at minio:9000 run',
    ],
    [
      'socket.gaierror: [Errno -2] Name or service not known',
      'does not resolve',
      'NAME.NAMESPACE where it is in another namespace',
    ],
    [
      'ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate',
      'does not trust the certificate',
      'SSL_CERT_FILE=FILE',
    ],
    ['ssl.SSLError: [SSL: WRONG_VERSION_NUMBER] wrong version number', 'certificate', 'http:// in place of'],
    ["PermissionError: [Errno 13] Permission denied: '/mnt/kv'", 'may not write', 'container write /mnt/kv'],
    ["RuntimeError: can't start new thread", 'as many threads', 'podPidsLimit'],
    [
      'yaml.scanner.ScannerError: mapping values are not allowed here',
      'cannot be read',
      'Correct the file that the program reads',
    ],
  ])('is named where a log ends with it: %s', async (error, headline, cure) => {
    const diagnosis = await of(error);
    expect(diagnosis.headline).toContain(headline);
    expect(diagnosis.advice).toContain(cure);
  });

  it('is no finding where the program goes on behind it', async () => {
    expect((await of(`RuntimeError: can't start new thread\n${SERVES}`)).verdict).toBe('unknown');
  });

  it.each(['ValueError: x is no number', 'ConnectionResetError: [Errno 104] Connection reset by peer'])(
    'is none in the sentence of another error: %s',
    (sentence) => {
      expect(environmentKindOf(sentence)).toBeUndefined();
    },
  );
});
