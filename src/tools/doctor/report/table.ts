/** A table of a report. */
export interface Table {
  readonly columns: readonly { readonly title: string; readonly isNumber: boolean }[];
  /** Cells in the order of the columns, on one line each. */
  readonly rows: readonly (readonly string[])[];
}

/** A table; a title that begins with # is of a column of numbers. */
export function tableOf(titles: readonly string[], rows: readonly (readonly string[])[]): Table {
  const columns = titles.map((title) => ({
    title: title.replace(/^#/, ''),
    isNumber: title.startsWith('#'),
  }));
  return { columns, rows };
}
