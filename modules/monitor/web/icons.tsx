import { Lines } from "@/shell/icons";

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
export const ConversationsIcon = () => (
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
