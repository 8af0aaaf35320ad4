import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';
import { plain } from './fault-classes.js';

/** How sentences begin with which UCX ends its process: `Fatal: ` alone is too short to be looked for. */
const FATAL_BEGINNINGS = [
  ...['failed to', 'Failed to', 'unable to', 'could not', 'cannot allocate', 'error handling'],
  ...['endpoint reconfiguration', 'UD endpoint', 'transport error', 'packing rkey', 'mem type'],
  ...['invalid', 'unexpected', 'unhandled', 'unknown', 'unsupported', 'Unsupported'],
] as const;

/** What UCX puts before the number of a line: its process, and the file. */
const PLACE = '\\[[\\w.-]{1,80}:\\d{1,8} *:[\\w-]{1,8}:\\d{1,8}\\] +\\w{1,40}\\.[ch]';
const ASSERTION = new RegExp(`${PLACE}:\\d{1,5} +(Assertion \`.{1,240}' failed(?:: .{1,80})?)`);
const FATAL = new RegExp(`${PLACE}(?:pp)?:\\d{1,5} +(Fatal: .{1,240})`);

/** Reads the sentence with which UCX ends the process. */
function ending(needle: string, pattern: RegExp, about: string): LogRule {
  return rule(needle, (line, found) => {
    const sentence = pattern.exec(line.text)?.[1];
    if (sentence !== undefined)
      found.addSignal('connector_crashed', line, { value: `UCX: ${plain(sentence)}`, about });
  });
}

/** Where UCX ends the process, and where it does not start for the version of a library beside it. */
export const UCX_RULES: readonly LogRule[] = [
  // "UCP API version is incompatible: required >= 1.18, actual 1.16.0 (loaded from …)", "UCP version is incompatible, required: 1.18, actual: 1.12".
  rule(' version is incompatible', (line, found) => {
    if (!line.text.includes('UCP ')) return;
    const value = line.text.slice(line.text.indexOf('UCP ')).slice(0, 180);
    found.addSignal('ucx_differs', line, { value, about: 'version is incompatible' });
  }),
  // "[node-1:4321:0:4321]  proto_select.c:549  Assertion `khret == UCS_KH_PUT_BUCKET_EMPTY' failed".
  ending(' Assertion `', ASSERTION, 'Assertion'),
  // "[node-1:4321 :0:4321]       wireup.c:2157 Fatal: endpoint reconfiguration not supported yet".
  ...FATAL_BEGINNINGS.map((beginning) => ending(`Fatal: ${beginning} `, FATAL, 'Fatal: ')),
  // The backtrace that UCX prints where the process ends below it.
  rule('(ucs_handle_error', (line, found) =>
    found.addSignal('connector_crashed', line, { value: 'UCX', about: 'ucs_handle_error' }),
  ),
];
