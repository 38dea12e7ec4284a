// Untrusted text: names of devices and of servers. Preact writes it as text, so markup has no
// effect; this file removes characters that control the display.

/** Longest shown name, in characters. A DNS name has 253 at most. */
const LONGEST = 253;

/**
 * C0 and C1 controls, line and paragraph separators, characters that change the direction of
 * writing (UAX 9: RLO and its like, which can make `gpj.exe` of `exe.jpg`), and invisible ones.
 * First, to be kept, the joiners within an emoji of several parts (UTS 51), which no word has.
 */
const CONTROLS = new RegExp(
  "((?:\\p{Extended_Pictographic}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?\\u200d)+(?=\\p{Extended_Pictographic}))|" +
    "[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f]|" +
    "[\\ufeff\\ufff9-\\ufffb]|[\\u{e0000}-\\u{e007f}]",
  "gu",
);

/**
 * A name fit for display: one line, without control characters (each becomes a visible U+FFFD), of
 * limited length.
 */
export function plain(text: string, longest = LONGEST): string {
  const shown = text.replace(CONTROLS, (_, joined?: string) => joined ?? "\ufffd");
  // By code points, so that no character is cut in half.
  const points = Array.from(shown.slice(0, longest * 2));
  return points.length > longest || shown.length > longest * 2
    ? `${points.slice(0, longest).join("")}…`
    : shown;
}

/** Display name of a station: its name, or else its IP address, or else its hardware address. */
export function nameOf(device: { name: string | null; addresses: string[]; mac: string }): string {
  const name = device.name === null ? "" : plain(device.name).trim();
  return name || device.addresses[0] || device.mac;
}
