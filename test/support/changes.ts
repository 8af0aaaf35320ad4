/** Lets tests wait for what happens, instead of sleeping until it has. */
export class Changes {
  readonly #waiting = new Set<() => void>();

  /** Something happened. */
  notify(): void {
    for (const look of [...this.#waiting]) look();
  }

  /** Resolves as soon as `holds` does, looked at now and whenever something happens. The test's own time-out bounds it. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!holds()) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }
}
