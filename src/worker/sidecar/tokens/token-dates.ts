const DAY_MS = 86_400_000;

const MONTH = '[A-Z][a-z]{2,8}\\.?';
const DAY_OF_MONTH = '\\d{1,2}(?:st|nd|rd|th)?';

/** Years that a template may write about now, in whatever time zone its engine is. */
function yearsAround(wallMs: number): string[] {
  const years = [wallMs - DAY_MS, wallMs + DAY_MS].map((ms) => String(new Date(ms).getUTCFullYear()));
  return [...new Set(years)];
}

/** Whether a rendered prompt holds the present year, which none of the probes does: its template writes the date. */
export function holdsDate(text: string, wallMs: number): boolean {
  return yearsAround(wallMs).some((year) => text.includes(year));
}

/** The text with dates, weekdays and times of day left out, so that it is the same on every day. */
export function withoutDates(text: string, wallMs: number): string {
  const year = `(?:${yearsAround(wallMs).join('|')})`;
  const dates = [
    `${year}-\\d{2}-\\d{2}`,
    `\\d{1,2}[/.]\\d{1,2}[/.]${year}`,
    `${DAY_OF_MONTH} ${MONTH},? ${year}`,
    `${MONTH} ${DAY_OF_MONTH},? ${year}`,
    `${MONTH} ${year}`,
    year,
  ];
  return text
    .replace(new RegExp(dates.join('|'), 'g'), '<date>')
    .replace(/\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b/g, '<day>')
    .replace(/\b\d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?\b/g, '<time>');
}
