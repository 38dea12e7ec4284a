import { Lines } from "@/shell/icons";

export const SetupIcon = () => (
  <Lines>
    <path d="M4 15.500h16v5H4zM7.500 18v.1M11 18v.1M12 15.500V11M8.500 8.500a5 5 0 0 1 7 0M6 6a8.500 8.500 0 0 1 12 0" />
  </Lines>
);
