/**
 * Something that a person set and that cannot be used. The message is one
 * line: the field, the value, where it came from, what is allowed. A command
 * that gets one ends with exit code 2 and that line.
 */
export class SettingError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SettingError';
  }
}
