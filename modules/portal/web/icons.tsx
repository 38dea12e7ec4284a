import { Lines } from "@/shell/icons";

export const GuestsIcon = () => (
  <Lines>
    <path d="M4 20V5.500A1.500 1.500 0 0 1 5.500 4h7A1.500 1.500 0 0 1 14 5.500V20M2.500 20h19M11 12v.5M17 9l4 4-4 4M21 13h-4" />
  </Lines>
);
export const VouchersIcon = () => (
  <Lines>
    <path d="M3 7h18v3.500a1.500 1.500 0 0 0 0 3V17H3v-3.500a1.500 1.500 0 0 0 0-3zM14.500 7v2M14.500 11v2M14.500 15v2" />
  </Lines>
);
export const DaysIcon = () => (
  <Lines>
    <path d="M3 20.500h18M6 17v-5M12 17V5M18 17v-8" />
  </Lines>
);
export const WelcomeIcon = () => (
  <Lines>
    <path d="M5 3.500h14v17H5zM8.500 8h7M8.500 12h7M8.500 16h4" />
  </Lines>
);
