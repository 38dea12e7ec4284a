// Kinds of devices, as users chose: an icon next to the name, and a word.
import type { ComponentChildren } from "preact";
import { plain } from "@/core/plain";
import { Lines } from "@/shell/icons";
import { word } from "./text";

/** By the daemon's word (`modules/history/service/src/devices.rs`), in the offered order. */
const PICTURES: Record<string, ComponentChildren> = {
  computer: (
    <>
      <rect x="3" y="4" width="18" height="12" rx="1.5" />
      <path d="M9 20h6M12 16v4" />
    </>
  ),
  laptop: (
    <>
      <rect x="5" y="5" width="14" height="10" rx="1.5" />
      <path d="M2.500 19h19" />
    </>
  ),
  phone: (
    <>
      <rect x="7" y="2.500" width="10" height="19" rx="2" />
      <path d="M11 18.500h2" />
    </>
  ),
  tablet: (
    <>
      <rect x="4.500" y="3" width="15" height="18" rx="2" />
      <path d="M11 18h2" />
    </>
  ),
  watch: (
    <>
      <circle cx="12" cy="12" r="5.500" />
      <path d="M9 7 9.500 2.500h5L15 7M9 17l.5 4.500h5L15 17M12 9.500V12l1.500 1.500" />
    </>
  ),
  tv: (
    <>
      <rect x="2.500" y="5" width="19" height="12" rx="1.5" />
      <path d="M7 20h10" />
    </>
  ),
  speaker: (
    <>
      <rect x="6" y="2.500" width="12" height="19" rx="2" />
      <circle cx="12" cy="14.500" r="3.500" />
      <path d="M12 6.500v.2" />
    </>
  ),
  console: (
    <>
      <rect x="2.500" y="7" width="19" height="10" rx="5" />
      <path d="M7.500 10.500v3M6 12h3M15.500 13v.2M18 11v.2" />
    </>
  ),
  camera: (
    <>
      <circle cx="12" cy="9.500" r="6.500" />
      <circle cx="12" cy="9.500" r="2.500" />
      <path d="M9 15.500 7 21h10l-2-5.500" />
    </>
  ),
  printer: (
    <>
      <path d="M7 9V3.500h10V9M7 17H3.500V9h17v8H17" />
      <rect x="7" y="14" width="10" height="6.500" />
    </>
  ),
  lamp: <path d="M9 17.500a6.500 6.500 0 1 1 6 0V19H9zM10 21.500h4" />,
  appliance: (
    <>
      <rect x="4.500" y="2.500" width="15" height="19" rx="1.5" />
      <circle cx="12" cy="14" r="4" />
      <path d="M7.500 6h3M16 6v.2" />
    </>
  ),
  server: (
    <>
      <rect x="3.500" y="4" width="17" height="7" rx="1.5" />
      <rect x="3.500" y="13" width="17" height="7" rx="1.5" />
      <path d="M7 7.500v.2M7 16.500v.2M11 7.500h6M11 16.500h6" />
    </>
  ),
  router: (
    <>
      <rect x="3" y="13" width="18" height="7" rx="1.5" />
      <path d="M7 16.500v.2M11 16.500v.2M17 13V8M14 6a4.500 4.500 0 0 1 6 0" />
    </>
  ),
};

/** Options with their names in this language; the first means no kind. */
export const kinds = (): [string, string][] => [
  ["", word("kind", "none")],
  ...Object.keys(PICTURES).map((kind): [string, string] => [kind, word("kind", kind)]),
];

/** Picture of a kind, if any, and its word for screen readers. */
export function Kind({ of }: { of: string | undefined }) {
  const picture = of === undefined ? undefined : PICTURES[of];
  if (of === undefined || picture === undefined) return null;
  return (
    <span class="kind">
      <Lines>{picture}</Lines>
      <span class="hidden">{word("kind", plain(of))}: </span>
    </span>
  );
}
