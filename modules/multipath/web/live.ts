// Polls paths with every poll of the router, so that their lines outlive a change of view.
import { get } from "@/api/client";
import { type Looks, recorded } from "@/api/live";
import { Store } from "@/core/store";
import { type PathsReading, pathRates } from "./core/paths";
import type { Paths } from "./types";

/** Uplinks that are used as one; null without a partner. */
export const told = new Store<Paths | null>(null);

/** The last readings of paths: as many as their rates need. */
let readings: PathsReading[] = [];

export const looks: Looks = {
  async look(status, now) {
    if (status.multipath === undefined) return told.set(null);
    const paths = await get<Paths>("paths");
    const found = pathRates(readings, { time: performance.now() / 1000, paths: paths.paths });
    readings = found.readings;
    for (const [device, rate] of found.rates) {
      recorded.add(`path ${device}`, { time: now, ...rate });
    }
    told.set(paths);
  },
  forget() {
    told.set(null);
    readings = [];
  },
};
