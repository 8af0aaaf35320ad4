/** A set of manifests of which not all can be looked at together. Its message says which bound it is beyond, and where. */
export class SetTooLarge extends Error {
  /** The file in which it is. */
  readonly file: string;

  constructor(file: string, message: string) {
    super(message);
    this.name = 'SetTooLarge';
    this.file = file;
  }
}
