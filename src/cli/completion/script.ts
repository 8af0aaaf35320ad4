import type { Command } from '../command.js';
import { bashScript } from './bash.js';
import { fishScript } from './fish.js';
import { completionModel } from './model.js';
import { zshScript } from './zsh.js';

/** The completion script of `bash`, `zsh` or `fish`. */
export function completionScript(shell: string, commands: readonly Command[]): string {
  const model = completionModel(commands);
  if (shell === 'zsh') return zshScript(model);
  return shell === 'fish' ? fishScript(model) : bashScript(model);
}
