// Combines many events in a row: one run at once, and one more at the end.

export class Bell {
  #runs = false;
  #again = false;

  /** `rest`: pause between two runs, ms. */
  constructor(
    private readonly run: () => Promise<void>,
    private readonly rest: number,
  ) {}

  /** Starts `run` now, or after the current one. */
  ring(): void {
    if (this.#runs) {
      this.#again = true;
      return;
    }
    this.#runs = true;
    void this.#go();
  }

  async #go(): Promise<void> {
    do {
      this.#again = false;
      await this.run().catch(() => undefined);
      await new Promise((done) => setTimeout(done, this.rest));
    } while (this.#again);
    this.#runs = false;
  }
}
