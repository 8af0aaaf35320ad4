import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CommandOutput, Host } from '../../../src/edge/platform/processes/host.js';
import { openHost } from '../../../src/edge/platform/processes/host.js';

const FIXTURES = fileURLToPath(new URL('../../fixtures/topology/', import.meta.url));

/** A recorded host. */
export function recordedHost(name: string, environment: Record<string, string | undefined> = {}): Host {
  return openHost({ rootFolder: FIXTURES + name, environment });
}

/** Text of one recording. */
export function recording(path: string): string {
  return readFileSync(FIXTURES + path, 'utf8');
}

/** A host that exists only in a test: files by path, answers by command line. */
export function madeHost(made: {
  readonly files?: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, string>>;
  readonly commands?: Readonly<Record<string, string | CommandOutput | Promise<CommandOutput>>>;
  readonly environment?: Record<string, string | undefined>;
  readonly ran?: string[];
}): Host {
  const files = made.files ?? {};
  return {
    environment: made.environment ?? {},
    readFile: async (path) => files[path],
    listFolder: async (path) => [
      ...new Set(
        Object.keys(files)
          .filter((file) => file.startsWith(`${path}/`))
          .map((file) => file.slice(path.length + 1).split('/')[0] ?? ''),
      ),
    ],
    readLink: async (path) => made.links?.[path],
    async run(program, args) {
      const command = [program, ...args].join(' ');
      made.ran?.push(command);
      const answer = made.commands?.[command];
      return typeof answer === 'string' ? { stdout: answer, stderr: '', exitCode: 0 } : answer;
    },
  };
}

/** A signal that never fires. */
export const never: AbortSignal = new AbortController().signal;
