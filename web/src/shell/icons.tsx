// Icons of the frame and of notices: lines in the colour of the surrounding text. Text beside them
// has the same information. A module has its own beside its views.
import type { ComponentChildren } from "preact";

/** Frame of every icon: 24 by 24. An icon that `turns` follows the direction of writing. */
export function Lines({ children, turns }: { children: ComponentChildren; turns?: boolean }) {
  return (
    <svg
      class={turns ? "icon turns" : "icon"}
      viewBox="0 0 24 24"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

export const Brand = () => (
  <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="7" class="brand-ground" />
    <path d="M5 11h9c4 0 4 10 8 10h5" class="brand-water" />
    <path d="M5 17h6c3 0 4 8 8 8h8" class="brand-water second" />
    <path d="M16 5v7" class="brand-gate" />
  </svg>
);

export const LogOutIcon = () => (
  <Lines turns>
    <path d="M10 5H5v14h5M15 8l4 4-4 4M9 12h10" />
  </Lines>
);
export const MenuIcon = () => (
  <Lines>
    <path d="M4 7h16M4 12h16M4 17h16" />
  </Lines>
);
export const WarnIcon = () => (
  <Lines>
    <path d="M12 4 3 19h18zM12 10v4.500M12 16.8v.2" />
  </Lines>
);
export const InfoIcon = () => (
  <Lines>
    <circle cx="12" cy="12" r="8.500" />
    <path d="M12 11v5.500M12 7.800v.2" />
  </Lines>
);
export const GoodIcon = () => (
  <Lines>
    <path d="m5 12.500 4.500 4.500L19 7.500" />
  </Lines>
);
export const BackIcon = () => (
  <Lines turns>
    <path d="M19 12H5.500M11 6l-6 6 6 6" />
  </Lines>
);
