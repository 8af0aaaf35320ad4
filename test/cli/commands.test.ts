import { describe, expect, test } from 'vitest';
import { commands } from '../../src/cli/commands.js';
import { parseCommandLine, tableOf } from '../../src/cli/program.js';
import { resolve } from '../../src/cli/settings/resolve.js';
import { variablesOf } from '../../src/cli/settings/setting.js';

describe.each(commands.map((command) => [command.description.name, command] as const))('%s', (_, command) => {
  const table = tableOf(command);
  const entries = Object.entries(table);

  test('has defaults that its own rules allow', () => {
    expect(() => resolve(table, { flags: new Map(), environment: {} }, () => undefined)).not.toThrow();
  });

  test('has names that become flags, variables and keys without a clash', () => {
    for (const [name] of entries) expect(name).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
    const variables = entries.flatMap(([name, setting]) => variablesOf(name, setting));
    expect(new Set(variables).size).toBe(variables.length);
    for (const [name] of entries) expect(name).not.toMatch(/^no-|^help$|^version$/);
  });

  test('explains every setting in sentences, below a heading', () => {
    for (const [, setting] of entries) {
      expect(setting.help).toMatch(/^[A-Za-z].*\.$/);
      expect(setting.group).toMatch(/^[A-Z]/);
    }
  });

  test('has examples that its own parser takes', () => {
    const own = command.description.examples.filter(({ line }) => line.startsWith('kv-accord '));
    expect(own.length).toBeGreaterThan(0);
    for (const { line } of own) {
      const argv = line.split(' ').slice(1);
      const request = parseCommandLine(argv, { commands, version: '0', write: () => {}, columns: 80 });
      if (request.type !== 'command') throw new Error(`${line} asks for ${request.type}`);
      const resolved = resolve(table, { flags: request.flags, environment: {} }, () => undefined);
      const check = (): void =>
        request.command.description.check?.(
          resolved.values as never,
          resolved.reject,
          new Set(request.flags.keys()),
        );
      expect(check).not.toThrow();
    }
  });

  test('has a body that loads', async () => {
    expect(await command.load()).toBeTypeOf('function');
  });
});

test('a name that two commands have is of the same kind in both, unless it is said here', () => {
  // One asks which topology to read, the others what to do about differences.
  const apart = ['topology'];
  const kinds = new Map<string, string>();
  for (const command of commands) {
    for (const [name, { kind }] of Object.entries(tableOf(command))) {
      if (apart.includes(name)) continue;
      expect(kinds.get(name) ?? kind, name).toBe(kind);
      kinds.set(name, kind);
    }
  }
});

test.each([
  ['lint', ['--tls-ca', '--token-file', '--insecure']],
  ['demo', ['--tls-ca', '--token-file', '--insecure']],
  ['inject', ['--tls-ca', '--token-file']],
  ['status', ['--tls-client-auth']],
])('the help of %s leaves out what it does not read, and takes it', (name, unread) => {
  const written: string[] = [];
  const modules = { commands, version: '0', write: (text: string) => void written.push(text), columns: 80 };
  parseCommandLine([name, '--help'], modules);
  const help = written.join('');
  for (const flag of unread) {
    expect(help).not.toContain(`${flag} <`);
    expect(help).not.toContain(`${flag}  `);
    const words = flag === '--insecure' ? [flag] : [flag, 'x'];
    expect(parseCommandLine([name, ...words], modules)).toMatchObject({ type: 'command' });
  }
  expect(help).toContain('--log-level');
});
