/** Longest selector that is read: a handful of labels. */
const MAX_SELECTOR_LENGTH = 4_096;

/**
 * Whether labels match a selector, as the API server reads it: `a=b`, `a!=b`,
 * `a in (b,c)`, `a notin (b)`, `a`, `!a`, joined by commas. Undefined for a
 * selector that cannot be read.
 */
export function matchesSelector(selector: string, labels: ReadonlyMap<string, string>): boolean | undefined {
  if (selector.length > MAX_SELECTOR_LENGTH) {
    return undefined;
  }
  const parts = selector.split(/,(?![^(]*\))/).map((part) => part.trim());
  let matches = true;
  for (const part of parts) {
    const one = matchesPart(part, labels);
    if (one === undefined) {
      return undefined;
    }
    matches &&= one;
  }
  return matches;
}

const REQUIREMENT =
  /^(?:(?<absent>!)\s*)?(?<key>[\w./-]+)(?:\s*(?<operator>==?|!=)\s*(?<value>[\w.-]*)|\s+(?<set>in|notin)\s*\((?<values>[^)]*)\))?$/;

function matchesPart(part: string, labels: ReadonlyMap<string, string>): boolean | undefined {
  const groups = REQUIREMENT.exec(part)?.groups;
  if (groups === undefined) {
    return undefined;
  }
  const { absent, key = '', operator, value, set, values = '' } = groups;
  const label = labels.get(key);
  if (set !== undefined) {
    const isIn = label !== undefined && values.split(',').some((one) => one.trim() === label);
    return set === 'in' ? isIn : !isIn;
  }
  if (operator !== undefined) {
    return operator === '!=' ? label !== value : label === value;
  }
  return absent === undefined ? label !== undefined : label === undefined;
}
