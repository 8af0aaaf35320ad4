/** What repairs a program that ended: one instruction, its reason, and what to run for it. */
export interface Repair {
  readonly says: string;
  readonly why: string;
  readonly commands: readonly string[];
}
