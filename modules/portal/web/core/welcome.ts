// Content of the guests' page in the form of a request. Pure.

/** Bytes of the longest text and picture. */
export const LONGEST_TEXT = 16 * 1024;
export const LONGEST_PICTURE = 100 * 1024;

/** Bytes of a text. */
export const octets = (text: string): number => new TextEncoder().encode(text).length;

/** Encodes bytes in base64 (RFC 4648, section 4). */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}
