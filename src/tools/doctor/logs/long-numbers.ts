/** Digits from which a number may lose its last ones as a double. */
export const FEWEST_DIGITS = 16;
/** The most that an id of 64 bits has. */
const MOST_DIGITS = 20;

/**
 * JSON with quotation marks around whole numbers of 16 to 20 digits, such as worker ids of 64 bits, which would lose
 * their last digits. Only one in sixteen characters is looked at until a digit is found there. Within a text such
 * digits get them as well, which leaves no JSON: the caller then parses what it had.
 */
export function quoteLongNumbers(json: string): string {
  let quoted = '';
  let taken = 0;
  for (let at = FEWEST_DIGITS - 1; at < json.length; at += FEWEST_DIGITS) {
    if (!isDigit(json.charCodeAt(at))) continue;
    let start = at;
    while (start > taken && isDigit(json.charCodeAt(start - 1))) start -= 1;
    let end = at + 1;
    while (isDigit(json.charCodeAt(end))) end += 1;
    if (end - start < FEWEST_DIGITS || end - start > MOST_DIGITS) continue;
    let before = start - 1;
    while (isSpace(json.charCodeAt(before))) before -= 1;
    let behind = end;
    while (isSpace(json.charCodeAt(behind))) behind += 1;
    if (!':[,'.includes(json.charAt(before)) || !',}]'.includes(json.charAt(behind))) continue;
    if (before < 0 || behind >= json.length) continue;
    quoted += `${json.slice(taken, start)}"${json.slice(start, end)}"`;
    taken = end;
  }
  return taken === 0 ? json : quoted + json.slice(taken);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}
