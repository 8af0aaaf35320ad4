import { UNKNOWN } from '../shell/words.js';
import { mayDecide } from './deciding-words.js';

/**
 * A path in front of an assignment of yq or jq. It is looked for at its beginning alone: a text of thousands of characters without a space,
 * as a picture in a value is, would be looked through from each of them again.
 */
const ASSIGNED =
  /(?<![^\s|(,;])([^\s|(,;]+(?:\([^()]*\)[^\s|(,;]*)?|\([^()]*\)[^\s|(,;]*)\s*(?:\|=|\+=|\*=|\/\/=|(?<![=!<>*])=(?!=))/g;

/** Whether an expression of yq or jq writes something that findings may be about, and not only reads. */
export function writesDeciding(expression: string): boolean {
  if (
    /\bdel\s*\(|\bwith\s*\(|\bwith_entries|\bsetpath|\*\s*(?:\.|\$|select|load)|\breduce\b/.test(expression)
  )
    return mayDecide(expression) || expression.includes(UNKNOWN);
  return [...expression.matchAll(ASSIGNED)].some(([, path = '']) => isDecidingPath(path));
}

/** Parts of a container that no finding is about. */
const OF_CONTAINERS =
  /^(?:image|name|resources|ports|volumeMounts|securityContext|imagePullPolicy|tag|repository)$/;

/** Whether what stands at a path of keys may be about that: by its last key, or by what all of it is a part of. */
export function isDecidingPath(path: string): boolean {
  const keys = path
    .replace(/\\\./g, '_')
    .split(/[.[\]"'()]+/)
    .filter((key) => key !== '' && !/^(?:\d+|\*|select|-1)$/.test(key));
  const last = keys.at(-1);
  if (last === undefined || last.includes(UNKNOWN)) return true;
  if (OF_CONTAINERS.test(last)) return false;
  return (
    mayDecide(last) || keys.some((key) => /^(?:args|command|env|envs|data|pluginsCustomConfig)$/.test(key))
  );
}

/** Whether values of a chart that win over others have something that findings may be about. */
export function hasDecidingKey(text: string): boolean {
  return [...text.matchAll(/^[ \t]*(?:- )?["']?([\w.-]+)["']?[ \t]*:/gm)].some(
    ([, key = '']) => key === 'containers' || (key !== 'spec' && mayDecide(key)),
  );
}
