// Icons of navigation and notices: lines in the colour of the text around them. They say nothing
// that text beside them does not.
import type { ComponentChildren } from "preact";

function Lines({ children }: { children: ComponentChildren }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
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

export const OverviewIcon = () => (
  <Lines>
    <path d="M4 19V5M4 19h16M8 15l3-4 3 2 5-7" />
  </Lines>
);
export const DevicesIcon = () => (
  <Lines>
    <rect x="3" y="5" width="12" height="9" rx="1.5" />
    <path d="M6 18h6M9 14v4" />
    <rect x="17" y="9" width="4.5" height="9" rx="1" />
  </Lines>
);
export const FlowsIcon = () => (
  <Lines>
    <path d="M4 8h14l-3.5-3.5M20 16H6l3.5 3.5" />
  </Lines>
);
export const HistoryIcon = () => (
  <Lines>
    <path d="M4 19.5h16M6.5 19v-6M11 19V7M15.500 19v-9M20 19V4" />
  </Lines>
);
export const PictureIcon = () => (
  <Lines>
    <path d="M4 6h3c6 0 4 11 10 11h3M4 18h3c6 0 4-11 10-11h3" />
  </Lines>
);
export const PathsIcon = () => (
  <Lines>
    <path d="M3 12h3M18 12h3M6 12c2-7 10-7 12 0M6 12c2 7 10 7 12 0" />
  </Lines>
);
export const SettingsIcon = () => (
  <Lines>
    <path d="M4 7h9M17 7h3M4 17h3M11 17h9" />
    <circle cx="15" cy="7" r="2" />
    <circle cx="9" cy="17" r="2" />
  </Lines>
);
export const LogOutIcon = () => (
  <Lines>
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
