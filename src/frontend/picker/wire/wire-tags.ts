/** Wire types of protobuf: https://protobuf.dev/programming-guides/encoding/. */
export const VARINT = 0;
/** Wire type of texts, bytes and messages, with their length in front. */
export const BYTES = 2;

/** What stands before a field. */
export function tagOf(field: number, type: number): number {
  return (field << 3) | type;
}

/** Fields of a piece of a body, the same in `HttpBody` and in `StreamedBodyResponse`. */
export const BODY_BYTES: number = tagOf(1, BYTES);
/** Whether the piece is the last one. */
export const BODY_END: number = tagOf(2, VARINT);
