// Many events in a row ask for one thing once, and once more at the end.

export class Bell {
  #runs = false;
  #again = false;

  /** `rest`: how long is waited between two runs, ms. */
  constructor(
    private readonly run: () => Promise<void>,
    private readonly rest: number,
  ) {}

  /** `run` begins now, or after the one that is under way. */
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
