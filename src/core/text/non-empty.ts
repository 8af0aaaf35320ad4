/** The text; undefined for an empty one, by which protobuf says that a field is not set. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
