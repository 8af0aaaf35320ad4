// Draws a transcript of the demo as an SVG: text on lines, coloured by what each line is.

/** Units of the picture: a character of the 13 px monospace font is at most this wide and high. */
const CHAR_WIDTH = 7.85;
const LINE_HEIGHT = 17;
const MARGIN = 18;

/** What a line of the demo begins with, and how it is shown; the first that fits counts. */
const STYLES = [
  [/^▸ /, 'act'],
  [/^ {2}✗ /, 'bad'],
  [/^ +[\d.]+ s {2}gate +OPEN /, 'good'],
  [/^ +[\d.]+ s {2}gate +SHUT /, 'warn'],
  [/^ +[\d.]+ s {2}\S+ +ERROR /, 'bad'],
  [/^ +[\d.]+ s {2}\S+ +WARN /, 'warn'],
  [/^ +[\d.]+ s {2}/, 'plain'],
  [/^ {2}\$ /, 'soft'],
];

/** A line of a log, or of the gate. */
const TIMED = /^ +[\d.]+ s {2}/;

/** A line that continues a log line stands below its words. */
const CONTINUED = /^ {28}/;

/**
 * Replaces what differs in each run (ports, instance ids) by fixed texts of the same length, so that two pictures of
 * one story differ only where the story does.
 */
export function withoutChance(text) {
  const seen = new Map();
  const fixed = (found, make) => {
    if (!seen.has(found)) seen.set(found, make(seen.size));
    return seen.get(found);
  };
  return text
    .replace(/(?<=127\.0\.0\.1:)\d{5}\b/g, (port) => fixed(port, (n) => String(40_001 + n)))
    .replace(/\b[0-9a-f]{32}\b/g, (id) => fixed(id, (n) => rotated(SOME_ID, n)));
}

/** Stands for the ids of engine starts. */
const SOME_ID = '3a5807c99bbbee7cb41e0d2f66a1985d';

function rotated(text, by) {
  return `${text.slice(by)}${text.slice(0, by)}`;
}

/** The lines of one scene: from its title to the end of its last output. */
export function linesOfScene(transcript, title) {
  const lines = transcript.split('\n').map((line) => line.trimEnd());
  const from = lines.indexOf(title);
  if (from === -1) throw new Error(`the transcript has no scene "${title}"`);
  const end = lines.findIndex((line, at) => at > from && line.startsWith('The scene went as expected'));
  if (end === -1) throw new Error(`the scene "${title}" did not go as expected:\n${transcript}`);
  // The line below the title is drawn by the title's style.
  return [title, ...lines.slice(from + 2, end)].join('\n').trim().split('\n');
}

/** The picture. `lines` as `linesOfScene` gives them. */
export function drawTranscript(lines, { title, description }) {
  const width = Math.ceil(Math.max(...lines.map((line) => line.length)) * CHAR_WIDTH) + 2 * MARGIN;
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN;
  let style = 'plain';
  const rows = lines.map((line, at) => {
    if (!CONTINUED.test(line)) style = at === 0 ? 'act' : styleOf(line);
    const y = MARGIN + (at + 1) * LINE_HEIGHT - 4;
    return line === ''
      ? undefined
      : `  <text x="${MARGIN}" y="${y}" class="${style}">${spansOf(line)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc">`,
    `  <title id="title">${escaped(title)}</title>`,
    `  <desc id="desc">${escaped(description)}</desc>`,
    '  <style>',
    '    text { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 13px; fill: #1f2933; white-space: pre; }',
    '    .act { font-weight: 700; }',
    '    .soft { fill: #52606d; }',
    '    .good, .mark { fill: #14713f; }',
    '    .warn { fill: #8a5a00; }',
    '    .bad { fill: #b3261e; }',
    '  </style>',
    `  <rect width="${width}" height="${height}" rx="8" fill="#f6f8fa" stroke="#c4ccd6"/>`,
    ...rows.filter((row) => row !== undefined),
    '</svg>',
    '',
  ].join('\n');
}

/** The lines of a picture that `drawTranscript` made; empty ones are not among them. */
export function linesOfPicture(picture) {
  return [...picture.matchAll(/<text [^>]*>(.*)<\/text>/g)].map(([, text]) =>
    text
      .replace(/<[^>]+>/g, '')
      .replaceAll('\u00a0', ' ')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  );
}

/**
 * What the scene itself says, whose words are the same in every run: logs and gate come at other times each time. Of the
 * table at its end only the names of its columns.
 */
export function storyOf(lines) {
  const end = lines.findIndex((line) => line.startsWith('  $ '));
  const story = lines
    .slice(0, end)
    .filter((line) => line !== '' && !TIMED.test(line) && !CONTINUED.test(line));
  const columns = lines.slice(end).filter((line) => COLUMNS.test(line));
  return [...story, ...columns.map((line) => line.trim().replaceAll(/ {2,}/g, '  '))];
}

const COLUMNS = /^ {2}WORKER {2,}STATE {2,}/;

function styleOf(line) {
  return STYLES.find(([pattern]) => pattern.test(line))?.[1] ?? 'plain';
}

/** The sign of a check that passed has its own colour. */
function spansOf(line) {
  return escaped(line).replace(/^(\u00a0{2})✓/, '$1<tspan class="mark">✓</tspan>');
}

/** Spaces are kept as no-break spaces: not every viewer of SVG knows `white-space`. */
function escaped(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(' ', '\u00a0');
}
