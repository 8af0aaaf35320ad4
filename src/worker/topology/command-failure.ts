import type { CommandOutput } from '../../edge/platform/processes/host.js';
import { plainText } from './limits.js';

/**
 * Why a run of `command` gave nothing usable; undefined when it did. `nvidia-smi`
 * prints its failures on standard output: `No devices were found` with exit
 * code 6, `NVIDIA-SMI has failed because it couldn't communicate with the
 * NVIDIA driver. …` with 9.
 */
export function commandFailure(command: string, output: CommandOutput): string | undefined {
  if (output.exitCode === 0) return undefined;
  const said = plainText(output.stdout) || plainText(output.stderr) || 'it printed nothing';
  return `${command} ended with exit code ${output.exitCode}: ${said}`;
}
