import { Lines } from "@/shell/icons";

export const RadioIcon = () => (
  <Lines>
    <path d="M3 9.500a13 13 0 0 1 18 0M6 13a8.500 8.500 0 0 1 12 0M9 16.500a4.200 4.200 0 0 1 6 0" />
    <circle cx="12" cy="19.500" r="1" />
  </Lines>
);

const Body = () => <path d="M5.500 11h13v9h-13z" />;

/** A closed lock. */
export const ShutLockIcon = () => (
  <Lines>
    <Body />
    <path d="M8 11V8a4 4 0 0 1 8 0v3" />
  </Lines>
);

/** An open lock. */
export const OpenLockIcon = () => (
  <Lines>
    <Body />
    <path d="M8 11V7a4 4 0 0 1 7.800-1.200" />
  </Lines>
);
