import type { ComponentType } from "preact";
import { Lines } from "@/shell/icons";
import type { Shown } from "./core/ports";

export const CablesIcon = () => (
  <Lines>
    <path d="M4.500 5h15v10h-3v3h-2.500v2h-4v-2H7.500v-3h-3zM8.500 5v3.500M12 5v3.500M15.500 5v3.500" />
  </Lines>
);

const UplinkIcon = () => (
  <Lines>
    <circle cx="12" cy="12" r="8.500" />
    <path d="M3.500 12h17M12 3.500c5 5 5 12 0 17M12 3.500c-5 5-5 12 0 17" />
  </Lines>
);
const MeshIcon = () => (
  <Lines>
    <circle cx="12" cy="5.500" r="2.500" />
    <circle cx="5.500" cy="17.500" r="2.500" />
    <circle cx="18.500" cy="17.500" r="2.500" />
    <path d="m10.800 7.800-4 7.400M13.200 7.800l4 7.400M8 17.500h8" />
  </Lines>
);
const RadioIcon = () => (
  <Lines>
    <path d="M12 11v9.500M8.500 20.500h7M8.500 12.500a5 5 0 0 1 0-6M15.500 12.500a5 5 0 0 0 0-6M5.500 15a9 9 0 0 1 0-11M18.500 15a9 9 0 0 0 0-11" />
    <circle cx="12" cy="9.500" r="1.500" />
  </Lines>
);
const ClientIcon = () => (
  <Lines>
    <path d="M4 5h16v10.500H4zM9 19.500h6M12 15.500v4" />
  </Lines>
);
const BorderIcon = () => (
  <Lines>
    <path d="M3.500 9h5v6h-5zM15.500 9h5v6h-5zM12 3.500v3M12 9v2M12 13v2M12 17.500v3" />
  </Lines>
);
const SwitchIcon = () => (
  <Lines>
    <path d="M4 8.500h15M15 4.500l4 4-4 4M20 16H5M9 12l-4 4 4 4" />
  </Lines>
);
const LoopIcon = () => (
  <Lines>
    <path d="M18.500 8A7.500 7.500 0 1 0 19.500 13.500M19 3.500V8.500h-5" />
  </Lines>
);
const UnknownIcon = () => (
  <Lines>
    <circle cx="12" cy="12" r="8.500" />
    <path d="M9.500 9.800a2.500 2.500 0 1 1 3.700 2.200c-.8.4-1.200.9-1.200 1.800M12 16.500v.2" />
  </Lines>
);
const ListeningIcon = () => (
  <Lines turns>
    <path d="M5 12h.2M8.500 9a4.500 4.500 0 0 1 0 6M12 6.500a8.500 8.500 0 0 1 0 11M15.500 4a12.500 12.500 0 0 1 0 16" />
  </Lines>
);
const NoLinkIcon = () => (
  <Lines>
    <circle cx="12" cy="12" r="8.500" />
    <path d="M6 18 18 6" />
  </Lines>
);

/** A barrier that nothing passes, in either direction. */
export const ShutIcon = () => (
  <Lines>
    <path d="M12 3.500v17M2.500 12h6.500M6 9l3 3-3 3M21.500 12h-6.500M18 9l-3 3 3 3" />
  </Lines>
);

/** Icons of the displayed states. */
export const ICONS: Record<Shown, ComponentType> = {
  uplink: UplinkIcon,
  mesh: MeshIcon,
  radio: RadioIcon,
  client: ClientIcon,
  border: BorderIcon,
  switch: SwitchIcon,
  loop: LoopIcon,
  unknown: UnknownIcon,
  listening: ListeningIcon,
  none: NoLinkIcon,
};
