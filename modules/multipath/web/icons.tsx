import { Lines } from "@/shell/icons";

export const PathsIcon = () => (
  <Lines>
    <path d="M3 12h3M18 12h3M6 12c2-7 10-7 12 0M6 12c2 7 10 7 12 0" />
  </Lines>
);
