import { expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.js';
import { parseCommandLine } from '../../src/cli/program.js';

const NAMES = commands.map(({ description }) => description.name);

it.each([60, 80, 120].flatMap((columns) => NAMES.map((name) => [name, columns] as const)))(
  'the help of %s fits a terminal of %i columns, but for command lines that are there to be copied',
  (name, columns) => {
    let text = '';
    parseCommandLine([name, '--help'], {
      commands,
      version: '1.2.3',
      columns,
      write: (part) => {
        text += part;
      },
    });
    const examples = text.slice(text.indexOf('\nExamples:'), text.lastIndexOf('\n\n'));
    const long = text
      .replace(examples, '')
      .split('\n')
      // A term that is longer than the line cannot be broken.
      .filter((line) => line.length > columns && line.trim().includes(' '));
    expect(long).toEqual([]);
  },
);
