import type { LogFindings } from '../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../engines/diagnosis/log-rule.js';
import { plain } from './general/fault-classes.js';

/** The errors of the configuration of sgl-router, smg and vllm-router, as Rust prints them. */
const CONFIGURATION_ERRORS = [
  'ValidationFailed { ',
  'IncompatibleConfig { ',
  'MissingRequired { ',
  'InvalidValue { ',
] as const;

/** What a demand has: a flag, or the words of one. */
const DEMAND = /--[a-z]|\b(?:requires?|must|invalid|cannot|required|not supported|mutually exclusive)\b/i;

/** Lines with which routers say that they do not start: sgl-router and vllm-router, in Python and as programs of their own. */
export const ROUTER_START_RULES: readonly LogRule[] = [
  // Before the traceback, whose last line has the same sentence.
  rule('Error starting router: ', (line, found) => {
    const about = 'Error starting router: ';
    const sentence = line.text.slice(line.text.indexOf(about) + about.length);
    if (DEMAND.test(sentence)) refuse(line, found, sentence, about);
    else {
      found.addError(line, { sentence, about });
      found.addEnd(line, about);
    }
  }),
  ...CONFIGURATION_ERRORS.map((needle) =>
    rule(needle, (line, found) => {
      const { text } = line;
      const behind = text.slice(text.indexOf(needle) + needle.length);
      const reason = /\breason: "((?:[^"\\]|\\.){1,500})"/.exec(behind)?.[1];
      const field = /\bfield: "([^"]{1,80})"/.exec(behind)?.[1];
      const sentence = [field, reason ?? (field === undefined ? undefined : 'is required')]
        .filter((part) => part !== undefined)
        .join(': ');
      if (sentence !== '') refuse(line, found, sentence, needle.slice(0, -3));
    }),
  ),
];

function refuse(line: LogLine, found: LogFindings, sentence: string, about: string): void {
  const value = plain(sentence);
  found.addSetting(line, 'program', { side: 'router', value: 'router', about });
  found.addSignal('settings_refused', line, { value, about });
}
