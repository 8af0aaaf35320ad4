import { readdir, readFile } from 'node:fs/promises';
import type { RunningProgram } from './program.js';

/** The process of a vLLM that computes; its HTTP server is another one. */
export async function coreOf(program: Pick<RunningProgram, 'pid'>): Promise<number> {
  const processes = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => {
        const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
        return {
          pid: Number(pid),
          name: /\((.*)\)/.exec(stat)?.[1] ?? '',
          parent: /\) \S (\d+)/.exec(stat)?.[1],
        };
      }),
  );
  const core = processes.find(
    ({ name, parent }) => name.includes('Engine') && Number(parent) === program.pid,
  );
  if (core === undefined) throw new Error(`vLLM ${program.pid} has no process of its engine`);
  return core.pid;
}
