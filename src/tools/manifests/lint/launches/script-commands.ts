import type { TreeFiles } from '../config/tree-files.js';
import type { ShellCommand } from '../shell/shell-command.js';
import { readShellCommands } from '../shell/shell-commands.js';
import { scriptText } from '../text/scalar-text.js';
import type { TextSource } from '../text/span.js';
import { pathOf, treeFileAt } from './surroundings.js';

/** What the reading of scripts may look up. */
export interface ScriptLibrary {
  readonly tree: TreeFiles;
  readonly scripts: ScriptCommands;
}

/** The commands of scripts that stand in files of their own. Each is read once for all that ask for them. */
export class ScriptCommands {
  readonly #tree: TreeFiles;
  readonly #known = new Map<TextSource, readonly ShellCommand[]>();

  constructor(tree: TreeFiles) {
    this.#tree = tree;
  }

  of(script: TextSource): readonly ShellCommand[] {
    const known = this.#known.get(script);
    if (known !== undefined) return known;
    const fileAt = treeFileAt(this.#tree, script.file, true);
    const commands = readShellCommands(scriptText(script), new Map(), {
      fileAt: (path) => fileAt(pathOf(path)),
    });
    this.#known.set(script, commands);
    return commands;
  }

  /** The same for the last that asks: they are forgotten. */
  take(script: TextSource): readonly ShellCommand[] {
    const commands = this.of(script);
    this.#known.delete(script);
    return commands;
  }
}
