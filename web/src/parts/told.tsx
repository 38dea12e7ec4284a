import { plain } from "../core/plain";
import { language } from "../text";

/** Characters shown of what the router says: a few sentences. */
const LONGEST = 2000;

/** A text that the router has in English only: marked as such in a page of another language. */
export function Told({ text }: { text: string }) {
  const shown = plain(text, LONGEST);
  return language.get() === "en" ? (
    <bdi>{shown}</bdi>
  ) : (
    <bdi lang="en" dir="ltr">
      {shown}
    </bdi>
  );
}
