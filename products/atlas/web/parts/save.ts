// Files and the clipboard.

/** Pixels of a saved picture for each of a drawn one. */
const SHARP = 2;

function save(blob: Blob, name: string) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Saves the file at an address, by a request: a browser would open a file of another host. */
export async function saveFile(url: string, name: string) {
  const response = await fetch(url, { credentials: "omit" });
  if (!response.ok) throw new Error(String(response.status));
  save(await response.blob(), name);
}

/**
 * Saves a picture as PNG. Loads it from its address, which a policy that shows pictures of that
 * host allows; `blob:` would need a permission of its own.
 */
export async function savePng(url: string, width: number, height: number, name: string) {
  const image = new Image();
  image.crossOrigin = "anonymous";
  image.src = url;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SHARP, height * SHARP];
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob === null) throw new Error("canvas");
  save(blob, name);
}

/** Copies a text; false if the browser does not allow it. */
export async function copy(text: string, near: Node): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without HTTPS only a selection can fill the clipboard.
    const field = document.createElement("textarea");
    field.value = text;
    near.appendChild(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
