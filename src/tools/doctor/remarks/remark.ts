/** What a report without a finding says first: something that was seen and is no fault, or of which no rule knows whether it is. */
export interface Remark {
  readonly headline: string;
  /** The same with its place, or what is not known of it. */
  readonly says: string;
  /** What to do or to look at, as an instruction without a full stop. */
  readonly ask: string;
}
