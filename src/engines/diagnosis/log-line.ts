/** A line of JSON with plain values, and at most one object of such. */
export interface LogRecord {
  /** Without its fields. */
  readonly message: string;
  /** What `fieldOf` finds in the text of the line, without making that text. */
  field(name: string): string | undefined;
  /** The value of a field that is an object; undefined for any other. */
  object(name: string): Readonly<Record<string, unknown>> | undefined;
}

/** A line that a rule looks at. */
export interface LogLine {
  /** In its log, from 1. */
  readonly lineNumber: number;
  /** The message with its fields, without colours and prefixes. */
  readonly text: string;
  /** Its own time, or that of the lines before it. */
  readonly ms: number | undefined;
  /** True when that time has no zone and was taken as UTC. */
  readonly isUnzoned?: boolean;
  /** The pod or container that a prefix names; empty without one. */
  readonly who: string;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  /** Undefined for text, and for JSON that has more. */
  readonly record: LogRecord | undefined;
}
